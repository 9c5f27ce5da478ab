#include "valu_model.h"

// Half precision. Sums and products of halves are exact in long double, so that each result is rounded once.
namespace strata::emu::rows {
namespace {

Wide old(const Lane& x) { return reference::half_value(static_cast<uint32_t>(x.old) & 0xffff); }

uint32_t flush(uint32_t half) { return half & 0x7c00 ? half & 0xffff : half & 0x8000; }
/// GFX9's two roundings without denormals.
uint32_t mad(const Lane& x, uint32_t a, uint32_t b, uint32_t c) {
    auto value = [](uint32_t half) { return reference::half_value(flush(half)); };
    const uint32_t product = half_bits(x, value(a) * value(b));
    return flush(half_bits(x, value(product) + value(c)));
}

Wide fraction(Wide x) { return std::isfinite(x) ? std::min(x - std::floor(x), 0x1.ffcp-1L) + Wide(0) : NAN; }

uint32_t div_fixup(const Lane& x) {
    const Wide d = x.h(1), n = x.h(2);
    const uint32_t sign = (x.u16(1) ^ x.u16(2)) & 0x8000;
    if (std::isnan(n) || std::isnan(d) || (d == 0 && n == 0) || (std::isinf(d) && std::isinf(n))) return 0xfe00;
    if (d == 0 || std::isinf(n)) return sign | 0x7c00;
    if (std::isinf(d) || n == 0) return sign;
    return sign | (x.u16(0) & 0x7fff);
}

int exponent_of(Wide x) {
    int exponent = 0;
    if (std::isfinite(x)) std::frexp(x, &exponent);
    return exponent;
}
Wide significand(Wide x) {
    int exponent;
    return std::isfinite(x) ? std::frexp(x, &exponent) : x;
}

constexpr Operation kRows[] = {
    {"v_add_f16", [](Lane& x) { x.f16(x.h(0) + x.h(1)); }},
    {"v_sub_f16", [](Lane& x) { x.f16(x.h(0) - x.h(1)); }},
    {"v_subrev_f16", [](Lane& x) { x.f16(x.h(1) - x.h(0)); }},
    {"v_mul_f16", [](Lane& x) { x.f16(x.h(0) * x.h(1)); }},
    {"v_fma_f16 v_fma_legacy_f16 v_fmaak_f16 v_fmamk_f16", [](Lane& x) { x.f16(x.h(0) * x.h(1) + x.h(2)); }},
    {"v_fmac_f16", [](Lane& x) { x.f16(x.h(0) * x.h(1) + old(x)); }},
    {"v_mad_f16 v_mad_legacy_f16 v_madak_f16 v_madmk_f16",
     [](Lane& x) { x.raw_f16(mad(x, x.u16(0), x.u16(1), x.u16(2))); }},
    {"v_mac_f16", [](Lane& x) { x.raw_f16(mad(x, x.u16(0), x.u16(1), static_cast<uint32_t>(x.old))); }},
    {"v_trunc_f16", [](Lane& x) { x.f16(std::trunc(x.h(0))); }},
    {"v_ceil_f16", [](Lane& x) { x.f16(std::ceil(x.h(0))); }},
    {"v_floor_f16", [](Lane& x) { x.f16(std::floor(x.h(0))); }},
    {"v_rndne_f16", [](Lane& x) { x.f16(round_to(x.h(0), 64, 0, INFINITY, 0)); }},
    {"v_fract_f16", [](Lane& x) { x.f16(fraction(x.h(0))); }},
    {"v_frexp_mant_f16", [](Lane& x) { x.f16(significand(x.h(0))); }},
    {"v_frexp_exp_i16_f16", [](Lane& x) { x.b16(static_cast<uint32_t>(exponent_of(x.h(0)))); }},
    {"v_ldexp_f16", [](Lane& x) { x.f16(std::ldexp(x.h(0), x.i16(1))); }},
    {"v_div_fixup_f16 v_div_fixup_legacy_f16", [](Lane& x) { x.raw_f16(div_fixup(x)); }},
    {"v_rcp_f16 v_s_rcp_f16", [](Lane& x) { x.f16(1 / x.h(0)); }},
    {"v_rsq_f16 v_s_rsq_f16", [](Lane& x) { x.f16(1 / std::sqrt(x.h(0))); }},
    {"v_sqrt_f16 v_s_sqrt_f16", [](Lane& x) { x.f16(std::sqrt(x.h(0))); }},
    {"v_exp_f16 v_s_exp_f16", [](Lane& x) { x.f16(std::exp2(x.h(0))); }},
    {"v_log_f16 v_s_log_f16", [](Lane& x) { x.f16(std::log2(x.h(0))); }},
    {"v_sin_f16", [](Lane& x) { x.f16(sine(x.h(0))); }},
    {"v_cos_f16", [](Lane& x) { x.f16(cosine(x.h(0))); }},
};

}  // namespace

std::span<const Operation> half_operations() { return kRows; }

}  // namespace strata::emu::rows
