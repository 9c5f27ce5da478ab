#pragma once
#include <initializer_list>
#include <limits>

#include "strata/codegen/target/target.h"
#include "strata/core/uop/uop.h"

namespace strata::codegen {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Builders of values, beside the operators of core/uop/build.h. A number takes the type of what it stands beside.

inline UOp like(UOp x, double value) { return constant(x.dtype(), value); }
inline UOp u32(uint32_t value) { return constant_int(dtypes::uint32, static_cast<int64_t>(value)); }

inline UOp select(UOp predicate, UOp a, UOp b) { return a == b ? a : alu(Op::where, {predicate, a, b}); }
inline UOp select(UOp predicate, double a, UOp b) { return select(predicate, like(b, a), b); }
inline UOp select(UOp predicate, UOp a, double b) { return select(predicate, a, like(a, b)); }
inline UOp both(UOp p, UOp q) { return alu(Op::bit_and, {p, q}); }
inline UOp either(UOp p, UOp q) { return alu(Op::bit_or, {p, q}); }
inline UOp negation(UOp p) { return alu(Op::logical_not, {p}); }

inline UOp plus(UOp a, double b) { return a + like(a, b); }
inline UOp times(UOp a, double b) { return a * like(a, b); }
inline UOp fma(UOp a, UOp b, UOp c) { return alu(Op::fma, {a, b, c}); }
inline UOp fma(UOp a, double b, UOp c) { return fma(a, like(a, b), c); }
inline UOp fma(UOp a, UOp b, double c) { return fma(a, b, like(a, c)); }
inline UOp fma(UOp a, double b, double c) { return fma(a, like(a, b), like(a, c)); }
inline UOp minus(UOp a) { return a.dtype().is_float() ? alu(Op::neg, {a}) : constant_int(a.dtype(), 0) - a; }
inline UOp magnitude(UOp a) { return alu(Op::abs, {a}); }
inline UOp floor(UOp a) { return alu(Op::floor, {a}); }
inline UOp trunc(UOp a) { return alu(Op::trunc, {a}); }
inline UOp rint(UOp a) { return alu(Op::rint, {a}); }
inline UOp larger(UOp a, UOp b) { return alu(Op::max, {a, b}); }
inline UOp smaller(UOp a, UOp b) { return alu(Op::min, {a, b}); }

inline UOp less(UOp a, UOp b) { return alu(Op::cmplt, {a, b}); }
inline UOp less(UOp a, double b) { return less(a, like(a, b)); }
inline UOp less(double a, UOp b) { return less(like(b, a), b); }
inline UOp equal(UOp a, UOp b) { return alu(Op::cmpeq, {a, b}); }
inline UOp equal(UOp a, double b) { return equal(a, like(a, b)); }
inline UOp differs(UOp a, UOp b) { return alu(Op::cmpne, {a, b}); }
inline UOp differs(UOp a, double b) { return differs(a, like(a, b)); }
inline UOp is_nan(UOp a) { return differs(a, a); }
inline UOp as_float32(UOp a) { return cast(a, dtypes::float32); }

inline UOp bits_and(UOp a, UOp b) { return alu(Op::bit_and, {a, b}); }
inline UOp bits_and(UOp a, int64_t b) { return bits_and(a, constant_int(a.dtype(), b)); }
inline UOp bits_or(UOp a, UOp b) { return alu(Op::bit_or, {a, b}); }
inline UOp bits_or(UOp a, int64_t b) { return bits_or(a, constant_int(a.dtype(), b)); }
inline UOp bits_xor(UOp a, UOp b) { return alu(Op::bit_xor, {a, b}); }
inline UOp bits_xor(UOp a, int64_t b) { return bits_xor(a, constant_int(a.dtype(), b)); }
inline UOp up(UOp a, UOp by) { return alu(Op::shl, {a, by}); }
inline UOp up(UOp a, int by) { return by ? up(a, constant_int(a.dtype(), by)) : a; }
inline UOp down(UOp a, UOp by) { return alu(Op::shr, {a, by}); }
inline UOp down(UOp a, int by) { return by ? down(a, constant_int(a.dtype(), by)) : a; }

// Machine ops.
inline UOp rcp(UOp x) { return make(Op::rcp_approx, x.dtype(), {x}); }
inline UOp rsq(UOp x) { return make(Op::rsq_approx, x.dtype(), {x}); }
inline UOp sqrt_approx(UOp x) { return make(Op::sqrt_approx, x.dtype(), {x}); }
inline UOp exp2_approx(UOp x) { return make(Op::exp2_approx, x.dtype(), {x}); }
inline UOp log2_approx(UOp x) { return make(Op::log2_approx, x.dtype(), {x}); }
inline UOp ldexp(UOp x, UOp by) { return make(Op::ldexp, x.dtype(), {x, by}); }
inline UOp ldexp(UOp x, int by) { return ldexp(x, constant_int(dtypes::int32, by)); }
inline UOp frexp_mant(UOp x) { return make(Op::frexp_mant, x.dtype(), {x}); }
inline UOp frexp_exp(UOp x) { return make(Op::frexp_exp, dtypes::int32, {x}); }
inline UOp mulhi(UOp a, UOp b) { return make(Op::mulhi, a.dtype(), {a, b}); }
inline UOp leading_zeros(UOp x) { return make(Op::clz, dtypes::int32, {x}); }
inline UOp trig_preop(UOp x, int segment) {
    return make(Op::trig_preop, x.dtype(), {x, constant_int(dtypes::int32, segment)});
}

// Halves of 64-bit integers.
inline UOp low_word(UOp x) { return cast(x, dtypes::uint32); }
inline UOp high_word(UOp x) { return cast(down(cast(x, dtypes::uint64), 32), dtypes::uint32); }
inline UOp from_words(UOp high, UOp low) {
    return bits_or(up(cast(high, dtypes::uint64), 32), cast(low, dtypes::uint64));
}

/// Integer types as instructions have them, of 32 or 64 bits: a type's own, and the one without sign.
inline DType word_of(DType type) {
    return type.bits() == 64 ? type : type.is_unsigned() ? dtypes::uint32 : dtypes::int32;
}
inline DType unsigned_of(DType type) { return type.bits() == 64 ? dtypes::uint64 : dtypes::uint32; }
/// The sign's bit of an integer in all places.
inline UOp signs(UOp a) { return down(a, a.dtype().bits() - 1); }
/// a with the sign that signs() gave.
inline UOp with_signs(UOp a, UOp signs) { return bits_xor(a, signs) - signs; }

/// A float of no sign with that of another.
UOp with_sign_of(UOp size, UOp x);
/// A Newton step of r, near 1 / x.
inline UOp nearer_reciprocal(UOp r, UOp x) { return fma(fma(minus(x), r, 1), r, r); }
/// 1 / x of float64: to its last place or two, of what is far from overflow.
inline UOp near_reciprocal(UOp x) { return nearer_reciprocal(nearer_reciprocal(rcp(x), x), x); }

/// c[0] + c[1] x + c[2] x^2 ..., in fmas.
UOp polynomial(UOp x, std::span<const double> coefficients);

}  // namespace strata::codegen
