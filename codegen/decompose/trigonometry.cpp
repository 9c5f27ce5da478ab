// Sine and cosine: x = n pi/2 + r with |r| <= pi/4, then a series in r^2.
#include <array>

#include "strata/codegen/decompose/functions_p.h"
#include "strata/codegen/decompose/pairs_p.h"
#include "strata/codegen/decompose/polynomials_p.h"

namespace strata::codegen {
namespace {

/// The bits of 2/pi after its point, after 32 zeros.
constexpr std::array<uint32_t, 8> kTwoOverPi{0,          0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                             0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};

/// |x| = n pi/2 + r + low: n modulo 4 as uint32.
struct Reduced {
    UOp quadrant, r, low;
    bool is_finite = false;  ///< x, by its form
};

/// 96 bits of 2/pi, from bit `from` of the table on, 1 <= from <= 134: the upper word first.
std::array<UOp, 3> window(UOp from) {
    UOp before = from - 1, word = down(before, 5), shift = bits_and(before, 31);
    std::array<UOp, 7> at;
    for (size_t i = 0; i < 7; ++i) at[i] = u32(kTwoOverPi[i]);
    auto chosen = [&](int bit) { return differs(bits_and(word, bit), 0); };
    UOp by4 = chosen(4), by2 = chosen(2), by1 = chosen(1);
    for (size_t i = 0; i < 4; ++i) at[i] = select(by4, u32(kTwoOverPi[i + 4]), at[i]);
    for (size_t i = 0; i < 5; ++i) at[i] = select(by2, at[i + 2], at[i]);
    for (size_t i = 0; i < 4; ++i) at[i] = select(by1, at[i + 1], at[i]);
    UOp back = u32(31) - shift;  // shift + 1 is 1 to 32
    std::array<UOp, 3> out;
    for (size_t i = 0; i < 3; ++i) out[i] = bits_or(up(up(at[i], shift), 1), down(at[i + 1], back));
    return out;
}

/// Payne and Hanek in integers, for all x: the mantissa times those bits of 2/pi that count modulo 4. 62 bits after the
/// point are left, of which no float32 loses more than 30 to a multiple of pi/2.
Reduced reduced_f32(UOp x) {
    UOp bits = bitcast(x, dtypes::uint32), size = bits_and(bits, 0x7fffffff), y = magnitude(x);
    UOp exponent = down(size, 23);  // less than 126: |x| < 1/2, where r is x
    UOp mantissa = bits_or(bits_and(bits, 0x7fffff), 0x800000);
    UOp small = less(y, 0x1.921fb6p-1);
    std::array<UOp, 3> w = window(select(small, u32(7), exponent - 120));
    auto wide = [](UOp a) { return cast(a, dtypes::uint64); };
    UOp turns = wide(mantissa) * wide(w[1]) + wide(mulhi(mantissa, w[2])) + up(wide(mantissa * w[0]), 32);
    // 2 bits before the point: to the nearest whole number.
    UOp n = down(high_word(turns) + u32(1 << 29), 30);
    UOp fraction = cast(turns - up(wide(n), 62), dtypes::int64);
    // Its upper 24 bits and 32 after them, exact but for the last ones.
    UOp upper = times(cast(cast(down(fraction, 38), dtypes::int32), dtypes::float32), 0x1p-24);
    UOp lower = times(cast(low_word(down(fraction, 6)), dtypes::float32), 0x1p-56);
    UOp f = upper + lower, f_low = lower - (f - upper), r = times(f, 0x1.921fb6p+0);
    UOp low = fma(f, 0x1.921fb6p+0, minus(r)) + fma(f, -0x1.777a5cp-25, times(f_low, 0x1.921fb6p+0));
    return {select(small, u32(0), n), select(small, y, r), select(small, 0, low)};
}

/// Cody and Waite, for |x| up to kShort. pi/2 is in three parts. n times the first leaves no more bits than a float
/// has, and so does n times the second. r + low is off by 2^-34 of itself at most, by trial of all floats.
constexpr double kShort = 128;
Reduced reduced_short(UOp x) {
    UOp y = magnitude(x), n = rint(times(y, 0x1.45f306p-1)), first = fma(n, -0x1.921fb6p+0, y);
    UOp second = times(n, -0x1.777p-25), r = first - second, back = r - first;
    UOp lost = (first - (r - back)) - (second + back);
    return {cast(cast(n, dtypes::int32), dtypes::uint32), r, fma(n, 0x1.4b9ee6p-38, lost), true};
}

/// Payne and Hanek in sums of doubles, for all x. The machine gives 53 bits of 2/pi a segment, the bits that count
/// modulo 4 with the first.
Reduced reduced_f64(UOp x) {
    UOp given = magnitude(x), huge = negation(less(given, 0x1p945)), y = select(huge, times(given, 0x1p-128), given);
    auto part = [&](int segment) { return trig_preop(given, segment); };
    Pair a = product(y, part(0)), b = product(y, part(1)), c = product(y, part(2));
    c.low = fma(y, part(3), c.low);
    UOp quarter = times(a.high, 0.25), first = times(quarter - floor(quarter), 4);
    Pair one = any_sum(a.low, b.high), two = any_sum(first, one.high);
    UOp n = rint(two.high);
    Pair three = any_sum(two.low, one.low), four = any_sum(b.low, c.high), five = any_sum(three.high, four.high);
    UOp tail = five.low + (three.low + four.low + c.low);
    Pair six = any_sum(two.high - n, five.high), f = sum(six.high, six.low + tail);
    constexpr double unit = 0x1.921fb54442d18p+0, unit_low = 0x1.1a62633145c07p-54;
    UOp r = times(f.high, unit), low = fma(f.high, unit, minus(r)) + fma(f.high, unit_low, times(f.low, unit));
    UOp small = less(given, 0x1.921fb54442d18p-1), quadrant = cast(cast(n, dtypes::int32), dtypes::uint32);
    return {select(small, u32(0), quadrant), select(small, given, r), select(small, 0, low)};
}

/// The top bit of the word turns the sign.
UOp flipped(UOp value, UOp sign_bits) {
    UOp mask = bits_and(sign_bits, int64_t{1} << 31);
    if (value.dtype() == dtypes::float32) return bitcast(bits_xor(bitcast(value, dtypes::uint32), mask), value.dtype());
    return bitcast(bits_xor(bitcast(value, dtypes::uint64), from_words(mask, u32(0))), value.dtype());
}
UOp sign_word(UOp x) {
    return x.dtype() == dtypes::float32 ? bitcast(x, dtypes::uint32) : high_word(bitcast(x, dtypes::uint64));
}

struct SineCosine {
    UOp sine, cosine;
};
SineCosine series(const Reduced& a) {
    const bool wide = a.r.dtype() == dtypes::float64;
    UOp r = a.r, z = r * r, half = times(z, 0.5), most = like(z, 1) - half;
    UOp of_sine = wide ? polynomial(z, polynomials::sin_f64) : polynomial(z, polynomials::sin_f32);
    UOp of_cosine = wide ? polynomial(z, polynomials::cos_f64) : polynomial(z, polynomials::cos_f32);
    UOp rest = fma(minus(r), a.low, (like(z, 1) - most) - half);
    return {r + fma(r * z, of_sine, fma(minus(half), a.low, a.low)), most + fma(z * z, of_cosine, rest)};
}

Reduced reduced(UOp x) {
    if (x.dtype() == dtypes::float64) return reduced_f64(x);
    return is_at_most(x, kShort) ? reduced_short(x) : reduced_f32(x);
}
UOp nan_unless_finite(UOp x, const Reduced& a, UOp value) {
    return a.is_finite ? value : select(negation(less(magnitude(x), kInfinity)), kNan, value);
}

}  // namespace

UOp sine(UOp u, const Target&) {
    UOp x = u.src(0);
    Reduced a = reduced(x);
    SineCosine s = series(a);
    UOp odd = differs(bits_and(a.quadrant, 1), 0), value = select(odd, s.cosine, s.sine);
    value = flipped(value, bits_xor(up(a.quadrant, 30), sign_word(x)));
    return nan_unless_finite(x, a, value);
}

UOp cosine(UOp u, const Target&) {
    UOp x = u.src(0);
    Reduced a = reduced(x);
    SineCosine s = series(a);
    UOp odd = differs(bits_and(a.quadrant, 1), 0), value = select(odd, s.sine, s.cosine);
    value = flipped(value, up(a.quadrant + 1, 30));
    return nan_unless_finite(x, a, value);
}

}  // namespace strata::codegen
