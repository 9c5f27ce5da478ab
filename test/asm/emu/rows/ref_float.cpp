#include <cfenv>
#include <cstring>

#include "valu_model.h"

// Single and double precision. The caller sets the host's rounding direction to the one MODE asks for.
namespace strata::emu::rows {
namespace {

#ifdef __SIZEOF_FLOAT128__
__extension__ using Quad = __float128;  // holds the product of two doubles
#else
using Quad = long double;
#endif
__extension__ using QuadBits = unsigned __int128;

/// a * b + c rounded to odd, whatever direction is set: a second rounding to fewer bits is as good as the only one.
Quad sum_to_odd(double a, double b, double c) {
    const int direction = std::fegetround();
    std::fesetround(FE_TONEAREST);
    const Quad product = static_cast<Quad>(a) * b, sum = product + c;
    const Quad part = sum - product, lost = (product - (sum - part)) + (c - part);
    std::fesetround(direction);
    if (lost == 0 || sum == 0) return sum;
    QuadBits bits;
    static_assert(sizeof bits == sizeof sum);
    std::memcpy(&bits, &sum, sizeof bits);
    bits = ((lost > 0) == (sum > 0) ? bits : bits - 1) | 1;
    Quad odd;
    std::memcpy(&odd, &bits, sizeof odd);
    return odd;
}
constexpr float kLeastNormal = 0x1p-126f;

float flush(float x) { return std::fabs(x) < kLeastNormal ? std::copysign(0.0f, x) : x; }
/// GFX9's two roundings without denormals.
float mad(float a, float b, float c) { return flush(flush(flush(a) * flush(b)) + flush(c)); }
/// A zero factor makes the product +0 whatever the other is.
bool zero_product(float a, float b) { return a == 0 || b == 0; }

/// The compiler's fract(): below one, where x - floor(x) would round to it. Of integers gfx1201 gives +0.
template <class T>
T fraction(T x, T below_one) {
    const T r = x - std::floor(x);
    return r > below_one ? below_one : r == 0 ? T(0) : r;
}
/// RDNA4's operations that know no denormals whatever MODE says (RDNA4 ISA 7.2.4).
Lane without_inputs(Lane x) {
    if (x.family == Family::rdna4)
        for (uint64_t& source : x.s) source = std::bit_cast<uint32_t>(flush(std::bit_cast<float>(uint32_t(source))));
    return x;
}
void without_output(Lane& x, float result) { x.f32(x.family == Family::rdna4 ? flush(result) : result); }
void fma_dx9(Lane& x, float addend) {
    const Lane y = without_inputs(x);
    const float c = x.family == Family::rdna4 ? flush(addend) : addend;
    without_output(x, zero_product(y.f(0), y.f(1)) ? c : std::fma(y.f(0), y.f(1), c));
}

int biased_exponent(float x) { return static_cast<int>(std::bit_cast<uint32_t>(x) >> 23 & 255); }
int biased_exponent(double x) { return static_cast<int>(std::bit_cast<uint64_t>(x) >> 52 & 2047); }

/// The numbers in the pseudocode of a division, for either precision.
struct DivisionLimits {
    int far;     ///< exponents this far apart: "N/D near MAX_FLOAT"
    int tiny;    ///< biased exponent of a numerator whose remainder may be denormal
    int scale;   ///< the power of two that v_div_scale multiplies by
    int lowest;  ///< the least exponent distance with a quotient
};
constexpr DivisionLimits kSingleDivision{96, 24, 64, -150}, kDoubleDivision{768, 53, 128, -1075};

/// V_DIV_SCALE, branch by branch in the document's order; `x` is S0, `d` S1, `n` S2. "exponent()" is the field of the
/// encoding. Two predicates cannot be meant:
/// - "1.0 / 64'F(S1) == DENORM.f64" never holds for a single, and LLVM's expansion would lose bits of a denormal
///   reciprocal. The exponent field decides, from 2 bias - 1 on.
/// - "S2 / S1 == DENORM" is the quotient that is being sought. gfx1100 and gfx1201, as AMD has published of comparing
///   its emulator with them, mirror the branch of large quotients: exponents `far` apart. They let these distances set
///   VCC with zeros too, and take a single's numerator as tiny up to exponent 24, not 23.
template <class T>
T div_scale(T x, T d, T n, const DivisionLimits& limits, bool& vcc) {
    const int bias = std::numeric_limits<T>::max_exponent - 1;
    const int exponent_d = biased_exponent(d), exponent_n = biased_exponent(n), distance = exponent_n - exponent_d;
    vcc = distance >= limits.far || distance <= -limits.far;
    if (n == 0 || d == 0) return std::numeric_limits<T>::quiet_NaN();
    if (distance >= limits.far) return x == d ? std::ldexp(x, limits.scale) : x;  // only the denominator
    if (exponent_d == 0) return std::ldexp(x, limits.scale);
    if (exponent_d >= 2 * bias - 1 && distance <= -limits.far) return x == d ? std::ldexp(x, -limits.scale) : x;
    if (exponent_d >= 2 * bias - 1) return std::ldexp(x, -limits.scale);
    if (distance <= -limits.far) return x == d ? x : std::ldexp(x, limits.scale);  // only the numerator
    if (exponent_n <= limits.tiny) return std::ldexp(x, limits.scale);
    return x;
}

/// V_DIV_FMAS. With VCC the document multiplies by 2^32 and 2^64, always upwards. v_div_scale multiplies by 2^64 and
/// 2^128, and of small quotients the numerator. LLVM's expansion would be off by 2^32 or more. Undone is what was done:
/// upwards where the sum S2 is 2 or more (the denominator was scaled), else downwards; rounded once.
template <class T>
T div_fmas(const Lane& x, T a, T b, T c, int scale) {
    if (!x.carry) return std::fma(a, b, c);
    const int bias = std::numeric_limits<T>::max_exponent - 1;
    const T power = std::ldexp(T(1), biased_exponent(c) > bias ? scale : -scale);
    if (!std::isfinite(a) || !std::isfinite(b) || !std::isfinite(c)) return std::fma(a, b, c);
    const Quad sum = sum_to_odd(a, b, c);
    return sum == 0 ? std::fma(a, b, c) : static_cast<T>(sum * power);  // the sign of zero follows the direction
}

/// An overflow or underflow of the direction that the caller has set: the sum of `large` values of that sign.
template <class T>
T beyond(bool negative) {
    volatile T large = negative ? -std::numeric_limits<T>::max() : std::numeric_limits<T>::max();
    return large + large;
}
template <class T>
T below(bool negative) {
    volatile T least = negative ? -std::numeric_limits<T>::denorm_min() : std::numeric_limits<T>::denorm_min();
    return least / 4;
}

/// V_DIV_FIXUP, line by line. Its branch for an overflow asks about S1, whose infinities and NaN are gone by then. S0
/// makes sense, the result of the iteration: infinite or, from infinities, NaN.
template <class T>
T div_fixup(T quotient, T d, T n, const DivisionLimits& limits) {
    const bool negative = std::signbit(d) != std::signbit(n);
    const T infinity = std::numeric_limits<T>::infinity();
    if (std::isnan(n)) return n;
    if (std::isnan(d)) return d;
    if (d == 0 && n == 0) return std::numeric_limits<T>::quiet_NaN();
    if (std::isinf(d) && std::isinf(n)) return std::numeric_limits<T>::quiet_NaN();
    if (d == 0 || std::isinf(n)) return negative ? -infinity : infinity;
    if (std::isinf(d) || n == 0) return negative ? -T(0) : T(0);
    if (biased_exponent(n) - biased_exponent(d) < limits.lowest) return below<T>(negative);
    if (!std::isfinite(quotient)) return beyond<T>(negative);
    return negative ? -std::fabs(quotient) : std::fabs(quotient);
}

struct Cube {
    float face, s, t, axis;
};
Cube cube(const Lane& lane) {
    const Lane v = without_inputs(lane);
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
    {"v_fma_dx9_zero_f32", [](Lane& x) { fma_dx9(x, x.f(2)); }},
    {"v_fmac_dx9_zero_f32", [](Lane& x) { fma_dx9(x, x.old_f()); }},
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
    {"v_div_scale_f32", [](Lane& x) { x.f32(div_scale(x.f(0), x.f(1), x.f(2), kSingleDivision, x.mask)); }},
    {"v_div_scale_f64", [](Lane& x) { x.f64(div_scale(x.g(0), x.g(1), x.g(2), kDoubleDivision, x.mask)); }},
    {"v_div_fixup_f32", [](Lane& x) { x.f32(div_fixup(x.f(0), x.f(1), x.f(2), kSingleDivision)); }},
    {"v_div_fixup_f64", [](Lane& x) { x.f64(div_fixup(x.g(0), x.g(1), x.g(2), kDoubleDivision)); }},
    {"v_rcp_f32 v_rcp_iflag_f32 v_s_rcp_f32",
     [](Lane& x) { x.f32(flush(static_cast<float>(1 / static_cast<Wide>(flush(x.f(0)))))); }},
    {"v_rsq_f32 v_s_rsq_f32",
     [](Lane& x) { x.f32(static_cast<float>(1 / std::sqrt(static_cast<Wide>(flush(x.f(0)))))); }},
    {"v_sqrt_f32 v_s_sqrt_f32",
     [](Lane& x) { x.f32(static_cast<float>(std::sqrt(static_cast<Wide>(flush(x.f(0)))))); }},
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
