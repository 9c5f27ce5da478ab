#include "strata/bindings/hip/exports_p.h"
#include "strata/bindings/hip/state_p.h"

using namespace strata;
using namespace strata::hip::library;

namespace {

hip::EventHandle* event_of(void* handle) { return static_cast<hip::EventHandle*>(handle); }

}  // namespace

int hipEventCreate(void** event) {
    return entry("hipEventCreate", [&] {
        if (!event) return hipErrorInvalidValue;
        return give(emulator().event_create(current()), event, hipErrorOutOfMemory);
    });
}
int hipEventDestroy(void* event) {
    return entry("hipEventDestroy", [&] {
        if (!event) return hipErrorInvalidHandle;
        return code_of(emulator().event_destroy(event_of(event)), hipErrorInvalidHandle);
    });
}
int hipEventRecord(void* event, void* stream) {
    return entry("hipEventRecord", [&] {
        if (!event) return hipErrorInvalidHandle;
        return code_of(emulator().event_record(event_of(event), stream_of(stream)), hipErrorInvalidHandle);
    });
}
int hipEventElapsedTime(float* milliseconds, void* start, void* stop) {
    return entry("hipEventElapsedTime", [&] {
        if (!milliseconds) return hipErrorInvalidValue;
        if (!start || !stop) return hipErrorInvalidHandle;
        double time = 0;
        const Code code =
            give(emulator().event_elapsed_ms(event_of(start), event_of(stop)), &time, hipErrorInvalidHandle);
        *milliseconds = static_cast<float>(time);
        return code;
    });
}
