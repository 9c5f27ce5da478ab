// append_last_block: what a kernel's last block computes by itself (codegen/kernel/last_block.h) becomes code after
// what all blocks do.
//
// Before  end(store(part[block], sum), r0)                           finish: store(out[0], reduce(add,
//                                                                    load(part[r1]), r1))
// After   last = last_block(counter[0], lds[0], the effects of all)
//         store(out[0], sum of load(after(part, last)[r1]));  store(after(counter, last)[0], 0)
// The finish takes the passes up to here by itself. It has as many threads as the block, whose numbers its own indices
// become. The counter is a parameter after all others. A finish of one wave is for the first wave of the block, which
// holds thread 0 that stores the block's results. The others end after the last barrier, and later work is done by one
// wave instead of all,
//   before = first_wave(thread, the last barrier);
//   last = last_block(counter[0], the effects of all, now after `before`)
#include <algorithm>
#include <array>

#include "strata/codegen/linear/passes_p.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

/// The passes before this one.
Result<UOp> mapped(UOp sink, Context& context) {
    for (const auto pass : {predicate_group_stores, arrange_threads, lower_scans, expand, clone_ranges, tighten_bounds,
                            lower_reduces, map_grid}) {
        STRATA_TRY(sink, pass(sink, context));
    }
    return sink;
}

int64_t volume(const std::array<uint32_t, 3>& sizes) { return int64_t{sizes[0]} * sizes[1] * sizes[2]; }

/// A thread's number in its block, x fastest.
UOp thread_number(const std::array<uint32_t, 3>& block) {
    UOp number;
    int64_t stride = 1;
    for (int dim = 0; dim < 3; ++dim) {
        const int64_t size = block[static_cast<size_t>(dim)];
        if (size == 1) continue;
        const UOp at = make(Op::special, dtypes::index, {}, SpecialArg{true, dim, size});
        const UOp term = stride == 1 ? at : at * stride;
        number = number ? number + term : term;
        stride *= size;
    }
    return number ? number : index_const(0);
}

/// An effect of one thread alone.
UOp predicated(UOp place, UOp predicate) {
    return uop::at(place.src(0), place.src(1), uop::both(place.src().size() == 3 ? place.src(2) : UOp(), predicate),
                   uop::cache_of(place));
}

/// The finish over the threads of the block, after `last`, with memory of its own from these slots on. `predicate`: of
/// its stores.
UOp behind(UOp finish, UOp last, UOp thread, UOp predicate, const std::array<uint32_t, 3>& own, int first_slot) {
    UOp sink = rebuild(finish, [&](UOp u, std::vector<UOp>& sources) {
        if (u.is(Op::store) && predicate && memory_of(u).as<ParamArg>().space == Space::global)
            sources[0] = predicated(sources[0], predicate);
        if (u.is(Op::special)) {
            const SpecialArg& arg = u.as<SpecialArg>();
            int64_t stride = 1, size = arg.size;
            for (int dim = 0; dim < arg.dim; ++dim) stride *= own[static_cast<size_t>(dim)];
            const UOp at = stride == 1 ? thread : thread / stride;
            return stride * size == volume(own) ? at : at % size;
        }
        if (!u.is(Op::param)) return u.with_src(sources);
        ParamArg arg = u.as<ParamArg>();
        if (arg.space == Space::global) return uop::after(u, {last});
        arg.slot += first_slot;
        return make(Op::param, u.dtype(), {}, arg);
    });
    return sink.src(0);
}

/// The barrier after which a block meets no more; empty: there is none, or it is in a loop.
UOp last_barrier(UOp effects) {
    const std::vector<UOp> nodes = toposort(effects);
    const auto found = std::find_if(nodes.rbegin(), nodes.rend(), [](UOp u) { return u.is(Op::barrier); });
    if (found == nodes.rend()) return {};
    UOpMap<bool> before;
    for (UOp u : toposort(*found)) before[u] = true;
    UOpMap<bool> behind;
    for (UOp u : nodes) {
        if (u.is(Op::barrier) && !before.contains(u)) return {};
        const bool waits = u == *found || std::ranges::any_of(u.src(), [&](UOp s) { return behind.contains(s); });
        if (waits) behind[u] = true;
        if (waits && u.is(Op::end)) return {};
    }
    return *found;
}

/// The effects, of which the first wave alone has what comes after the last barrier.
UOp by_first_wave(UOp effects, UOp thread, int wave) {
    const auto first = [&](UOp all) { return make(Op::first_wave, dtypes::none, {thread, all}, IndexArg{wave}); };
    const UOp barrier = last_barrier(effects);
    return barrier ? substitute(effects, {{barrier, first(barrier)}}) : first(effects);
}

int next_parameter(std::span<const UOp> nodes) {
    int slot = 0;
    for (UOp u : nodes) {
        if (u.is(Op::param) && u.as<ParamArg>().space == Space::global)
            slot = std::max(slot, u.as<ParamArg>().slot + 1);
        if (u.is(Op::define_var)) slot = std::max(slot, u.as<VariableArg>().slot + 1);
    }
    return slot;
}

}  // namespace

Result<UOp> append_last_block(UOp sink, Context& context) {
    if (!context.finish) return sink;
    LinearProgram& program = context.program;
    Context own{.target = context.target, .program = {.name = program.name}, .threads = {}};
    STRATA_TRY(const UOp finish, mapped(context.finish, own));
    const int64_t threads = volume(own.program.block), wave = context.target.wave_size;
    const bool by_one = threads == 1, by_wave = threads == wave && volume(program.block) > wave;
    STRATA_CHECK((by_one || by_wave || threads == volume(program.block)) && volume(own.program.grid) == 1,
                 "{}: the finish is for {} threads", program.name, threads);
    const UOp all = make(Op::sink, dtypes::none, {sink.src(0), finish.src(0)}, SinkArg{});
    const Scopes& scopes = context.scopes(sink);
    const int slot = next_free_slot(scopes);
    const UOp thread = thread_number(program.block), first = thread.is_const() ? UOp() : thread < 1;
    const UOp counter = uop::buffer(next_parameter(toposort(all)), dtypes::int32, 1);
    const UOp word = uop::placeholder(1, dtypes::int32, Space::local, slot);
    const UOp zero = index_const(0), counted = uop::at(counter, zero, first);
    std::vector<UOp> sources{counted, uop::at(word, zero, first), uop::at(word, zero), sink.src(0)};
    if (by_wave) sources = {counted, by_first_wave(sink.src(0), thread, static_cast<int>(wave))};
    const UOp last = make(Op::last_block, dtypes::none, sources, IndexArg{static_cast<int>(volume(program.grid))});
    const UOp rest = behind(finish, last, thread, by_one ? first : UOp(), own.program.block, slot + 1);
    const UOp cleared = uop::store(uop::at(uop::after(counter, {last}), zero, first), constant(dtypes::int32, 0));
    program.has_counter = true;
    return uop::sink(uop::group(std::array{rest, cleared}), sink.as<SinkArg>().name);
}

}  // namespace strata::codegen
