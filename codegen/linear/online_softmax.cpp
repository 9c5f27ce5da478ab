// online_terms: sums that one loop computes together with the maximum they subtract.
//
// Before  m = max f(j) over j;  sum of exp(f(j) - m) * v(j) over j
// After   at each step  n = max(m, f(j)), c = exp(m - n), sum = sum * c + exp(f(j) - n) * v(j), m = n
// lower_reduces makes the loop. Reductions that are no loop need none of it: their terms are in registers.
#include "strata/codegen/linear/online_softmax_p.h"
#include "strata/codegen/schedule/softmax.h"
#include "strata/core/uop/uop_set.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace strata::codegen {
namespace {

bool is_lowest(UOp u) { return u.is_const() && u == identity(Op::max, u.dtype()); }

/// A term of a maximum below the masks that take it out.
UOp unmasked(UOp u) {
    while (u.is(Op::where) && (is_lowest(u.src(1)) || is_lowest(u.src(2)))) u = u.src(is_lowest(u.src(1)) ? 2 : 1);
    return u;
}

/// The other value of a choice between a value and 0.
UOp beside_zero(UOp choice) { return choice.src(choice.src(1).is_const(0) ? 2 : 1); }

/// The maximum in what is subtracted, or empty.
UOp top_of(UOp shift) {
    if (const UOp top = guarded_maximum(shift)) shift = top;
    const bool is_top = shift.is(Op::reduce) && shift.as<ReduceArg>().op == Op::max && shift.dtype().is_float() &&
                        shift.dtype().bits() >= 32;
    return is_top ? shift : UOp();
}

class Matching {
  public:
    Matching(UOp sum, const UOpMap<size_t>& depths) : sum_(sum), depths_(depths) {}

    std::optional<OnlineTerms> run() {
        if (!sum_.is(Op::reduce) || sum_.as<ReduceArg>().op != Op::add || !sum_.dtype().is_float()) return {};
        const UOp value = sum_.src(0);
        const std::vector<UOp> terms = terms_of(value, sum_.dtype());
        UOp e = exponential_in(terms[0]);
        if (!e || !e.src(0).is(Op::sub)) return {};
        found_ = {top_of(e.src(0).src(1)), e.src(0).src(1), e.op()};
        if (!found_.top || !std::ranges::equal(sum_.src().subspan(1), found_.top.src().subspan(1))) return {};
        const UOp of_top = found_.top.src(0);
        const std::vector<UOp> tops = terms_of(of_top, found_.top.dtype());
        if (tops.size() != terms.size()) return {};
        for (size_t i = 0; i < terms.size(); ++i)
            if (!is_scaled(terms[i], unmasked(tops[i]))) return {};
        return found_;
    }

  private:
    bool is_earlier(UOp u) const { return depths_.at(u) < depths_.at(found_.top); }

    static UOp exponential_in(UOp root) {
        UOpSet seen{root};
        std::vector<UOp> stack{root};
        const auto visit = [&](UOp u) {
            if (seen.insert(u).second) stack.push_back(u);
        };
        while (!stack.empty()) {
            const UOp u = stack.back();
            stack.pop_back();
            if (u.is(Op::exp) || u.is(Op::exp2)) return u;
            if (u.is(Op::where)) visit(beside_zero(u));
            if (u.is(Op::mul)) visit(u.src(1)), visit(u.src(0));
        }
        return UOp();
    }

    /// True if a term is the exponential of `f` less the shift, times what is known before the maximum is.
    bool is_scaled(UOp term, UOp f) const {
        if (term.is(found_.exponential)) {
            UOp difference = term.src(0);
            return difference.is(Op::sub) && difference.src(1) == found_.shift && is_earlier(difference.src(0)) &&
                   unmasked(difference.src(0)) == f;
        }
        if (term.is(Op::where) && (term.src(1).is_const(0) || term.src(2).is_const(0)))
            return is_earlier(term.src(0)) && is_scaled(beside_zero(term), f);
        if (!term.is(Op::mul)) return false;
        return is_earlier(term.src(0)) ? is_scaled(term.src(1), f)
                                       : is_earlier(term.src(1)) && is_scaled(term.src(0), f);
    }

    UOp sum_;
    const UOpMap<size_t>& depths_;
    OnlineTerms found_;
};

UOp is_nothing_yet(UOp top) { return alu(Op::cmpeq, {top, identity(Op::max, top.dtype())}); }

}  // namespace

std::vector<UOp> terms_of(UOp value, DType result) {
    if (value.is(Op::vec) && result.lanes == 1) return {value.src().begin(), value.src().end()};
    return {value};
}

std::optional<OnlineTerms> online_terms(UOp sum, const UOpMap<size_t>& depths) { return Matching(sum, depths).run(); }

UOp shift_at(const OnlineTerms& terms, UOp top) {
    if (terms.shift != terms.top) {
        const UOp is_finite = terms.shift.src(0);
        return alu(Op::where, {alu(Op::abs, {top}) < is_finite.src(1), top, terms.shift.src(2)});
    }
    return alu(Op::where, {is_nothing_yet(top), constant(top.dtype(), 0), top});
}

UOp rescaling(const OnlineTerms& terms, UOp before, UOp after) {
    UOp factor = alu(terms.exponential, {shift_at(terms, before) - shift_at(terms, after)});
    return alu(Op::where, {is_nothing_yet(before), constant(before.dtype(), 1), factor});
}

UOp settled(const OnlineTerms& terms, UOp sum, UOp top) {
    if (terms.shift != terms.top) return sum;
    const UOp none = constant(sum.dtype(), std::numeric_limits<double>::quiet_NaN());
    return alu(Op::where, {is_nothing_yet(top), none, sum});
}

}  // namespace strata::codegen
