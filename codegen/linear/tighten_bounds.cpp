// tighten_bounds: bound tightening. Loops of reductions have the steps between which masks leave something.
//
// Before  reduce(max, where(row < j, -inf, score), j), j below 128
// After   the same over j below the steps min(128, greatest row of the block + 1)
// Before  reduce(max, where(j < row, -inf, score), j)
// After   the same of j = first + i, over i below 128 - first: first is the least row of the block
// The steps are the same in all threads of a block, since they may meet in the loop: only blocks tell them apart.
#include <algorithm>

#include "strata/codegen/kernel/masked_steps.h"
#include "strata/codegen/linear/loop_key_p.h"
#include "strata/codegen/linear/passes_p.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

UOp more_steps(UOp a, UOp b) {
    if (!a) return b;
    const UOp difference = simplify(b - a);
    if (difference.is_const()) return const_int(difference) > 0 ? b : a;
    return alu(Op::max, {a, b});
}

/// Steps after which a term changes nothing of what is reduced by `op`.
UOp steps_of(UOp term, Op op, bool online, UOp range) {
    const auto is_nothing = [&](UOp u) { return u.is_const() && u == identity(op, u.dtype()); };
    if (term.is(Op::where)) {
        for (int side : {1, 2})
            if (is_nothing(term.src(static_cast<size_t>(side))))
                if (UOp steps = steps_while(term.src(0), side == 2, range)) return steps;
        for (size_t side : {1, 2})
            if (is_nothing(term.src(side))) return steps_of(term.src(3 - side), op, online, range);
    }
    // A term of attention is exp(f - top), where f is a term of the maximum, or a product with it.
    if (online && term.is(Op::mul)) {
        const UOp left = steps_of(term.src(0), op, online, range);
        return left ? left : steps_of(term.src(1), op, online, range);
    }
    if (online && (term.is(Op::exp) || term.is(Op::exp2)) && term.src(0).is(Op::sub))
        return steps_of(term.src(0).src(0), Op::max, false, range);
    return {};
}

class Ending {
  public:
    explicit Ending(const Scopes& scopes) : scopes_(scopes), keys_(scopes) {}

    UOp run() {
        const UOp sink = scopes_.order().back();
        UOpMap<Loop> tight;
        for (UOp r : scopes_.list(scopes_.with_axis({Axis::reduce})))
            if (const std::optional<Loop> loop = tight_loop(r)) tight.emplace(r, *loop);
        if (tight.empty()) return sink;
        return rebuild(sink, [&](UOp u, std::vector<UOp>& sources) {
            if (const auto found = tight.find(u); found != tight.end()) return found->second.step;
            const bool closes = u.is(Op::reduce);
            for (size_t i = 1; closes && i < sources.size(); ++i)
                if (const auto found = tight.find(u.src(i)); found != tight.end()) sources[i] = found->second.range;
            return u.with_src(sources);
        });
    }

  private:
    struct Loop {
        UOp range, step;  ///< step: of the range before, by the new one
    };

    std::optional<Loop> tight_loop(UOp range) const {
        const int64_t size = range_arg(range).size;
        const UOp from_last = steps_of_loop(range, true);
        UOp end = steps_of_loop(range, false);
        if (end && proves_at_least(end, size)) end = {};
        const bool starts_late = from_last && !proves_at_least(from_last, size);
        if (!end && !starts_late) return {};
        const auto within = [](UOp steps, int64_t least, int64_t most) {
            if (!proves_at_least(steps, least)) steps = alu(Op::max, {steps, index_const(least)});
            if (!proves_less(steps, most + 1)) steps = alu(Op::min, {steps, index_const(most)});
            return simplify(steps);
        };
        end = end ? within(end, 1, size) : index_const(size);
        const UOp first = starts_late ? within(index_const(size) - from_last, 0, size - 1) : index_const(0);
        // One step at least, whose values are the identity where masks leave nothing.
        const UOp steps = starts_late ? within(simplify(end - first), 1, size) : end;
        const UOp tight = uop::range(size, range_arg(range).id, Axis::reduce, steps);
        return Loop{tight, starts_late ? first + tight : tight};
    }

    /// The steps of the loop in which all reductions over a range are, from the first or back from the last. Empty:
    /// it takes all.
    UOp steps_of_loop(UOp range, bool from_last) const {
        const UOp reversed = index_const(range_arg(range).size - 1) - range;
        UOp steps;
        for (UOp u : scopes_.order()) {
            if (!closes(u, range)) continue;
            if (!u.is(Op::reduce)) return {};
            for (UOp term : terms_of(u.src(0), u.dtype())) {
                if (from_last) term = substitute(term, {{range, reversed}});
                const UOp of_term = steps_of(term, u.as<ReduceArg>().op, keys_.online(u) != nullptr, range);
                if (!of_term) return {};
                steps = more_steps(steps, of_term);
            }
        }
        return steps;
    }

    const Scopes& scopes_;
    LoopKeys keys_;
};

}  // namespace

Result<UOp> tighten_bounds(UOp sink, Context& context) { return Ending(context.scopes(sink)).run(); }

}  // namespace strata::codegen
