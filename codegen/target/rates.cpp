#include "strata/codegen/target/rates.h"

#include <algorithm>
#include <iterator>

#include "strata/core/support/error.h"

namespace strata::codegen {
namespace {

constexpr Rates kRates[] = {
#define RATES(arch, ...) {isa::Arch::arch, __VA_ARGS__},
#include "strata/codegen/target/rates.def"
#undef RATES
};

}  // namespace

const Rates& rates_of(isa::Arch arch) {
    const Rates* const found = std::ranges::find(kRates, arch, &Rates::arch);
    STRATA_CHECK(found != std::end(kRates), "rates.def has no row of {}", isa::info(arch).name);
    return *found;
}

}  // namespace strata::codegen
