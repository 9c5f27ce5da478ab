// order_blocks: which output range neighbouring blocks of a product differ in.
//
// Blocks that run at once cover all of the fast range as long as they are that many. The tiles of the fast range are
// then read again for each few steps of the slow one, unless the last cache holds them. Those of the slow range are
// read once.
#include <algorithm>

#include "strata/codegen/optimize/matmul_p.h"
#include "strata/codegen/target/rates.h"

namespace strata::codegen {
namespace {

constexpr double kBytesOfMiB = 1024.0 * 1024.0;

/// Bytes of memory that a range places and another one does not.
double bytes_of_one(UOp sink, UOp range, UOp other) {
    UOpMap<bool> seen;
    double bytes = 0;
    for (UOp u : toposort(sink)) {
        if (!u.is(Op::load) || !depends_on(u.src(0), range) || depends_on(u.src(0), other)) continue;
        const UOp memory = memory_of(u);
        if (seen.try_emplace(memory, true).second)
            bytes += static_cast<double>(memory.as<ParamArg>().size) * memory.dtype().bytes();
    }
    return bytes;
}

/// Bytes from memory where neighbouring blocks differ in `fast`.
double traffic(UOp sink, UOp fast, UOp slow, const Rates& card) {
    const double kept = std::max(card.l2_mib, card.llc_mib) * kBytesOfMiB / 2,  // beside what else passes through
        of_fast = bytes_of_one(sink, fast, slow), of_slow = bytes_of_one(sink, slow, fast);
    const int64_t at_once = std::max<int64_t>(card.units * card.cus / range_arg(fast).size, 1),
                  times = (range_arg(slow).size + at_once - 1) / at_once;
    return of_slow + of_fast * static_cast<double>(of_fast <= kept ? 1 : times);
}

}  // namespace

void order_blocks(ScheduleBuilder& plan) {
    const std::vector<UOp> outputs = plan.axes(ActionKind::swap);
    if (outputs.size() < 2) return;
    const UOp slow = outputs[outputs.size() - 2], fast = outputs.back(), sink = plan.kernel().sink;
    const Rates& card = rates_of(plan.target().arch);
    if (traffic(sink, slow, fast, card) < traffic(sink, fast, slow, card))
        plan.add(ActionKind::swap, static_cast<int>(outputs.size()) - 2, 0);
}

}  // namespace strata::codegen
