// arrange_threads: which range of a block varies fastest from lane to lane (thread_order.h).
#include "strata/codegen/kernel/thread_order.h"
#include "strata/codegen/linear/passes_p.h"

namespace strata::codegen {
namespace {

/// A thread's steps of the ranges that an access is in.
double times_of(UOp index, const Scopes& scopes) {
    double times = 1;
    for (UOp r : scopes.list(scopes.free(index)))
        if (const RangeArg& arg = range_arg(r);
            arg.axis == Axis::reduce || arg.axis == Axis::loop || arg.axis == Axis::unroll || arg.axis == Axis::upcast)
            times *= static_cast<double>(arg.size);
    return times;
}

}  // namespace

Result<UOp> arrange_threads(UOp sink, Context& context) {
    const Scopes& scopes = context.scopes(sink);
    const std::vector<UOp> ranges = strata::ranges(sink);
    std::vector<Visit> visits;
    for (UOp u : scopes.order())
        if (!u.src().empty() && u.src(0).is(Op::index)) {
            const UOp place = u.src(0), memory = memory_of(place);
            if (memory.as<ParamArg>().space != Space::global) continue;
            visits.push_back(
                {OffsetOfRanges(place.src(1), ranges), memory.dtype().element().bytes(), times_of(place, scopes)});
        }
    context.threads.clear();
    for (const size_t r : thread_order(ranges, visits, context.target.wave_size)) context.threads.push_back(ranges[r]);
    return sink;
}

}  // namespace strata::codegen
