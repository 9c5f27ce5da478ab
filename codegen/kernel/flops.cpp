#include "strata/codegen/kernel/flops.h"

#include <algorithm>

namespace strata::codegen {

uint64_t count_flops(UOp sink) {
    std::vector<UOp> order = toposort(sink);
    UOpMap<std::vector<UOp>> open;  // ranges a node is computed for
    double total = 0;
    for (UOp u : order) {
        std::vector<UOp> mine;
        if (u.is(Op::range)) mine.push_back(u);
        for (UOp s : u.src())
            for (UOp r : open[s])
                if (std::find(mine.begin(), mine.end(), r) == mine.end()) mine.push_back(r);
        double times = 1;
        for (UOp r : mine) times *= static_cast<double>(r.as<RangeArg>().size);
        if (u.dtype().is_float() && info(u.op()).elementwise() && !u.is(Op::cast) && !u.is(Op::bitcast) &&
            !u.is(Op::where))
            total += times * (u.is(Op::fma) ? 2 : 1);
        if ((u.is(Op::reduce) || u.is(Op::scan)) && u.dtype().is_float()) total += times;
        if (u.is(Op::reduce)) {
            std::erase_if(mine,
                          [&](UOp r) { return std::find(u.src().begin() + 1, u.src().end(), r) != u.src().end(); });
        }
        open[u] = std::move(mine);
    }
    return static_cast<uint64_t>(total);
}

uint64_t count_unrolled(UOp sink) {
    uint64_t count = toposort(sink).size();
    for (UOp r : ranges(sink))
        if (const RangeArg& arg = range_arg(r); arg.axis == Axis::upcast || arg.axis == Axis::unroll)
            count *= static_cast<uint64_t>(arg.size);
    return count;
}

}  // namespace strata::codegen
