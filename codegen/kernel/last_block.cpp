// finish: two kernels as one, of which the second is computed by the block that comes last.
#include "strata/codegen/kernel/last_block.h"

#include <algorithm>

#include "strata/codegen/kernel/build.h"
#include "strata/core/uop/kernel.h"
#include "strata/core/uop/verify.h"

namespace strata::codegen {
namespace {

/// The finish's ids of its ranges, which order its loops. Rows are walked inside all others, so that each thread has
/// reduced a row before it stores an element of it.
UOpMap<int> finish_ids(UOp sink) {
    UOpMap<int> ids;
    for (const bool rows : {false, true})
        for (UOp r : ranges(sink))
            if ((range_arg(r).axis == Axis::reduce) == rows) ids[r] = kFirstFinishId + static_cast<int>(ids.size());
    return ids;
}

/// The sink over other params, by slot; `ids` of those ranges.
UOp moved(UOp sink, const std::vector<int>& slots, const UOpMap<int>& ids) {
    return rebuild(sink, [&](UOp u, std::span<const UOp> sources) {
        if (u.is(Op::param) && u.as<ParamArg>().space == Space::global)
            return uop::buffer(slots[static_cast<size_t>(u.as<ParamArg>().slot)], u.dtype(), u.as<ParamArg>().size);
        if (u.is(Op::range)) {
            RangeArg arg = u.as<RangeArg>();
            if (const auto id = ids.find(u); id != ids.end()) arg.id = id->second;
            return make(Op::range, u.dtype(), sources, arg);
        }
        return u.with_src(sources);
    });
}

size_t outputs_of(UOp sink) {
    UOpMap<bool> written;
    for (UOp u : toposort(sink))
        if (u.is(Op::store)) written[memory_of(u)] = true;
    return written.size();
}

}  // namespace

UOp finish_of(UOp sink) { return sink.src().size() == 2 ? sink.src(1) : UOp(); }

UOp without_finish(UOp sink) { return finish_of(sink) ? uop::sink(sink.src(0), sink.as<SinkArg>().name) : sink; }

UOp with_finish(UOp sink, UOp finish) {
    return finish ? make(Op::sink, dtypes::none, {sink.src(0), finish}, sink.arg()) : sink;
}

Kernel without_finish(const Kernel& kernel) { return {without_finish(kernel.sink), kernel.name}; }
Kernel with_finish(Kernel kernel, UOp finish) { return {with_finish(kernel.sink, finish), std::move(kernel.name)}; }

BoundKernel finished(const BoundKernel& first, const BoundKernel& finish) {
    const size_t outputs = outputs_of(first.kernel.sink), more = outputs_of(finish.kernel.sink);
    std::vector<UOp> buffers(first.buffers.begin(), first.buffers.begin() + static_cast<std::ptrdiff_t>(outputs));
    buffers.insert(buffers.end(), finish.buffers.begin(), finish.buffers.begin() + static_cast<std::ptrdiff_t>(more));
    const auto slots_of = [&](const std::vector<UOp>& own) {
        std::vector<int> slots;
        for (UOp buffer : own) {
            const auto at = std::ranges::find(buffers, buffer);
            slots.push_back(static_cast<int>(at - buffers.begin()));
            if (at == buffers.end()) buffers.push_back(buffer);
        }
        return slots;
    };
    const UOp sink = moved(first.kernel.sink, slots_of(first.buffers), {});
    const UOp last = moved(finish.kernel.sink, slots_of(finish.buffers), finish_ids(finish.kernel.sink));
    const UOp both = with_finish(sink, last);
    verify_kernel(both).value();
    return {{both, first.kernel.name}, std::move(buffers)};
}

}  // namespace strata::codegen
