#pragma once
#include "strata/asm/emu/matrix/tiles.h"
#include "strata/asm/emu/vector/dot.h"

// RDNA's products of halves and brain floats, as the units of vector/dot.h add them: onto C two products at a time in
// ascending order (gfx1100), or four, the elements 4 to 7 and 8 to 11 changing places in wave32 (gfx1201); what is
// narrower than a single is narrowed each time. Source: ROCm/rocm-systems, emulation/rocjitsu, mma_exec.h (MIT).
namespace strata::emu::STRATA_EMU_VARIANT {
namespace matrix_ops {

using dots::Sum;

/// Elements of A and B as in Tiles, in the shapes that the steps want.
struct DotTiles {
    const float *a, *b;
    alignas(64) int32_t a_place[256], b_place[256];
    alignas(64) uint32_t a_bits[256], b_bits[256];
    bool plain, zeros;
};

/// What the steps of plain elements want.
template <bool brain, Sum kind>
void place_elements(DotTiles& x) {
    Signed outside{}, zero{};
    for (int at = 0; at < 256; at += kTile) {
        const auto a = load_as<Floats>(x.a + at), b = load_as<Floats>(x.b + at);
        store_as(x.a_place + at, dots::factor_place<dots::least_place(brain)>(a, dots::kLeft));
        store_as(x.b_place + at, dots::factor_place<dots::least_place(brain)>(b, dots::kRight));
        outside |= dots::factor_outside<brain, kind>(a) | dots::factor_outside<brain, kind>(b);
        zero |= (a == 0) | (b == 0);
    }
    x.plain = !dots::any(outside), x.zeros = dots::any(zero);
}
template <bool brain>
void encode_elements(DotTiles& x) {
    for (int at = 0; at < 256; at += kTile) {
        const auto a = load_as<Floats>(x.a + at), b = load_as<Floats>(x.b + at);
        store_as(x.a_bits + at, brain ? (Bits)a >> 16 : to_halves(a));
        store_as(x.b_bits + at, brain ? (Bits)b >> 16 : to_halves(b));
    }
}

/// A step of any elements; a narrow sum is in the lower half of each dword.
template <DotUnit unit, bool brain, Sum kind, int terms>
void any_step(const DotTiles& x, const int* a, const int* b, bool saturates, Bits& sum) {
    alignas(64) uint32_t lanes[kTile];
    store_as(lanes, sum);
    STRATA_EMU_LANE_LOOP
    for (int lane = 0; lane < kTile; ++lane) {
        uint32_t left[terms], right[terms];
        for (int k = 0; k < terms; ++k) left[k] = x.a_bits[a[k]], right[k] = x.b_bits[b[k] + lane];
        if constexpr (kind == Sum::half)
            lanes[lane] = dot_half<unit, terms>(left, right, static_cast<uint16_t>(lanes[lane]), saturates);
        else if constexpr (kind == Sum::brain)
            lanes[lane] = dot_brain<unit, terms>(left, right, static_cast<uint16_t>(lanes[lane]));
        else if constexpr (brain)
            lanes[lane] = dot_single<unit, BrainFactor<unit>, BrainFactor<unit>, terms, 2>(left, right, lanes[lane]);
        else
            lanes[lane] = dot_single<unit, HalfFactor, HalfFactor, terms, 2>(left, right, lanes[lane]);
    }
    sum = load_as<Bits>(lanes);
}

}  // namespace matrix_ops
}  // namespace strata::emu::STRATA_EMU_VARIANT
