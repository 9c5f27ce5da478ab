#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

namespace strata {

// Memory of the host that a program names: it may not be there, may not be written, or may go away while it is used.
// The host tells by a signal (SIGSEGV, SIGBUS), which ends the access here instead of the process. Signals of other
// memory go to the handlers that were there before.

/// memmove; false: a byte of it cannot be read or written. How much was copied is not known then.
bool copy_guarded(void* to, const void* from, size_t bytes);
/// Writes an element `count` times, one after the other; false: as copy_guarded().
bool fill_guarded(void* to, const void* element, size_t element_bytes, size_t count);
/// The bytes from an address on that can be read, at most `most`.
size_t readable_bytes(const void* from, size_t most);
inline bool is_readable(const void* from, size_t bytes) { return readable_bytes(from, bytes) == bytes; }

/// Calls body(context). Where that meets memory for which owns(context, address) holds and the host refuses it, it ends
/// there: no destructor of body's runs. The address, where it did. `owns` runs in a signal handler.
std::optional<uint64_t> run_guarded(void (*body)(void*), bool (*owns)(const void*, uint64_t address), void* context);

}  // namespace strata
