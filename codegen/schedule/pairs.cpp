// pairs: a reduction, and one of the same elements less its result, both of more elements than a block holds -> two stages.
//
// Before  m = sum(x) / n;  sum((x - m)^2)          t = max(x);  sum(exp(x - t))
// After   of each piece    m_p, q_p = sum((x - m_p)^2)           t_p, z_p = sum(exp(x - t_p))
//         of all           sum(q_p + k (m_p - m)^2)              sum(z_p exp(t_p - t))
// so that x is read once. Chan, Golub, LeVeque: Updating Formulae and a Pairwise Algorithm for Computing Sample Variances (1979);
// Milakov, Gimelshein: Online normalizer calculation for softmax (2018). What m_p lacks of a piece's mean by rounding is summed
// too: far from zero it is as much as the deviations.
#include "strata/codegen/schedule/pairs_p.h"

#include <cmath>

#include "strata/codegen/schedule/plan_p.h"

namespace strata::codegen {
namespace {

UOp below_repeats(UOp u) {
    while (u.is(Op::expand) || u.is(Op::reshape)) u = u.src(0);
    return u;
}

UOp below_same_bits(UOp u) {
    while (u.is(Op::bitcast) && u.src(0).is(Op::bitcast) && u.src(0).src(0).dtype() == u.dtype()) u = u.src(0).src(0);
    return u;
}

bool is_number(UOp u, double value) { return below_repeats(u).is_const(value); }

/// The top, or another number where it is not finite.
UOp top_in(UOp shift) {
    UOp u = below_same_bits(shift);
    if (!u.is(Op::where) || !is_number(u.src(2), 0)) return UOp();
    const UOp finite = u.src(0), top = below_repeats(u.src(1));
    const bool guards = finite.is(Op::cmplt) && finite.src(0).is(Op::abs) && is_number(finite.src(1), HUGE_VAL) &&
                        below_repeats(finite.src(0).src(0)) == top;
    return guards ? top : UOp();
}

UOp sum_in(UOp mean, int64_t n) {
    return mean.is(Op::fdiv) && is_number(mean.src(1), static_cast<double>(n)) ? below_repeats(mean.src(0)) : UOp();
}

bool is_first(UOp first, Op op, UOp second, UOp x) {
    return first && first.is(Op::reduce) && first.as<ReduceArg>().op == op && first.src(0) == x &&
           same_loops(first, second);
}

UOp own(UOp x) { return make(Op::contiguous, x.dtype(), {x}); }
UOp not_negative(UOp x) { return alu(Op::max, {x, constant(x.dtype(), 0)}); }
UOp exponential(UOp x) { return alu(Op::exp, {x}); }

/// The value, 0 where it is not finite.
UOp where_finite(UOp x) {
    return alu(Op::where, {alu(Op::abs, {x}) < constant(x.dtype(), HUGE_VAL), x, constant(x.dtype(), 0)});
}

UOp merged_squares(const Pieces& p, UOp x, UOp mean) {
    const DType type = x.dtype();
    const UOp zero = constant(type, 0), length = p.lengths(type), piece = p.of(x, zero);
    const UOp sum = p.reduced(piece, Op::add);
    UOp less = piece - p.along(sum / length);
    if (const UOp real = p.are_real()) less = alu(Op::where, {real, less, zero});
    const UOp rest = p.reduced(less, Op::add), squares = p.reduced(less * less, Op::add);
    const UOp rests = own(rest), apart = (own(sum) / length - p.to_pieces(mean)) + rests / length;
    const UOp inside = own(not_negative(squares - rest * rest / length));
    const UOp total = p.merged(inside + length * apart * apart, Op::add), off = p.merged(length * apart, Op::add);
    return not_negative(total - off * off / constant_int(type, p.elements));
}

UOp merged_exponentials(const Pieces& p, UOp x, UOp top) {
    const UOp piece = p.of(x, identity(Op::max, x.dtype())), tops = p.reduced(piece, Op::max);
    const UOp sums = own(p.reduced(exponential(piece - p.along(where_finite(tops))), Op::add));
    return p.merged(sums * exponential(own(tops) - p.to_pieces(top)), Op::add);
}

}  // namespace

ShiftedPair pair_of(UOp u) {
    if (!u.is(Op::reduce) || u.as<ReduceArg>().op != Op::add || !u.dtype().is_float() || u.dtype().bits() < 32)
        return {};
    if (!is_divided(u)) return {};
    const UOp body = u.src(0);
    ShiftedPair pair{u, UOp(), UOp(), UOp(), body.is(Op::exp)};
    const UOp less = pair.exponentials || (body.is(Op::mul) && body.src(0) == body.src(1)) ? body.src(0) : UOp();
    if (!less || !less.is(Op::sub) || !less.src(1).is(Op::expand)) return {};
    pair.x = less.src(0), pair.shift = below_repeats(less.src(1));
    const int64_t n = body.numel() / u.numel();
    pair.first = pair.exponentials ? top_in(pair.shift) : sum_in(pair.shift, n);
    if (!is_first(pair.first, pair.exponentials ? Op::max : Op::add, u, pair.x)) return {};
    return pair.shift.numel() == u.numel() ? pair : ShiftedPair{};
}

UOp merged_pair(const ShiftedPair& pair, UOp x, UOp shift) {
    const Pieces pieces = pieces_of(pair.second, kMostOfPair);
    const UOp total = pair.exponentials ? merged_exponentials(pieces, x, shift) : merged_squares(pieces, x, shift);
    return reshaped(total, pair.second.shape());
}

UOp two_stages(const Pieces& pieces, UOp x, Op op) {
    return pieces.merged(own(pieces.reduced(pieces.of(x, identity(op, x.dtype())), op)), op);
}

}  // namespace strata::codegen
