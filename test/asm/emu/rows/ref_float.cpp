#include "valu_model.h"

// Single and double precision. The caller sets the host's rounding direction to the one MODE asks for.
namespace strata::emu::rows {
namespace {

#ifdef __SIZEOF_FLOAT128__
__extension__ using Quad = __float128;  // holds the product of two doubles
#else
using Quad = long double;
#endif
constexpr float kLeastNormal = 0x1p-126f;

float flush(float x) { return std::fabs(x) < kLeastNormal ? std::copysign(0.0f, x) : x; }
/// GFX9's two roundings without denormals.
float mad(float a, float b, float c) { return flush(flush(flush(a) * flush(b)) + flush(c)); }
/// A zero factor makes the product +0 whatever the other is.
bool zero_product(float a, float b) { return a == 0 || b == 0; }

/// The compiler's fract(): below one, where x - floor(x) would round to it.
template <class T>
T fraction(T x, T below_one) {
    const T r = x - std::floor(x);
    return r > below_one ? below_one : r;
}

int biased_exponent(float x) { return static_cast<int>(std::bit_cast<uint32_t>(x) >> 23 & 255); }
int biased_exponent(double x) { return static_cast<int>(std::bit_cast<uint64_t>(x) >> 52 & 2047); }

/// V_DIV_SCALE of either precision: `huge` is the exponent distance that endangers the quotient, `tiny` the numerator's
/// exponent that endangers the remainder, `scale` the power of two. The document's "denormal" is judged by exponents,
/// of the operand's own format (its "1.0 / 64'F(S1) == DENORM.f64" can never hold); where reciprocal and quotient both
/// are denormal its scale up would overflow, so that down is meant; and a zero operand sets the flag.
template <class T>
T div_scale(T x, T d, T n, int huge, int tiny, int scale, bool& flag) {
    const int bias = std::numeric_limits<T>::max_exponent - 1, ratio = biased_exponent(n) - biased_exponent(d);
    const bool inverse = biased_exponent(d) - bias >= bias - 1, quotient = ratio <= 1 - bias;
    const bool is_d = std::memcmp(&x, &d, sizeof x) == 0, is_n = std::memcmp(&x, &n, sizeof x) == 0;
    flag = false;
    if (n == 0 || d == 0) return flag = true, std::numeric_limits<T>::quiet_NaN();
    if (ratio >= huge) return flag = true, is_d ? std::ldexp(x, scale) : x;
    if (biased_exponent(d) == 0) return std::ldexp(x, scale);
    if (inverse && quotient) return flag = true, is_d ? std::ldexp(x, -scale) : x;
    if (inverse) return std::ldexp(x, -scale);
    if (quotient) return flag = true, is_n ? std::ldexp(x, scale) : x;
    return biased_exponent(n) <= tiny ? std::ldexp(x, scale) : x;
}

/// V_DIV_FMAS. With VCC the document multiplies by 2^32 and 2^64, which no division could use: what V_DIV_SCALE has
/// scaled by 2^64 or 2^128 is undone, upwards for a large quotient and downwards for a small one, with one rounding.
template <class T>
T div_fmas(const Lane& x, T a, T b, T c, int scale) {
    const T plain = std::fma(a, b, c);
    if (!x.carry || !std::isfinite(plain)) return plain;
    const int bias = std::numeric_limits<T>::max_exponent - 1;
    const T power = std::ldexp(T(1), biased_exponent(c) > bias ? scale : -scale);
    const T scaled = plain * power;  // exact between normal numbers
    if (std::isnormal(plain) && std::isnormal(scaled)) return scaled;
    return static_cast<T>((static_cast<Quad>(a) * b + c) * power);
}

/// V_DIV_FIXUP. Its branch for an overflow asks about S1, whose infinities and NaN are gone by then; S0 makes sense:
/// the iteration has overflowed.
template <class T>
T div_fixup(T quotient, T d, T n, int underflow) {
    const T sign = std::signbit(d) != std::signbit(n) ? T(-1) : T(1), infinity = std::numeric_limits<T>::infinity();
    if (std::isnan(n) || std::isnan(d)) return std::numeric_limits<T>::quiet_NaN();
    if ((d == 0 && n == 0) || (std::isinf(d) && std::isinf(n))) return std::numeric_limits<T>::quiet_NaN();
    if (d == 0 || std::isinf(n)) return sign * infinity;
    if (std::isinf(d) || n == 0) return sign * 0;
    if (biased_exponent(n) - biased_exponent(d) < underflow) return sign * 0;
    return std::isfinite(quotient) ? std::copysign(quotient, sign) : sign * infinity;
}

struct Cube {
    float face, s, t, axis;
};
Cube cube(const Lane& v) {
    const float x = v.f(0), y = v.f(1), z = v.f(2);
    const float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
    if (az >= ax && az >= ay) return {z < 0 ? 5.f : 4.f, z < 0 ? -x : x, -y, z * 2};
    if (ay >= ax) return {y < 0 ? 3.f : 2.f, x, y < 0 ? -z : z, y * 2};
    return {x < 0 ? 1.f : 0.f, x < 0 ? z : -z, -y, x * 2};
}

float mullit(const Lane& x) {
    const float most = std::numeric_limits<float>::max(), b = x.f(1), c = x.f(2);
    if (b == -most || b == -INFINITY || std::isnan(b) || c <= 0 || std::isnan(c)) return -most;
    return x.f(0) * b;
}

/// 2/pi: the first 1216 bits after the point.
constexpr uint64_t kTwoOverPi[] = {0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
                                   0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
                                   0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
                                   0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
                                   0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};
/// Bit n (1200 is the first after the point) of the 1201 that the document keeps.
uint64_t bit_of_two_over_pi(int n) {
    const int from_top = 1200 - n;
    return n < 0 || from_top < 0 ? 0 : kTwoOverPi[from_top / 64] >> (63 - from_top % 64) & 1;
}
double trig_preop(const Lane& x) {
    const int exponent = biased_exponent(x.g(0));
    int shift = static_cast<int>(x.u(1) & 31) * 53;
    if (exponent > 1077) shift += exponent - 1077;
    uint64_t segment = 0;
    for (int n = 0; n < 53; ++n) segment = segment << 1 | bit_of_two_over_pi(1200 - shift - n);
    int scale = -53 - shift;
    if (exponent >= 1968) scale += 128;
    return std::ldexp(static_cast<double>(segment), scale);
}

constexpr Wide kPi = 3.14159265358979323846264338327950288L;
/// Of a turn, exactly zero where the sine of a real number is.
Wide sine(Wide turns) {
    const Wide r = turns - std::nearbyint(turns);
    return std::fabs(r) == 0.5L ? 0 : r == 0 ? std::copysign(r, turns) : std::sin(2 * kPi * r);
}
Wide cosine(Wide turns) {
    const Wide r = std::fabs(turns - std::nearbyint(turns));
    return r == 0.25L ? 0 : std::cos(2 * kPi * r);
}

float exp2_of(float x) { return flush(static_cast<float>(std::exp2(static_cast<Wide>(flush(x))))); }
float log2_of(float x) { return static_cast<float>(std::log2(static_cast<Wide>(flush(x)))); }

template <class T>
T significand(T x) {
    int exponent;
    return std::isfinite(x) ? std::frexp(x, &exponent) : x;
}
template <class T>
int exponent_of(T x) {
    int exponent = 0;
    if (std::isfinite(x)) std::frexp(x, &exponent);
    return exponent;
}

constexpr Operation kRows[] = {
    {"v_add_f32", [](Lane& x) { x.f32(x.f(0) + x.f(1)); }},
    {"v_sub_f32", [](Lane& x) { x.f32(x.f(0) - x.f(1)); }},
    {"v_subrev_f32", [](Lane& x) { x.f32(x.f(1) - x.f(0)); }},
    {"v_mul_f32", [](Lane& x) { x.f32(x.f(0) * x.f(1)); }},
    {"v_fma_f32 v_fmaak_f32 v_fmamk_f32", [](Lane& x) { x.f32(std::fma(x.f(0), x.f(1), x.f(2))); }},
    {"v_fmac_f32", [](Lane& x) { x.f32(std::fma(x.f(0), x.f(1), x.old_f())); }},
    {"v_mad_f32 v_madak_f32 v_madmk_f32", [](Lane& x) { x.f32(mad(x.f(0), x.f(1), x.f(2))); }},
    {"v_mac_f32", [](Lane& x) { x.f32(mad(x.f(0), x.f(1), x.old_f())); }},
    {"v_mad_legacy_f32",
     [](Lane& x) {
         const bool zero = zero_product(flush(x.f(0)), flush(x.f(1)));
         x.f32(zero ? flush(x.f(2)) : mad(x.f(0), x.f(1), x.f(2)));
     }},
    {"v_mul_dx9_zero_f32 v_mul_legacy_f32",
     [](Lane& x) { x.f32(zero_product(x.f(0), x.f(1)) ? 0.0f : x.f(0) * x.f(1)); }},
    {"v_fma_dx9_zero_f32",
     [](Lane& x) { x.f32(zero_product(x.f(0), x.f(1)) ? x.f(2) : std::fma(x.f(0), x.f(1), x.f(2))); }},
    {"v_fmac_dx9_zero_f32",
     [](Lane& x) { x.f32(zero_product(x.f(0), x.f(1)) ? x.old_f() : std::fma(x.f(0), x.f(1), x.old_f())); }},
    {"v_mullit_f32", [](Lane& x) { x.f32(mullit(x)); }},
    {"v_cubeid_f32", [](Lane& x) { x.f32(cube(x).face); }},
    {"v_cubesc_f32", [](Lane& x) { x.f32(cube(x).s); }},
    {"v_cubetc_f32", [](Lane& x) { x.f32(cube(x).t); }},
    {"v_cubema_f32", [](Lane& x) { x.f32(cube(x).axis); }},
    {"v_trunc_f32", [](Lane& x) { x.f32(std::trunc(x.f(0))); }},
    {"v_ceil_f32", [](Lane& x) { x.f32(std::ceil(x.f(0))); }},
    {"v_floor_f32", [](Lane& x) { x.f32(std::floor(x.f(0))); }},
    {"v_rndne_f32", [](Lane& x) { x.f32(static_cast<float>(round_to(x.f(0), 64, 0, INFINITY, 0))); }},
    {"v_fract_f32", [](Lane& x) { x.f32(fraction(x.f(0), 0x1.fffffep-1f)); }},
    {"v_frexp_mant_f32", [](Lane& x) { x.f32(significand(x.f(0))); }},
    {"v_frexp_exp_i32_f32", [](Lane& x) { x.b32(static_cast<uint32_t>(exponent_of(x.f(0)))); }},
    {"v_ldexp_f32",
     [](Lane& x) { x.f32(static_cast<float>(std::ldexp(static_cast<Wide>(x.f(0)), std::clamp(x.i(1), -999, 999)))); }},
    {"v_div_scale_f32", [](Lane& x) { x.f32(div_scale(x.f(0), x.f(1), x.f(2), 96, 23, 64, x.mask)); }},
    {"v_div_scale_f64", [](Lane& x) { x.f64(div_scale(x.g(0), x.g(1), x.g(2), 768, 53, 128, x.mask)); }},
    {"v_div_fixup_f32", [](Lane& x) { x.f32(div_fixup(x.f(0), x.f(1), x.f(2), -150)); }},
    {"v_div_fixup_f64", [](Lane& x) { x.f64(div_fixup(x.g(0), x.g(1), x.g(2), -1075)); }},
    {"v_rcp_f32 v_rcp_iflag_f32 v_s_rcp_f32",
     [](Lane& x) { x.f32(static_cast<float>(1 / static_cast<Wide>(x.f(0)))); }},
    {"v_rsq_f32 v_s_rsq_f32", [](Lane& x) { x.f32(static_cast<float>(1 / std::sqrt(static_cast<Wide>(x.f(0))))); }},
    {"v_sqrt_f32 v_s_sqrt_f32", [](Lane& x) { x.f32(static_cast<float>(std::sqrt(static_cast<Wide>(x.f(0))))); }},
    {"v_exp_f32 v_exp_legacy_f32 v_s_exp_f32", [](Lane& x) { x.f32(exp2_of(x.f(0))); }},
    {"v_log_f32 v_log_legacy_f32 v_s_log_f32", [](Lane& x) { x.f32(log2_of(x.f(0))); }},
    {"v_sin_f32", [](Lane& x) { x.f32(static_cast<float>(sine(x.f(0)))); }},
    {"v_cos_f32", [](Lane& x) { x.f32(static_cast<float>(cosine(x.f(0)))); }},

    {"v_add_f64", [](Lane& x) { x.f64(x.g(0) + x.g(1)); }},
    {"v_mul_f64", [](Lane& x) { x.f64(x.g(0) * x.g(1)); }},
    {"v_fma_f64", [](Lane& x) { x.f64(std::fma(x.g(0), x.g(1), x.g(2))); }},
    {"v_fmac_f64", [](Lane& x) { x.f64(std::fma(x.g(0), x.g(1), std::bit_cast<double>(x.old))); }},
    {"v_trunc_f64", [](Lane& x) { x.f64(std::trunc(x.g(0))); }},
    {"v_ceil_f64", [](Lane& x) { x.f64(std::ceil(x.g(0))); }},
    {"v_floor_f64", [](Lane& x) { x.f64(std::floor(x.g(0))); }},
    {"v_rndne_f64", [](Lane& x) { x.f64(static_cast<double>(round_to(x.g(0), 64, 0, INFINITY, 0))); }},
    {"v_fract_f64", [](Lane& x) { x.f64(fraction(x.g(0), 0x1.fffffffffffffp-1)); }},
    {"v_frexp_mant_f64", [](Lane& x) { x.f64(significand(x.g(0))); }},
    {"v_frexp_exp_i32_f64", [](Lane& x) { x.b32(static_cast<uint32_t>(exponent_of(x.g(0)))); }},
    {"v_ldexp_f64",
     [](Lane& x) {
         x.f64(static_cast<double>(std::ldexp(static_cast<Wide>(x.g(0)), std::clamp(x.i(1), -9999, 9999))));
     }},
    {"v_rcp_f64", [](Lane& x) { x.f64(static_cast<double>(1 / static_cast<Wide>(x.g(0)))); }},
    {"v_rsq_f64", [](Lane& x) { x.f64(static_cast<double>(1 / std::sqrt(static_cast<Wide>(x.g(0))))); }},
    {"v_sqrt_f64", [](Lane& x) { x.f64(static_cast<double>(std::sqrt(static_cast<Wide>(x.g(0))))); }},
    {"v_trig_preop_f64", [](Lane& x) { x.f64(trig_preop(x)); }},
    {"v_div_fmas_f32", [](Lane& x) { x.f32(div_fmas(x, x.f(0), x.f(1), x.f(2), 64)); }},
    {"v_div_fmas_f64", [](Lane& x) { x.f64(div_fmas(x, x.g(0), x.g(1), x.g(2), 128)); }},
};

}  // namespace

std::span<const Operation> float_operations() { return kRows; }

}  // namespace strata::emu::rows
