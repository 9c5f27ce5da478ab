// split_loops: loop splitting, or peeling. A loop whose masks take nothing out up to some step is two: one without
// these masks, and one with them.
//
// Before  end(... where(row < 16 * r + column, -inf, score) ..., r), r below n
// After   e = end(... score ..., r), r below m;  end(... where(row < 16 * (m + s) + column, -inf, score) ..., s), s
//         below n - m, after e
// m is the same in all threads of a block, and 0 to n - 1. Loops have an end each (map_grid), and what they read ahead
// is in registers or local memory for the step after (prefetch), in either loop. Loops around others stay as they are,
// and those that threads leave by themselves (break_if).
#include <algorithm>
#include <array>

#include "strata/codegen/kernel/masked_steps.h"
#include "strata/codegen/linear/passes_p.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

constexpr int64_t kFewest = 4;  // steps of a loop that is worth two

bool is_a_number(UOp u) { return u.dtype().scalar == Scalar::index; }
bool is_predicated(UOp u) { return u.is(Op::index) && u.src().size() == 3; }

/// A comparison, and what it is where it masks nothing.
struct Mask {
    UOp comparison;
    bool whole;
};

void collect_masks(UOp condition, bool whole, std::vector<Mask>& found) {
    if (condition.is(Op::cmplt)) found.push_back({condition, whole});
    if (condition.is(Op::bit_and) || condition.is(Op::bit_or))
        for (UOp s : condition.src()) collect_masks(s, whole, found);
}

/// The node without the masks that known conditions decide.
UOp without_masks(UOp u, std::vector<UOp>& sources) {
    const auto truth = [&](size_t i) {
        return sources[i].is_const() ? std::optional(!sources[i].is_const(0)) : std::nullopt;
    };
    if (u.is(Op::where))
        if (const auto holds = truth(0)) return sources[*holds ? 1 : 2];
    if (u.dtype() == dtypes::boolean && (u.is(Op::bit_and) || u.is(Op::bit_or)))
        for (size_t i : {0, 1})
            if (const auto holds = truth(i)) return *holds == u.is(Op::bit_and) ? sources[1 - i] : sources[i];
    if (is_predicated(u) && truth(2) == true) sources.pop_back();
    if (u.is(Op::load) && is_predicated(u.src(0)) && !is_predicated(sources[0])) sources.resize(1);
    return u.with_src(sources);
}

class Splitting {
  public:
    Splitting(UOp sink, const Context& context)
        : context_(context), order_(toposort(sink)), next_id_(next_range_id(sink)) {}

    /// Empty where no loop is split.
    UOp run() {
        if (std::ranges::none_of(order_, [](UOp u) { return u.is(Op::cmplt); })) return {};
        bool splits = false;
        UOpMap<UOp> rebuilt;
        const UOp sink = rebuild(order_, rebuilt, [&](UOp u, std::span<const UOp> sources) {
            const UOp same = u.with_src(sources);
            if (!u.is(Op::end) || context_.program.async_products) return same;
            const UOp two = split(same);
            splits |= two != same;
            return two;
        });
        return splits ? sink : UOp();
    }

  private:
    UOp split(UOp end) {
        const UOp range = end.src(1);
        const RangeArg arg = range_arg(range);
        if (arg.size < kFewest || !may_be_split(end)) return end;
        // The second loop has a step at least: the first one's are below the last, and what they read ahead is there.
        const UOp first = uop::range(arg.size - 1, arg.id, arg.axis), body = moved(end.src(0), range, first, first);
        const UOp count = range.src().empty() ? index_const(arg.size) : range.src(0);
        UOpMap<bool> known;
        UOp steps;
        for (const Mask& mask : masks_in(body, first)) {
            const std::optional<Settled> settled = settled_first(mask.comparison, first);
            if (!settled || settled->holds != mask.whole || proves_less(settled->steps, 1)) continue;
            known[mask.comparison] = settled->holds;
            steps = fewer_steps(steps, settled->steps);
        }
        if (!steps || (steps.is_const() && count.is_const())) return end;
        const UOp left = simplify(alu(Op::max, {count - steps, index_const(1)}));
        steps = simplify(alu(Op::min, {steps, count - 1}));
        const UOp early = uop::range(arg.size - 1, arg.id, arg.axis, steps),
                  before = uop::end(substitute(without(body, known), {{first, early}}), {early});
        const int64_t most = std::min(bounds(left).high, arg.size);
        if (most == 1) return uop::group(std::array{before, moved(end.src(0), range, steps, before)});
        const UOp second = uop::range(most, next_id_++, arg.axis),
                  late = uop::range(most, range_arg(second).id, arg.axis, uop::after(left, {before}));
        return uop::end(substitute(moved(end.src(0), range, second + steps, second), {{second, late}}), {late});
    }

    /// True if its steps differ in some comparison, and no other loop in it does with them.
    static bool may_be_split(UOp end) {
        const std::vector<UOp> order = toposort(end.src(0));
        const UOpMap<bool> of_step = dependents(order, end.src(1));
        bool compares = false;
        for (UOp u : order) {
            if (u.is(Op::break_if)) return false;
            if (!of_step.contains(u)) continue;
            if (u.is(Op::end)) return false;
            compares |= u.is(Op::cmplt);
        }
        return compares;
    }

    /// With another number in a range's place, and another thing for its effects to wait for. Offsets and comparisons
    /// that have the range stay as simple as they were.
    static UOp moved(UOp body, UOp range, UOp number, UOp behind) {
        const std::vector<UOp> order = toposort(body);
        const UOpMap<bool> of_step = dependents(order, range);
        UOpMap<UOp> rebuilt;
        return rebuild(order, rebuilt, [&](UOp u, std::vector<UOp>& sources) {
            if (u == range) return number;
            if (!of_step.contains(u)) return u;
            if (is_a_number(u)) return u.with_src(sources);
            for (size_t i = 0; i < sources.size(); ++i)
                if (u.src(i) == range && (u.is(Op::after) || u.dtype().scalar == Scalar::none))
                    sources[i] = behind;
                else if (is_a_number(sources[i]))
                    sources[i] = simplify(sources[i]);
            return u.with_src(sources);
        });
    }

    static std::vector<Mask> masks_in(UOp body, UOp range) {
        std::vector<Mask> found;
        const std::vector<UOp> order = toposort(body);
        const UOpMap<bool> of_step = dependents(order, range);
        for (UOp u : order) {
            if (!of_step.contains(u)) continue;
            if (u.is(Op::where) && u.src(1).is_const() != u.src(2).is_const())
                collect_masks(u.src(0), u.src(2).is_const(), found);
            if (is_predicated(u)) collect_masks(u.src(2), true, found);
        }
        std::erase_if(found, [&](const Mask& mask) { return !of_step.contains(mask.comparison); });
        return found;
    }

    static UOp without(UOp body, const UOpMap<bool>& known) {
        return rebuild(body, [&](UOp u, std::vector<UOp>& sources) {
            const auto found = known.find(u);
            return found == known.end() ? without_masks(u, sources) : constant(dtypes::boolean, found->second);
        });
    }

    const Context& context_;
    std::vector<UOp> order_;
    int next_id_;
};

}  // namespace

Result<UOp> split_loops(UOp sink, Context& context) {
    const UOp split = Splitting(sink, context).run();
    return split ? reassociate(split, context) : sink;
}

}  // namespace strata::codegen
