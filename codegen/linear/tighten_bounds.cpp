// tighten_bounds: loops of reductions end where masks leave nothing of what would come.
//
// Before  reduce(max, where(row < j, -inf, score), j), j below 128
// After   the same over j below the steps min(128, greatest row of the block + 1)
// The steps are the same in all threads of a block, since they may meet in the loop: only blocks tell them apart.
#include <algorithm>

#include "strata/codegen/kernel/masked_steps.h"
#include "strata/codegen/linear/loop_key_p.h"
#include "strata/codegen/linear/passes_p.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

UOp larger(UOp a, UOp b) {
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
        UOpMap<UOp> ended;
        for (UOp r : scopes_.list(scopes_.with_axis({Axis::reduce})))
            if (UOp steps = steps_of_loop(r))
                ended[r] = uop::range(range_arg(r).size, range_arg(r).id, Axis::reduce, steps);
        const UOp sink = scopes_.order().back();
        return ended.empty() ? sink : substitute(sink, ended);
    }

  private:
    /// The steps of the loop in which all reductions over a range are; empty where it takes them all.
    UOp steps_of_loop(UOp range) const {
        UOp steps;
        for (UOp u : scopes_.order()) {
            if (!closes(u, range)) continue;
            if (!u.is(Op::reduce)) return {};
            const UOp value = u.src(0);
            for (UOp term : terms_of(value, u.dtype())) {
                const UOp of_term = steps_of(term, u.as<ReduceArg>().op, keys_.online(u) != nullptr, range);
                if (!of_term) return {};
                steps = larger(steps, of_term);
            }
        }
        if (!steps) return {};
        const int64_t size = range_arg(range).size;
        if (proves_at_least(steps, size)) return {};
        if (!proves_at_least(steps, 1)) steps = alu(Op::max, {steps, index_const(1)});
        if (!proves_less(steps, size + 1)) steps = alu(Op::min, {steps, index_const(size)});
        return simplify(steps);
    }

    const Scopes& scopes_;
    LoopKeys keys_;
};

}  // namespace

Result<UOp> tighten_bounds(UOp sink, Context& context) { return Ending(context.scopes(sink)).run(); }

}  // namespace strata::codegen
