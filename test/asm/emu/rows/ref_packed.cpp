#include <cfenv>

#include "valu_model.h"

// Two operations in one register (VOP3P), and V_FMA_MIX.
namespace strata::emu::rows {
namespace {

template <class F>
void halves(Lane& x, F&& of) {
    const Wide low = of(x.h(0), x.h(1), x.h(2)), top = of(x.hh(0), x.hh(1), x.hh(2));
    x.pk_f16(half_bits(x, low), half_bits(x, top));
}
/// Integers that clamp saturates to the 16 bits of their kind.
template <class F>
void unsigned_pair(Lane& x, F&& of) {
    auto fit = [&](int64_t v) { return static_cast<uint32_t>(x.clamp ? std::clamp<int64_t>(v, 0, 0xffff) : v); };
    x.pk16(fit(of(x.u16(0), x.u16(1), x.u16(2))), fit(of(x.high(0), x.high(1), x.high(2))));
}
template <class F>
void signed_pair(Lane& x, F&& of) {
    auto fit = [&](int64_t v) { return static_cast<uint32_t>(x.clamp ? std::clamp<int64_t>(v, -0x8000, 0x7fff) : v); };
    x.pk16(fit(of(x.i16(0), x.i16(1), x.i16(2))), fit(of(x.ihigh(0), x.ihigh(1), x.ihigh(2))));
}
float part(const Lane& x, int n, int top) { return std::bit_cast<float>(static_cast<uint32_t>(x.s[n] >> (32 * top))); }
template <class F>
void singles(Lane& x, F&& of) {
    auto bits = [&](int top) {
        return uint64_t{std::bit_cast<uint32_t>(of(part(x, 0, top), part(x, 1, top), part(x, 2, top)))};
    };
    x.set(Bits::pk_f32, bits(0) | bits(1) << 32);
}

/// A source of V_FMA_MIX as a single: op_sel_hi makes it a half, op_sel the upper one; neg_hi is its absolute value.
float mixed(const Lane& x, int n) {
    float value = x.f(n);
    if (x.op_sel_hi >> n & 1) value = static_cast<float>(x.op_sel >> n & 1 ? x.hh(n) : x.h(n));
    if (x.neg_hi >> n & 1) value = std::fabs(value);
    return x.neg >> n & 1 ? -value : value;
}
float mix(const Lane& x) { return std::fma(mixed(x, 0), mixed(x, 1), mixed(x, 2)); }

// Interpolation: the sources are those of the quad that the documents name.
float single(const Lane& x, int n) { return static_cast<float>(x.h(n)); }
void toward_zero(Lane& x, void (*run)(Lane&)) {
    const int direction = std::fegetround();
    x.mode |= 15;
    std::fesetround(FE_TOWARDZERO);
    run(x);
    std::fesetround(direction);
}
void first_pass(Lane& x) { x.f32(std::fma(single(x, 0), x.f(1), single(x, 2))); }
void second_pass(Lane& x) { x.f16(reference::fused(x.h(0), x.f(1), x.f(2))); }

using I = int64_t;

constexpr Operation kRows[] = {
    {"v_pk_add_f16", [](Lane& x) { halves(x, [](Wide a, Wide b, Wide) { return a + b; }); }},
    {"v_pk_mul_f16", [](Lane& x) { halves(x, [](Wide a, Wide b, Wide) { return a * b; }); }},
    {"v_pk_fma_f16", [](Lane& x) { halves(x, [](Wide a, Wide b, Wide c) { return a * b + c; }); }},
    {"v_pk_fmac_f16",
     [](Lane& x) {
         x.s[2] = x.old;
         halves(x, [](Wide a, Wide b, Wide c) { return a * b + c; });
     }},
    {"v_pk_add_u16", [](Lane& x) { unsigned_pair(x, [](I a, I b, I) { return a + b; }); }},
    {"v_pk_sub_u16", [](Lane& x) { unsigned_pair(x, [](I a, I b, I) { return a - b; }); }},
    {"v_pk_mul_lo_u16", [](Lane& x) { x.pk16(x.u16(0) * x.u16(1), x.high(0) * x.high(1)); }},
    {"v_pk_mad_u16", [](Lane& x) { unsigned_pair(x, [](I a, I b, I c) { return a * b + c; }); }},
    {"v_pk_min_u16", [](Lane& x) { unsigned_pair(x, [](I a, I b, I) { return std::min(a, b); }); }},
    {"v_pk_max_u16", [](Lane& x) { unsigned_pair(x, [](I a, I b, I) { return std::max(a, b); }); }},
    {"v_pk_add_i16", [](Lane& x) { signed_pair(x, [](I a, I b, I) { return a + b; }); }},
    {"v_pk_sub_i16", [](Lane& x) { signed_pair(x, [](I a, I b, I) { return a - b; }); }},
    {"v_pk_mad_i16", [](Lane& x) { signed_pair(x, [](I a, I b, I c) { return a * b + c; }); }},
    {"v_pk_min_i16", [](Lane& x) { signed_pair(x, [](I a, I b, I) { return std::min(a, b); }); }},
    {"v_pk_max_i16", [](Lane& x) { signed_pair(x, [](I a, I b, I) { return std::max(a, b); }); }},
    {"v_pk_lshlrev_b16", [](Lane& x) { x.pk16(x.u16(1) << (x.u16(0) & 15), x.high(1) << (x.high(0) & 15)); }},
    {"v_pk_lshrrev_b16", [](Lane& x) { x.pk16(x.u16(1) >> (x.u16(0) & 15), x.high(1) >> (x.high(0) & 15)); }},
    {"v_pk_ashrrev_i16",
     [](Lane& x) {
         x.pk16(static_cast<uint32_t>(x.i16(1) >> (x.u16(0) & 15)),
                static_cast<uint32_t>(x.ihigh(1) >> (x.high(0) & 15)));
     }},
    {"v_pk_add_f32", [](Lane& x) { singles(x, [](float a, float b, float) { return a + b; }); }},
    {"v_pk_mul_f32", [](Lane& x) { singles(x, [](float a, float b, float) { return a * b; }); }},
    {"v_pk_fma_f32", [](Lane& x) { singles(x, [](float a, float b, float c) { return std::fma(a, b, c); }); }},
    {"v_pk_mov_b32", [](Lane& x) { x.b64(x.u(0) | uint64_t{x.u(1)} << 32); }},
    {"v_fma_mix_f32", [](Lane& x) { x.f32(mix(x)); }},
    {"v_interp_p10_f32 v_interp_p2_f32", [](Lane& x) { x.f32(std::fma(x.f(0), x.f(1), x.f(2))); }},
    {"v_interp_p10_f16_f32", first_pass},
    {"v_interp_p2_f16_f32", second_pass},
    {"v_interp_p10_rtz_f16_f32", [](Lane& x) { toward_zero(x, first_pass); }},
    {"v_interp_p2_rtz_f16_f32", [](Lane& x) { toward_zero(x, second_pass); }},
    {"v_fma_mixlo_f16 v_fma_mixhi_f16",
     [](Lane& x) { x.f16(reference::fused(mixed(x, 0), mixed(x, 1), mixed(x, 2))); }},
};

}  // namespace

std::span<const Operation> packed_operations() { return kRows; }

}  // namespace strata::emu::rows
