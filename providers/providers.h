#pragma once
#include "strata/providers/hip_api.h"

namespace strata::providers {

struct Provider {
    std::string_view prefix;  ///< "emu" of "emu:gfx1100"
    const HipApi& (*api)();
};

/// "hip:0" is the first device of "amd", or of "cuda" where "amd" has none.
struct Alias {
    std::string_view name, prefix;
};

#define PROVIDER(prefix, function) const HipApi& function();
#define ALIAS(name, prefix)
#include "strata/providers/providers.def"
#undef PROVIDER
#undef ALIAS

/// The rows of providers.def.
inline constexpr Provider kProviders[] = {
#define PROVIDER(prefix, function) {#prefix, function},
#define ALIAS(name, prefix)
#include "strata/providers/providers.def"
#undef PROVIDER
#undef ALIAS
};
inline constexpr Alias kAliases[] = {
#define PROVIDER(prefix, function)
#define ALIAS(name, prefix) {#name, #prefix},
#include "strata/providers/providers.def"
#undef PROVIDER
#undef ALIAS
};

/// "amd" for the function of its row.
consteval std::string_view prefix_of(const HipApi& (*api)()) {
    for (const Provider& row : kProviders)
        if (row.api == api) return row.prefix;
    return {};
}

}  // namespace strata::providers
