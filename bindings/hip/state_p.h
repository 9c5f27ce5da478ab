#pragma once
#include <string_view>
#include <vector>

#include "strata/core/support/result.h"
#include "strata/runtime/hip/amd_abi.h"
#include "strata/runtime/hip/providers.h"

/// What the functions of the library share: its devices, the one that is current on a thread, and errors.
namespace strata::hip::library {

using namespace abi;

/// Of the emulator, which does the work; device i of the library is devices()[i] of it.
inline const HipApi& emulator() { return emulated(); }
const std::vector<int>& devices();

int current();  ///< of this thread, as the emulator counts
/// Makes a device of the library the one of this thread.
Code make_current(int device);

/// The code of an error of the emulator; `otherwise` where its kind says nothing.
Code code_of(const Error& error, Code otherwise);
/// Tells people on stderr what no code says.
void tell(std::string_view call, const Error& error);

/// From now on every call fails with this code: a kernel has faulted.
void lose(Code code);
Code lost();  ///< hipSuccess: nothing is

/// What hipGetLastError returns next on this thread.
int finish(Code code);
Code take_last_error();

/// Runs the body of a function of the library, which returns a Code.
template <class Body>
int entry(std::string_view call, Body&& body) {
    if (const Code code = lost(); code != hipSuccess) return finish(code);
    try {
        return finish(body());
    } catch (const Exception& e) {  // a variable of the environment that holds something unusable, ...
        tell(call, e.error());
        return finish(code_of(e.error(), hipErrorUnknown));
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

inline DevicePtr address(const void* pointer) { return reinterpret_cast<DevicePtr>(pointer); }

/// The stream that a handle means: the device's own where it is null.
StreamHandle* stream_of(void* handle);
/// The device of the emulator that a block of hipMalloc, or an address in one, is on; that of this thread for any other.
int device_of(const void* memory);

}  // namespace strata::hip::library
