#include <map>
#include <mutex>

#include "strata/bindings/hip/exports_p.h"
#include "strata/bindings/hip/state_p.h"
#include "strata/core/support/mutex.h"

using namespace strata;
using namespace strata::hip::library;

hip::StreamHandle* strata::hip::library::stream_of(void* handle) {
    if (handle) return static_cast<StreamHandle*>(handle);
    static auto* mutex = new Mutex;
    static auto* defaults = new std::map<int, StreamHandle*>;  // by device
    std::lock_guard lock(*mutex);
    StreamHandle*& own = (*defaults)[current()];
    if (!own) own = emulator().stream_create(current()).value();
    return own;
}

int hipStreamCreate(void** stream) {
    return entry("hipStreamCreate", [&] {
        if (!stream) return hipErrorInvalidValue;
        return give(emulator().stream_create(current()), stream, hipErrorOutOfMemory);
    });
}
int hipStreamDestroy(void* stream) {
    return entry("hipStreamDestroy", [&] {
        if (!stream) return hipErrorInvalidHandle;
        return code_of(emulator().stream_destroy(static_cast<hip::StreamHandle*>(stream)), hipErrorInvalidHandle);
    });
}
int hipStreamSynchronize(void* stream) {
    return entry("hipStreamSynchronize",
                 [&] { return code_of(emulator().stream_synchronize(stream_of(stream)), hipErrorInvalidHandle); });
}
