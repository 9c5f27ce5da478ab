#include "strata/codegen/target/rates.h"

#include <algorithm>
#include <iterator>

#include "strata/core/support/error.h"

namespace strata::codegen {
namespace {

constexpr Rates kRates[] = {
#define RATES(arch, ...) {#arch, __VA_ARGS__},
#include "strata/codegen/target/rates.def"
#undef RATES
};

}  // namespace

const Rates& rates_of(Chip arch) {
    const Rates* const found = std::ranges::find(kRates, arch.name(), &Rates::arch);
    STRATA_CHECK(found != std::end(kRates), "rates.def has no row of {}", arch.name());
    return *found;
}

}  // namespace strata::codegen
