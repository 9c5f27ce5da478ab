#pragma once
#include <cxxabi.h>

#include <exception>
#include <optional>
#include <string_view>
#include <vector>

#include "strata/core/support/result.h"
#include "strata/providers/amd/abi.h"
#include "strata/providers/providers.h"

/// State that the functions of the library share: its devices, the one that is current on a thread, and errors.
namespace strata::hip {
using namespace providers;
}
namespace strata::hip::library {

using namespace abi;

/// The API of the emulator, which does the work; device i of the library is devices()[i] of it.
inline const HipApi& emulator() { return emulated(); }
const std::vector<int>& devices();

/// devices() are from now on those that the program has code for, if there are any. Once they were asked for, they
/// stay.
void prefer_devices_by(bool (*has_code)(int device));

/// The exception of current() where no device is.
struct NoDevice : std::exception {};

int current();         ///< of this thread, as the emulator counts
int current_number();  ///< the same, as the library counts
/// Makes a device of the library the one of this thread.
Code make_current(int device);
/// A device of the library as the emulator counts; none: there is no such.
std::optional<int> device_at(int number);
/// A device of the emulator as the library counts.
int number_of(int device);
/// Properties of a device of the emulator, which is asked once.
const DeviceProperties& query(int device);
/// HIP's major version by the file that the program was linked with: libamdhip64.so.6.
int major_version();

/// The code of an error of the emulator; `otherwise` where its kind says nothing.
Code code_of(const Error& error, Code otherwise);
/// Tells people on stderr what no code says.
void tell(std::string_view call, const Error& error);
/// The code of the exception that is being handled; no exception of this library leaves it.
Code code_of_exception(std::string_view call) noexcept;

/// From now on every call fails with this code: a kernel has faulted.
void lose(Code code);
Code lost();  ///< hipSuccess: nothing is

/// Sets hipGetLastError's next result on this thread: the last error, before HIP 7 the last call's code.
int finish(Code code);
Code take_last_error();
Code last_error();
Code last_code();  ///< of the last call, whichever HIP it is

/// Runs the body of a function of the library, which returns a Code.
template <class Body>
int entry(std::string_view call, Body&& body) {
    if (const Code code = lost(); code != hipSuccess) return finish(code);
    try {
        return finish(body());
    } catch (__cxxabiv1::__forced_unwind&) {  // the thread is being cancelled
        throw;
    } catch (...) {
        return finish(code_of_exception(call));
    }
}
/// The same for a function that returns something else, whose value is `otherwise` where the body throws.
template <class T, class Body>
T guarded(std::string_view call, T otherwise, Body&& body) {
    try {
        return body();
    } catch (__cxxabiv1::__forced_unwind&) {
        throw;
    } catch (...) {
        finish(code_of_exception(call));
        return otherwise;
    }
}

/// The code of a result, whose value goes to `out`.
template <class T, class Out>
Code give(Result<T> result, Out* out, Code otherwise) {
    if (!result) return code_of(result.error(), otherwise);
    *out = *result;
    return hipSuccess;
}
inline Code code_of(const Result<void>& result, Code otherwise) {
    return result ? hipSuccess : code_of(result.error(), otherwise);
}
/// The value of a query: out may not be null.
template <class T, class Value>
Code set(T* out, const Value& value) {
    if (!out) return hipErrorInvalidValue;
    *out = static_cast<T>(value);
    return hipSuccess;
}

inline DevicePtr address(const void* pointer) { return reinterpret_cast<DevicePtr>(pointer); }

}  // namespace strata::hip::library
