#include "strata/core/process/address_limit.h"

#include <fmt/format.h>
#include <sys/resource.h>

namespace strata {

uint64_t address_limit() {
    rlimit limit{};
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : 0;
}

std::string address_limit_note() {
    const uint64_t limit = address_limit();
    return limit ? fmt::format("; this process may have {} bytes of addresses (ulimit -v)", limit) : std::string();
}

}  // namespace strata
