#include "strata/providers/hip_api.h"

namespace strata::providers {

std::span<const char* const> entry_points() {
    static constexpr const char* kNames[] = {
#define HIP(entry, ...) #entry,
#include "strata/providers/hip_api.def"
#undef HIP
    };
    return kNames;
}

Result<void> check_complete(const HipApi& api) {
    auto lacks = [&](std::string_view row) {
        return make_error(ErrorKind::Device, "the provider '{}' lacks {}", api.provider, row);
    };
#define HIP(entry, result, name, parameters) \
    if (!api.name) return lacks(#entry);
#include "strata/providers/hip_api.def"
#undef HIP
    if (!api.device_label) return lacks("device_label");
    if (!api.host_view) return lacks("host_view");
    if (!api.stream_over) return lacks("stream_over");
    if (!api.stream_raw) return lacks("stream_raw");
    if (!api.pooled_bytes) return lacks("pooled_bytes");
    return {};
}

}  // namespace strata::providers
