#include <cfenv>

#include "../vector/dot_reference.h"
#include "valu_model.h"

// Dot products. CDNA's of floats add the lower product first, each step rounded once (fidelity.def: the documents leave
// the precision between the steps open).
namespace strata::emu::rows {
namespace {

int64_t element(uint32_t word, int n, int width, bool is_signed) {
    const uint64_t raw = word >> (n * width) & ((uint64_t{1} << width) - 1);
    return is_signed && raw >> (width - 1) ? static_cast<int64_t>(raw) - (int64_t{1} << width)
                                           : static_cast<int64_t>(raw);
}
/// RDNA's OPSEL and OPSEL_HI choose the halves of a source (RDNA3 ISA 7.5.1, RDNA4 ISA 7.7.2).
uint32_t chosen(const Lane& x, int i) {
    if (x.cdna()) return x.u(i);
    return (x.op_sel >> i & 1 ? x.high(i) : x.u16(i)) | (x.op_sel_hi >> i & 1 ? x.high(i) : x.u16(i)) << 16;
}
int64_t products(const Lane& x, int width, bool signed_a, bool signed_b) {
    const uint32_t a = chosen(x, 0), b = chosen(x, 1);
    int64_t sum = 0;
    for (int n = 0; n < 32 / width; ++n) sum += element(a, n, width, signed_a) * element(b, n, width, signed_b);
    return sum;
}
template <int kWidth>
void mixed_signs(Lane& x) {
    const int64_t sum = products(x, kWidth, x.neg & 1, x.neg >> 1 & 1) + x.i(2);
    x.b32(static_cast<uint64_t>(x.clamp ? std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX) : sum));
}
template <int kWidth>
void signed_sum(Lane& x) {
    const int64_t sum = products(x, kWidth, true, true) + x.i(2);
    x.b32(static_cast<uint64_t>(x.clamp ? std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX) : sum));
}
template <int kWidth>
void accumulated(Lane& x) {
    x.s[2] = x.old;
    signed_sum<kWidth>(x);
}
template <int kWidth>
void unsigned_sum(Lane& x) {
    const int64_t sum = products(x, kWidth, false, false) + x.u(2);
    x.b32(static_cast<uint64_t>(x.clamp ? std::min<int64_t>(sum, UINT32_MAX) : sum));
}

float flush(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }
/// CDNA's dot products of halves know no denormals (CDNA3 ISA 6.4).
float half_sum(const Lane& x, float sum) {
    const bool flushes = x.family == Family::cdna2 || x.family == Family::cdna3;
    auto half = [&](uint32_t bits) {
        return static_cast<float>(reference::half_value(flushes && !(bits & 0x7c00) ? bits & 0x8000 : bits));
    };
    auto step = [&](uint32_t a, uint32_t b) {
        sum = std::fma(half(a), half(b), flushes ? flush(sum) : sum);
        if (flushes) sum = flush(sum);
    };
    step(x.u16(0), x.u16(1));
    step(x.high(0), x.high(1));
    return sum;
}

/// RDNA's round to nearest whatever MODE says.
struct Nearest {
    int saved = std::fegetround();
    Nearest() { std::fesetround(FE_TONEAREST); }
    ~Nearest() { std::fesetround(saved); }
};
bool rdna4(const Lane& x) { return x.family == Family::rdna4; }
void halves(Lane& x, uint32_t addend) {
    if (x.cdna()) return x.f32(half_sum(x, std::bit_cast<float>(addend)));
    const Nearest nearest;
    x.raw_f32(reference::dot_single(rdna4(x), reference::kHalf, reference::kHalf, x.u(0), x.u(1), addend));
}
void brains(Lane& x) {
    const Nearest nearest;
    const reference::NumberFormat& f = reference::brain_format(rdna4(x));
    x.raw_f32(reference::dot_single(rdna4(x), f, f, x.u(0), x.u(1), x.u(2)));
}
void halves_to_half(Lane& x) {
    const Nearest nearest;
    x.raw_f16(reference::dot2_f16(rdna4(x), x.u(0), x.u(1), x.u16(2), x.mode >> 23 & 1));  // FP16_OVFL
}
void brains_to_brain(Lane& x) {
    const Nearest nearest;
    x.set(Bits::bf16, reference::dot2_bf16(rdna4(x), x.u(0), x.u(1), x.u16(2)));
}

constexpr Operation kRows[] = {
    {"v_dot4_i32_iu8", mixed_signs<8>},
    {"v_dot8_i32_iu4", mixed_signs<4>},
    {"v_dot2_i32_i16", signed_sum<16>},
    {"v_dot4_i32_i8", signed_sum<8>},
    {"v_dot8_i32_i4", signed_sum<4>},
    {"v_dot2c_i32_i16", accumulated<16>},
    {"v_dot4c_i32_i8", accumulated<8>},
    {"v_dot8c_i32_i4", accumulated<4>},
    {"v_dot2_u32_u16", unsigned_sum<16>},
    {"v_dot4_u32_u8", unsigned_sum<8>},
    {"v_dot8_u32_u4", unsigned_sum<4>},
    {"v_dot2_f32_f16", [](Lane& x) { halves(x, x.u(2)); }},
    {"v_dot2acc_f32_f16 v_dot2c_f32_f16", [](Lane& x) { halves(x, static_cast<uint32_t>(x.old)); }},
    {"v_dot2_f16_f16", halves_to_half},
    {"v_dot2_f32_bf16", brains},
    {"v_dot2_bf16_bf16", brains_to_brain},
};

}  // namespace

std::span<const Operation> dot_operations() { return kRows; }

}  // namespace strata::emu::rows
