// Sine and cosine: x = n pi/2 + r with |r| <= pi/4, then a series in r^2.
#include <array>
#include <limits>

#include "strata/codegen/decompose/functions_p.h"
#include "strata/codegen/decompose/polynomials_p.h"

namespace strata::codegen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The bits of 2/pi behind its point, after 32 zeros.
constexpr std::array<uint32_t, 8> kTwoOverPi{0,          0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                             0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};

/// |x| = n pi/2 + r + low: n modulo 4 as uint32.
struct Reduced {
    UOp quadrant, r, low;
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

/// Payne and Hanek in integers, for all x: the mantissa times those bits of 2/pi that count modulo 4. 62 bits behind the
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
    // Its upper 24 bits and 32 behind them, exact but for the last ones.
    UOp upper = times(cast(cast(down(fraction, 38), dtypes::int32), dtypes::float32), 0x1p-24);
    UOp lower = times(cast(low_word(down(fraction, 6)), dtypes::float32), 0x1p-56);
    UOp f = upper + lower, f_low = lower - (f - upper), r = times(f, 0x1.921fb6p+0);
    UOp low = fma(f, 0x1.921fb6p+0, minus(r)) + fma(f, -0x1.777a5cp-25, times(f_low, 0x1.921fb6p+0));
    return {select(small, u32(0), n), select(small, y, r), select(small, 0, low)};
}

UOp flipped(UOp value, UOp sign_bits) {  // the top bit of the word
    UOp mask = bits_and(sign_bits, int64_t{1} << 31);
    return bitcast(bits_xor(bitcast(value, dtypes::uint32), mask), dtypes::float32);
}

struct SineCosine {
    UOp sine, cosine;
};
SineCosine series_f32(const Reduced& a) {
    UOp r = a.r, z = r * r;
    UOp sine = r + fma(r * z, polynomial(z, polynomials::sin_f32), a.low);
    UOp half = times(z, 0.5), most = like(z, 1) - half;
    UOp rest = fma(minus(r), a.low, (like(z, 1) - most) - half);
    UOp cosine = most + fma(z * z, polynomial(z, polynomials::cos_f32), rest);
    return {sine, cosine};
}

UOp not_finite(UOp x) { return negation(less(magnitude(x), kInfinity)); }

}  // namespace

UOp single_sine(UOp u, const Target&) {
    UOp x = u.src(0);
    Reduced a = reduced_f32(x);
    SineCosine s = series_f32(a);
    UOp odd = differs(bits_and(a.quadrant, 1), 0), value = select(odd, s.cosine, s.sine);
    value = flipped(value, bits_xor(up(a.quadrant, 30), bitcast(x, dtypes::uint32)));
    return select(not_finite(x), std::numeric_limits<double>::quiet_NaN(), value);
}

UOp single_cosine(UOp u, const Target&) {
    UOp x = u.src(0);
    Reduced a = reduced_f32(x);
    SineCosine s = series_f32(a);
    UOp odd = differs(bits_and(a.quadrant, 1), 0), value = select(odd, s.sine, s.cosine);
    value = flipped(value, up(a.quadrant + 1, 30));
    return select(not_finite(x), std::numeric_limits<double>::quiet_NaN(), value);
}

}  // namespace strata::codegen
