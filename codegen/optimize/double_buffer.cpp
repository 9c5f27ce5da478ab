// double_buffer: double buffering. As stage, with local memory for two tiles in turns, so that the next one comes while
// one is computed with.
//
// Before  in the outer loop: fetched = load(a[...]); barrier; local memory = fetched; barrier; value(load(local
//         memory[place]))
// After   in the outer loop: fetched = load(a[...]); local memory[half] = fetched; barrier; value(load(local
//         memory[half + place])) where half is that of the step, outer % 2
// One barrier a step is enough: who writes a half has passed the one after which all have read it. prefetch
// (codegen/linear) reads what such loops store a step before. Where copies go on by themselves, operands of matrix
// instructions come by those.
#include <algorithm>

#include "strata/codegen/optimize/actions_p.h"
#include "strata/codegen/target/read_ahead.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

constexpr int64_t kHalves = 2;
constexpr int64_t kWidest = 16;  // bytes of an access, by which halves are aligned

bool is_local(UOp u) { return u.is(Op::param) && u.as<ParamArg>().space == Space::local; }

bool multiplies_matrices(UOp sink) {
    return std::ranges::any_of(toposort(sink), [](UOp u) { return u.is(Op::wmma); });
}

/// A barrier after loads, until which those wait who would overwrite what others read.
bool keeps_back(UOp u) { return u.is(Op::barrier) && u.src(0).dtype().bytes() > 0; }

int64_t half_of(UOp memory) {
    const int64_t wide = std::max<int64_t>(kWidest / memory.dtype().bytes(), 1);
    return (memory.as<ParamArg>().size + wide - 1) / wide * wide;
}

/// True if the loop starts again: then the last step's half may not be the first one's.
bool starts_again(UOp sink, UOp outer) {
    int64_t loops = 0;
    for (UOp u : toposort(sink)) {
        loops += closes(u, outer);
        if (!u.is(Op::range) || range_arg(u).id >= range_arg(outer).id) continue;
        if (range_arg(u).axis == Axis::reduce || range_arg(u).axis == Axis::loop) return true;
    }
    return loops > 1;
}

/// A loop inside that of the tiles, each step of which brings the same tile's half again; empty: there is none.
UOp loop_of_copies(UOp sink, UOp outer) {
    for (UOp closing : toposort(sink)) {
        if (!closes(closing, outer)) continue;
        for (UOp u : toposort(closing.src(0))) {
            if (!closes_ranges(u)) continue;
            const std::vector<UOp> inside = toposort(u.src(0));
            for (UOp range : u.src().subspan(1)) {
                const Axis axis = range_arg(range).axis;
                if ((axis != Axis::reduce && axis != Axis::loop) || closes(closing, range)) continue;
                for (UOp copies : inside)
                    if (keeps_back(copies) && depends_on(copies, outer) && depends_on(copies, range)) return range;
            }
        }
    }
    return {};
}

UOp in_halves(UOp sink, UOp outer) {
    const UOp turn = simplify(outer % kHalves);
    return rebuild(sink, [&](UOp u, std::span<const UOp> sources) {
        if (is_local(u)) return uop::placeholder(kHalves * half_of(u), u.dtype(), Space::local, u.as<ParamArg>().slot);
        if (u.is(Op::after) && is_local(u.src(0)) && keeps_back(u.src(1))) return sources[0];
        if (!u.is(Op::index) || !is_local(memory_of(u))) return u.with_src(sources);
        std::vector<UOp> moved(sources.begin(), sources.end());
        moved[1] = moved[1] + turn * half_of(memory_of(u));
        return u.with_src(moved);
    });
}

}  // namespace

namespace actions {

Result<Kernel> double_buffer(const Site& site) {
    if (site.target.ahead == Ahead::copies && multiplies_matrices(site.kernel.sink))
        return make_error(ErrorKind::Usage, "operands of matrix instructions are copied ahead on {} in any case",
                          site.target.arch.name());
    STRATA_TRY(const Kernel staged, site.by(ActionKind::stage));
    const std::vector<UOp> all = ranges(staged.sink);
    const UOp outer = *std::ranges::find(all, range_arg(site.range()).id, [](UOp r) { return range_arg(r).id; });
    const bool is_symbolic = std::ranges::any_of(toposort(staged.sink), [](UOp u) { return u.is(Op::define_var); });
    if ((range_arg(outer).size % kHalves || is_symbolic) && starts_again(staged.sink, outer))
        return make_error(ErrorKind::Usage,
                          "a loop of {}{} tiles starts again: halves of local memory want an even number",
                          is_symbolic ? "at most " : "", range_arg(outer).size);
    if (const UOp inner = loop_of_copies(staged.sink, outer))
        return make_error(ErrorKind::Usage, "a loop of {} steps inside that of the tiles copies each half again",
                          range_arg(inner).size);
    int64_t bytes = 0;
    for (UOp u : toposort(staged.sink))
        if (keeps_back(u))
            for (UOp s : u.src()) bytes += s.dtype().bytes();
    if (bytes > kMostBytesAhead)
        return make_error(ErrorKind::Usage, "a thread would hold {} bytes of the next tile; the most is {}", bytes,
                          kMostBytesAhead);
    return Kernel{simplify(in_halves(staged.sink, outer)), staged.name};
}

}  // namespace actions
}  // namespace strata::codegen
