// map_grid: global ranges become block indices, local and group ranges thread indices.
//
// Before  r0 (global 64), r1 (local 16), end(store, r0, r1, r2)
// After   blockIdx.x, threadIdx.x, end(store, r2)
// More ranges than dimensions, or a range beyond a dimension's limit, are folded into one index and taken apart by
// division. The last global range is blockIdx.x, so that neighbouring blocks touch neighbouring memory.
#include <algorithm>

#include "strata/codegen/linear/passes_p.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

UOp special(bool thread, int dim, int64_t size) {
    return make(Op::special, dtypes::index, {}, SpecialArg{thread, dim, size});
}

struct Placement {
    std::array<uint32_t, 3> sizes{1, 1, 1};
    UOpMap<UOp> values;
};

/// One dimension a range, the fastest range first.
Placement one_each(bool thread, std::span<const UOp> ranges) {
    Placement out;
    for (size_t i = 0; i < ranges.size(); ++i) {
        int64_t size = range_arg(ranges[i]).size;
        out.sizes[i] = static_cast<uint32_t>(size);
        out.values[ranges[i]] = special(thread, static_cast<int>(i), size);
    }
    return out;
}

/// Ranges are packed into dimensions from the fastest on, as many into each as its limit allows.
Result<Placement> packed(bool thread, std::span<const UOp> ranges, std::array<int64_t, 3> limits) {
    Placement out;
    size_t next = 0;
    for (int dim = 0; dim < 3 && next < ranges.size(); ++dim) {
        size_t first = next;
        int64_t product = 1;
        while (next < ranges.size() && product <= limits[static_cast<size_t>(dim)] / range_arg(ranges[next]).size)
            product *= range_arg(ranges[next++]).size;
        UOp flat = special(thread, dim, product);
        int64_t stride = 1;
        for (size_t i = first; i < next; ++i) {
            int64_t size = range_arg(ranges[i]).size;
            UOp at = stride == 1 ? flat : flat / stride;
            out.values[ranges[i]] = i + 1 == next ? at : at % size;
            stride *= size;
        }
        out.sizes[static_cast<size_t>(dim)] = static_cast<uint32_t>(product);
    }
    if (next < ranges.size())
        return make_error(ErrorKind::Unsupported, "the grid is too large: {} does not fit; split it into a loop",
                          to_string(ranges[next]));
    return out;
}

Result<Placement> place(bool thread, std::span<const UOp> ranges, std::array<int64_t, 3> limits) {
    bool fits = ranges.size() <= 3;
    for (size_t i = 0; fits && i < ranges.size(); ++i) fits = range_arg(ranges[i]).size <= limits[i];
    if (fits) return one_each(thread, ranges);
    return packed(thread, ranges, limits);
}

/// end(effect, ranges) as one end a loop, the innermost first; grid ranges and sources that are no ranges any more go.
UOp single_ends(UOp effect, std::vector<UOp> ranges) {
    std::sort(ranges.begin(), ranges.end(), [](UOp a, UOp b) { return range_arg(a).id > range_arg(b).id; });
    for (UOp r : ranges) effect = uop::end(effect, {r});
    return effect;
}

UOp replace_ranges(UOp sink, const UOpMap<UOp>& values) {
    return rebuild(sink, [&](UOp u, std::span<const UOp> sources) {
        if (auto found = values.find(u); found != values.end()) return found->second;
        if (!u.is(Op::end) && !u.is(Op::after)) return u.with_src(sources);
        std::vector<UOp> kept, ranges;
        for (size_t i = 0; i < sources.size(); ++i) {
            bool mapped = values.contains(u.src(i));
            if (u.is(Op::end) && u.src(i).is(Op::range)) {
                if (!mapped) ranges.push_back(sources[i]);
            } else if (!mapped || u.is(Op::end)) {
                kept.push_back(sources[i]);
            }
        }
        return u.is(Op::end) ? single_ends(kept[0], ranges) : u.with_src(kept);
    });
}

/// Block and thread indices that a user wrote himself.
Result<void> place_specials(const Scopes& scopes, bool has_blocks, bool has_threads, const Target& target,
                            LinearProgram& program) {
    for (UOp u : scopes.order()) {
        if (!u.is(Op::special)) continue;
        const SpecialArg& arg = u.as<SpecialArg>();
        if (arg.thread ? has_threads : has_blocks)
            return make_error(ErrorKind::Usage, "kernel {}: {} beside ranges of the same kind; use one or the other",
                              program.name, to_string(u));
        int64_t limit = arg.thread ? target.max_block : target.max_grid[static_cast<size_t>(arg.dim)];
        if (arg.size > limit)
            return make_error(ErrorKind::Usage, "kernel {}: {} is beyond the limit of {}", program.name, to_string(u),
                              limit);
        uint32_t& size = (arg.thread ? program.block : program.grid)[static_cast<size_t>(arg.dim)];
        if (size != 1 && size != static_cast<uint32_t>(arg.size))
            return make_error(ErrorKind::Usage, "kernel {}: {} has another size elsewhere ({})", program.name,
                              to_string(u), size);
        size = static_cast<uint32_t>(arg.size);
    }
    if (int64_t{program.block[0]} * program.block[1] * program.block[2] > target.max_block)
        return make_error(ErrorKind::Usage, "kernel {}: a block of {} x {} x {} threads; the most is {}", program.name,
                          program.block[0], program.block[1], program.block[2], target.max_block);
    return {};
}

}  // namespace

Result<UOp> map_grid(UOp sink, Context& context) {
    const ThreadOrder& threads = context.threads;
    const Target& target = context.target;
    LinearProgram& program = context.program;
    const Scopes& scopes = context.scopes(sink);
    int64_t block = 1;
    for (UOp r : threads) block *= range_arg(r).size;
    if (block > target.max_block)
        return make_error(ErrorKind::Usage, "a block of {} threads; the most is {}: use fewer local ranges", block,
                          target.max_block);
    std::vector<UOp> blocks = scopes.list(scopes.with_axis({Axis::global}));
    std::reverse(blocks.begin(), blocks.end());
    STRATA_TRY(Placement in_block, place(true, threads, {target.max_block, target.max_block, target.max_block}));
    std::array<int64_t, 3> most = target.max_grid;
    most[0] = std::min(most[0], target.max_grid_threads / in_block.sizes[0]);
    STRATA_TRY(Placement in_grid, place(false, blocks, most));
    program.block = in_block.sizes;
    program.grid = in_grid.sizes;
    STRATA_TRY_VOID(place_specials(scopes, !blocks.empty(), !threads.empty(), target, program));
    for (const auto& [range, value] : in_block.values) in_grid.values.emplace(range, value);
    return in_grid.values.empty() && scopes.ranges().empty() ? sink : replace_ranges(sink, in_grid.values);
}

}  // namespace strata::codegen
