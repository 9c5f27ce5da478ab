// pairs: a reduction, and one of the same elements less its result, both of more elements than a block holds -> two
// stages.
//
// Before  m = sum(x) / n;  sum((x - m)^2)          t = max(x);  sum(exp(x - t))
// After   of each piece    m_p, q_p = sum((x - m_p)^2)           t_p, z_p = sum(exp(x - t_p))
//         of all           sum(q_p + k (m_p - m)^2)              sum(z_p exp(t_p - t))
// Before  t = max(x);      min(where(is(x, t), place, n))        argmax: is(x, t) = x == t, or x is no number
// After   of each piece    t_p, i_p = min(where(is(x, t_p), place, n))
//         of all           min(where(is(t_p, t), i_p, n))
// so that x is read once. Chan, Golub, LeVeque: Updating Formulae and a Pairwise Algorithm for
// Computing Sample Variances (1979); Milakov, Gimelshein: Online normalizer calculation for
// softmax (2018). The rounding error of m_p is summed too: far from zero it is as large as the
// deviations.
#include "strata/codegen/schedule/paired_reductions_p.h"

#include <cmath>

#include "strata/codegen/schedule/plan_p.h"
#include "strata/codegen/schedule/softmax.h"

namespace strata::codegen {
namespace {

bool is_number(UOp u, double value) { return below_repeats(u).is_const(value); }

/// The top, or another number where it is not finite.
UOp top_in(UOp shift) {
    const UOp u = below_detached(shift), top = guarded_maximum(u);
    return top && is_number(u.src(2), 0) ? top : UOp();
}

UOp sum_in(UOp mean, int64_t n) {
    return mean.is(Op::fdiv) && is_number(mean.src(1), static_cast<double>(n)) ? below_repeats(mean.src(0)) : UOp();
}

bool is_first(UOp first, Op op, UOp second, UOp x) {
    return first && first.is(Op::reduce) && first.as<ReduceArg>().op == op && first.src(0) == x &&
           same_loops(first, second);
}

bool is_extreme(UOp u) {
    return u.is(Op::reduce) && (u.as<ReduceArg>().op == Op::max || u.as<ReduceArg>().op == Op::min);
}

constexpr size_t kMostNodes = 16;  // nodes of a comparison

/// The extreme that elements are compared with, among what `hit` is made of.
UOp extreme_in(UOp hit) {
    std::vector<UOp> near{hit};
    for (size_t i = 0; i < near.size() && near.size() < kMostNodes; ++i) {
        if (near[i].is(Op::expand) && is_extreme(below_repeats(near[i]))) return below_repeats(near[i]);
        if (info(near[i].op()).elementwise()) near.insert(near.end(), near[i].src().begin(), near[i].src().end());
    }
    return UOp();
}

/// How elements of x are compared with its extreme.
class Comparison {
  public:
    Comparison(UOp hit, UOp extreme) : hit_(hit), x_(extreme.src(0)), extreme_(extreme) {}
    /// The same of other elements and another extreme; empty: it is made of more than these and numbers.
    UOp of(UOp others, UOp other_extreme) const {
        size_t left = kMostNodes;
        return of(hit_, others, other_extreme, left);
    }

  private:
    UOp of(UOp u, UOp others, UOp other_extreme, size_t& left) const {
        if (u == x_) return others;
        if (const UOp below = below_repeats(u); below == extreme_ || below.is_const())
            return below == extreme_ ? other_extreme : below;
        if (!info(u.op()).elementwise() || left-- == 0) return UOp();
        std::vector<UOp> sources;
        for (UOp s : u.src()) {
            sources.push_back(of(s, others, other_extreme, left));
            if (!sources.back()) return UOp();
        }
        return make(u.op(), u.dtype(), sources, u.arg());
    }

    UOp hit_, x_, extreme_;
};

/// Which of x is the first that its extreme is.
PairedReduction places_of(UOp u) {
    const UOp body = u.src(0);
    if (u.as<ReduceArg>().op != Op::min || !body.is(Op::where) || !below_repeats(body.src(2)).is_const()) return {};
    const UOp hit = body.src(0), position = below_repeats(body.src(1)), first = extreme_in(hit);
    if (!position.is(Op::iota) || !first || !same_loops(first, u)) return {};
    if (!Comparison(hit, first).of(first.src(0), first.src(0))) return {};
    return {u, first, first.src(0), first, PairedReduction::Kind::places};
}

UOp own(UOp x) { return make(Op::contiguous, x.dtype(), {x}); }
UOp not_negative(UOp x) { return alu(Op::max, {x, constant(x.dtype(), 0)}); }
UOp exponential(UOp x) { return alu(Op::exp, {x}); }

UOp merged_squares(const TwoStage& p, UOp x, UOp mean) {
    const DType type = x.dtype();
    const UOp zero = constant(type, 0), length = p.lengths(type), piece = p.of(x, zero);
    const UOp sum = p.reduced(piece, Op::add);
    UOp less = piece - p.along(sum / length);
    if (const UOp real = p.are_real()) less = alu(Op::where, {real, less, zero});
    const UOp rest = p.reduced(less, Op::add), squares = p.reduced(less * less, Op::add);
    const UOp rests = own(rest), apart = (own(sum) / length - p.to_pieces(mean)) + rests / length;
    const UOp inside =
        own(not_negative(squares - where_finite(rest * (rest / length))));  // where squares are infinite it stays
    const UOp total = p.merged(inside + length * apart * apart, Op::add), off = p.merged(length * apart, Op::add);
    return not_negative(total - where_finite(off * (off / constant_int(type, p.elements))));
}

UOp merged_exponentials(const TwoStage& p, UOp x, UOp top) {
    const UOp piece = p.of(x, identity(Op::max, x.dtype())), tops = p.reduced(piece, Op::max);
    const UOp sums = own(p.reduced(exponential(piece - p.along(where_finite(tops))), Op::add));
    return p.merged(sums * exponential(own(tops) - p.to_pieces(top)), Op::add);
}

UOp merged_places(const TwoStage& p, const PairedReduction& pair, UOp x, UOp extreme) {
    const UOp body = pair.second.src(0), none = below_repeats(body.src(2));
    const Op op = pair.first.as<ReduceArg>().op;
    const UOp piece = p.of(x, identity(op, x.dtype())), extremes = p.reduced(piece, op);
    const Comparison is(body.src(0), pair.first);
    const UOp places = alu(Op::where, {is.of(piece, p.along(extremes)), p.of(body.src(1), none), none});
    const UOp found = own(p.reduced(places, Op::min)), tops = own(extremes);
    return p.merged(alu(Op::where, {is.of(tops, p.to_pieces(extreme)), found, none}), Op::min);
}

}  // namespace

PairedReduction paired_reduction_of(UOp u, const CostModel& costs) {
    if (!u.is(Op::reduce) || !is_two_stage_where_read_twice(u, costs)) return {};
    if (u.dtype().is_integer()) return places_of(u);
    if (u.as<ReduceArg>().op != Op::add || !u.dtype().is_float() || u.dtype().bits() < 32) return {};
    const UOp body = u.src(0);
    const bool exponentials = body.is(Op::exp);
    PairedReduction pair{u, UOp(), UOp(), UOp(),
                         exponentials ? PairedReduction::Kind::exponentials : PairedReduction::Kind::squares};
    const UOp less = exponentials || (body.is(Op::mul) && body.src(0) == body.src(1)) ? body.src(0) : UOp();
    if (!less || !less.is(Op::sub) || !less.src(1).is(Op::expand)) return {};
    pair.x = less.src(0), pair.shift = below_repeats(less.src(1));
    const int64_t n = body.numel() / u.numel();
    pair.first = exponentials ? top_in(pair.shift) : sum_in(pair.shift, n);
    if (!is_first(pair.first, exponentials ? Op::max : Op::add, u, pair.x)) return {};
    return pair.shift.numel() == u.numel() ? pair : PairedReduction{};
}

UOp merged_pair(const PairedReduction& pair, UOp x, UOp shift, const CostModel& costs) {
    const TwoStage pieces = two_stage_of(pair.second, kMostOfPair, costs);
    const auto total = [&] {
        switch (pair.kind) {
            case PairedReduction::Kind::squares: return merged_squares(pieces, x, shift);
            case PairedReduction::Kind::exponentials: return merged_exponentials(pieces, x, shift);
            case PairedReduction::Kind::places: return merged_places(pieces, pair, x, shift);
        }
        STRATA_CHECK(false, "no kind of pairs");
    };
    return reshaped(total(), pair.second.shape());
}

UOp two_stages(const TwoStage& pieces, UOp x, Op op) {
    return pieces.merged(own(pieces.reduced(pieces.of(x, identity(op, x.dtype())), op)), op);
}

}  // namespace strata::codegen
