#include <cfenv>

#include "../vector/dot_reference.h"
#include "valu_model.h"

// 8-bit floats: gfx942's without infinities and negative zero (FNUZ), RDNA4's of the OCP standard.
namespace strata::emu::rows {
namespace {

struct Format {
    int mantissa, bias;
    bool finite_only;  ///< FNUZ: 0x80 is the one NaN, every other code a number
    bool infinities;   ///< the largest exponent is infinity and NaN, as IEEE has it
    Wide largest;
};
Format fp8(const Lane& x) { return x.cdna() ? Format{3, 8, true, false, 240} : Format{3, 7, false, false, 448}; }
Format bf8(const Lane& x) { return x.cdna() ? Format{2, 16, true, false, 57344} : Format{2, 15, false, true, 57344}; }

Wide decoded(Format f, uint32_t code) {
    const int exponent = static_cast<int>((code & 0x7f) >> f.mantissa), all = 127 >> f.mantissa;
    const uint32_t fraction = code & ((1u << f.mantissa) - 1);
    const Wide sign = code & 0x80 ? -1 : 1;
    if (f.finite_only && (code & 0xff) == 0x80) return NAN;
    if (f.infinities && exponent == all) return fraction ? Wide(NAN) : sign * std::numeric_limits<Wide>::infinity();
    if (!f.finite_only && !f.infinities && (code & 0x7f) == 0x7f) return NAN;
    if (exponent == 0) return sign * std::ldexp(Wide(fraction), 1 - f.bias - f.mantissa);
    return sign * std::ldexp(Wide(fraction) + (1u << f.mantissa), exponent - f.bias - f.mantissa);
}

/// gfx1201 gives no positive NaN.
uint32_t nan_of(Format f) { return f.finite_only ? 0x80 : 0xff; }

/// The code of an already rounded number.
uint32_t laid_out(Format f, Wide x) {
    const bool negative = std::signbit(x);
    const Wide size = std::fabs(x);
    if (size == 0) return negative && !f.finite_only ? 0x80 : 0;
    for (uint32_t code = 1; code < 0x80; ++code)
        if (decoded(f, code) == size) return code | (negative ? 0x80 : 0);
    return nan_of(f);
}
/// Too large a value is infinite where the format has infinities, else NaN.
uint32_t too_large(Format f, bool negative) {
    return f.infinities ? (negative ? 0xfcu : 0x7cu) : (negative || f.finite_only ? nan_of(f) : 0x7f);
}

uint32_t encoded(Format f, float x) {
    if (std::isnan(x)) return nan_of(f);
    if (std::isinf(x)) return too_large(f, x < 0);
    const Wide r = round_to(x, f.mantissa + 1, 1 - f.bias - f.mantissa, f.largest, 0);
    return std::isinf(r) ? too_large(f, x < 0) : laid_out(f, r);
}
/// Random bits are added below the last place, the sum is cut off.
uint32_t stochastic(Format f, float x, uint32_t random) {
    if (std::isnan(x)) return nan_of(f);
    if (std::isinf(x)) return too_large(f, x < 0);
    if (x == 0) return laid_out(f, x);
    int exponent;
    std::frexp(x, &exponent);
    const int unit = std::max(exponent - (f.mantissa + 1), 1 - f.bias - f.mantissa);
    const int bits = 23 - f.mantissa;
    const Wide extra = std::ldexp(Wide(random >> (32 - bits)), -bits);
    const Wide cut = std::ldexp(std::floor(std::ldexp(std::fabs(Wide(x)), -unit) + extra), unit);
    return cut > f.largest ? too_large(f, x < 0) : laid_out(f, std::copysign(cut, x));
}

/// One byte of the source: RDNA4's op_sel names it with its bits reversed.
uint32_t chosen_byte(const Lane& x) {
    const int n = (x.op_sel & 1) << 1 | (x.op_sel >> 1 & 1);
    return x.u(0) >> (8 * n) & 255;
}
void pair(Lane& x, Format f) {
    const uint32_t word = x.op_sel & 1 ? x.high(0) : x.u16(0);
    auto bits = [&](uint32_t code) {
        return uint64_t{std::bit_cast<uint32_t>(static_cast<float>(decoded(f, code & 255)))};
    };
    x.set(Bits::pk_f32, bits(word) | bits(word >> 8) << 32);
}
void pack(Lane& x, Format f) {
    const uint32_t word = encoded(f, x.f(0)) | encoded(f, x.f(1)) << 8, old = static_cast<uint32_t>(x.old);
    x.b32(x.op_sel & 8 ? (old & 0xffff) | word << 16 : (old & 0xffff0000) | word);
}
void pack_stochastic(Lane& x, Format f) {
    const int shift = 8 * (x.op_sel >> 2 & 3);
    const uint32_t old = static_cast<uint32_t>(x.old) & ~(255u << shift);
    x.b32(old | stochastic(f, x.f(0), x.u(1)) << shift);
}
void dot(Lane& x, const reference::NumberFormat& a, const reference::NumberFormat& b) {
    const int direction = std::fegetround();
    std::fesetround(FE_TONEAREST);  // whatever MODE says
    x.raw_f32(reference::dot_single(true, a, b, x.u(0), x.u(1), x.u(2)));
    std::fesetround(direction);
}

constexpr Operation kRows[] = {
    {"v_cvt_f32_fp8", [](Lane& x) { x.f32(static_cast<float>(decoded(fp8(x), chosen_byte(x)))); }},
    {"v_cvt_f32_bf8", [](Lane& x) { x.f32(static_cast<float>(decoded(bf8(x), chosen_byte(x)))); }},
    {"v_cvt_pk_f32_fp8", [](Lane& x) { pair(x, fp8(x)); }},
    {"v_cvt_pk_f32_bf8", [](Lane& x) { pair(x, bf8(x)); }},
    {"v_cvt_pk_fp8_f32", [](Lane& x) { pack(x, fp8(x)); }},
    {"v_cvt_pk_bf8_f32", [](Lane& x) { pack(x, bf8(x)); }},
    {"v_cvt_sr_fp8_f32", [](Lane& x) { pack_stochastic(x, fp8(x)); }},
    {"v_cvt_sr_bf8_f32", [](Lane& x) { pack_stochastic(x, bf8(x)); }},
    {"v_dot4_f32_fp8_fp8", [](Lane& x) { dot(x, reference::kFp8, reference::kFp8); }},
    {"v_dot4_f32_fp8_bf8", [](Lane& x) { dot(x, reference::kFp8, reference::kBf8); }},
    {"v_dot4_f32_bf8_fp8", [](Lane& x) { dot(x, reference::kBf8, reference::kFp8); }},
    {"v_dot4_f32_bf8_bf8", [](Lane& x) { dot(x, reference::kBf8, reference::kBf8); }},
};

}  // namespace

std::span<const Operation> byte_float_operations() { return kRows; }

}  // namespace strata::emu::rows
