#pragma once
#include "strata/providers/hip_api.h"

namespace strata::providers {

struct Provider {
    std::string_view prefix;  ///< "emu" of "emu:gfx1100"
    const HipApi& (*api)();
};

#define PROVIDER(prefix, function) const HipApi& function();
#include "strata/providers/providers.def"
#undef PROVIDER

/// The rows of providers.def.
inline constexpr Provider kProviders[] = {
#define PROVIDER(prefix, function) {#prefix, function},
#include "strata/providers/providers.def"
#undef PROVIDER
};

}  // namespace strata::providers
