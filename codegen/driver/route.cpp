#include "strata/codegen/driver/route.h"

#include <mutex>
#include <optional>
#include <utility>

#include "strata/codegen/toolchain/clang/toolchain.h"
#include "strata/core/support/mutex.h"
#include "strata/core/support/settings.h"

namespace strata::codegen {
namespace {

Result<std::string> look_for_compiler() {
    STRATA_TRY(Toolchain tools, find_toolchain(SearchPaths::usual()));
    if (tools.bitcode.empty())
        return make_error(ErrorKind::Device,
                          "{} has no AMD device libraries (ocml.bc); on Debian: apt install rocm-device-libs",
                          tools.clang);
    return std::move(tools.clang);
}

}  // namespace

Result<std::string> hip_compiler() {
    static Mutex mutex;
    static std::optional<std::pair<std::string, Result<std::string>>> last;  // what `tools` was, what was found
    std::lock_guard lock(mutex);
    if (!last || last->first != settings().tools) last.emplace(settings().tools, look_for_compiler());
    return last->second;
}

Route route_in_force() {
    const std::string& target = settings().target;
    if (target == "auto") return hip_compiler() ? Route::hip : Route::asm_;
    return parse_route(target).value();
}

Route route_in_force(Chip chip) {
    return !chip.is_amd() && settings().target == "auto" ? Route::hip : route_in_force();
}

std::string_view name(Route route) { return route == Route::hip ? "hip" : "asm"; }

}  // namespace strata::codegen
