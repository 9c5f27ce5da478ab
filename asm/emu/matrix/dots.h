#pragma once
#include "strata/asm/emu/matrix/tiles.h"
#include "strata/asm/emu/vector/dot.h"

// RDNA's products of halves and brain floats, as the units of vector/dot.h add them: onto C two products at a time in
// ascending order (gfx1100), or four, the elements 4 to 7 and 8 to 11 changing places in wave32 (gfx1201); what is
// narrower than a single is narrowed each time. Source: ROCm/rocm-systems, emulation/rocjitsu, mma_exec.h (MIT).
namespace strata::emu::STRATA_EMU_VARIANT {
namespace matrix_ops {

/// What sums are between the steps.
enum class Sum { single, brain, half };

/// Elements of A and B as in Tiles, in the three shapes that the steps want.
struct DotTiles {
    const float *a, *b;
    alignas(64) float a_place[256], b_place[256];  ///< 2 to the exponent of the encoding; of zeros zero
    alignas(64) uint32_t a_bits[256], b_bits[256];
};

/// Whether all are zeros or numbers whose products and sums stay far from the ends of a single's range: every finite
/// half, brain floats from 2^-24 to 2^24.
template <bool brain>
bool place_elements(const float* from, float* place, uint32_t* bits) {
    constexpr uint32_t kLeast = (brain ? 127 - 24 : 1) << 23, kMost = (brain ? 127 + 25 : 255) << 23,
                       kDenormalPlace = (127 - 14) << 23;
    Signed outside{};
    for (int at = 0; at < 256; at += kTile) {
        const Floats x = load_as<Floats>(from + at);
        const Bits size = (Bits)x & 0x7fffffff, exponent = size & 0x7f800000;
        const Bits encoded = brain || exponent > kDenormalPlace ? exponent : Bits{} + kDenormalPlace;
        store_as(place + at, size == 0 ? Bits{} : encoded);
        store_as(bits + at, brain ? (Bits)x >> 16 : to_halves(x));
        outside |= (size != 0) & ((size < kLeast) | (size >= kMost));
    }
    int any = 0;
    for (int i = 0; i < kTile; ++i) any |= outside[i];
    return any == 0;
}
/// The same of addends, and wider: they have one factor.
STRATA_EMU_INLINE bool far_from_ends(const Bits& singles) {
    const Bits size = singles & 0x7fffffff;
    const Signed outside = (size != 0) & ((size < (127 - 96) << 23) | (size >= (127 + 100) << 23));
    int any = 0;
    for (int i = 0; i < kTile; ++i) any |= outside[i];
    return any == 0;
}

STRATA_EMU_INLINE Floats larger_of(const Floats& a, const Floats& b) { return a > b ? a : b; }
/// 2^24 / x for a power of two x. Of zero something finite.
STRATA_EMU_INLINE Floats units_in(const Floats& x) { return (Floats)((278u << 23) - (Bits)x); }
STRATA_EMU_INLINE Signed cut_off(const Floats& x) { return __builtin_convertvector(x, Signed); }
STRATA_EMU_INLINE Signed down(const Floats& x, const Signed& cut) {
    return cut + (__builtin_convertvector(cut, Floats) > x);
}
STRATA_EMU_INLINE Signed down(const Floats& x) { return down(x, cut_off(x)); }

/// An element of A and 16 columns of B: products, and the exponents of their factors.
struct Product {
    Floats value, place;
};
STRATA_EMU_INLINE Product product(const DotTiles& x, int a, int b) {
    return {(x.a[a] - Floats{}) * load_as<Floats>(x.b + b), (x.a_place[a] - Floats{}) * load_as<Floats>(x.b_place + b)};
}

/// A step where nothing is near the ends, in units of the grid: integers of 29 bits.
template <DotUnit unit>
STRATA_EMU_INLINE Floats plain_step(const Product* p, const Floats& c) {
    const Floats c_place = (Floats)((Bits)c & 0x7f800000) * 0.25f;
    if constexpr (unit == DotUnit::rdna3) {
        const Floats grid = larger_of(larger_of(p[0].place, p[1].place), c_place), scale = units_in(grid);
        const Signed below = (Signed)c >> 31, opposite = ((Signed)((Bits)p[0].value ^ (Bits)c) >> 31) +
                                                         ((Signed)((Bits)p[1].value ^ (Bits)c) >> 31);
        const Signed total = cut_off(c * scale) + cut_off(p[0].value * scale) + cut_off(p[1].value * scale) +
                             ((opposite ^ below) - below);
        const Floats sum = __builtin_convertvector(total, Floats) * (grid * 0x1p-24f);
        return grid > 0 ? sum : Floats{};
    } else {
        const Floats low = larger_of(p[0].place, p[1].place), high = larger_of(p[2].place, p[3].place);
        const Floats grid = larger_of(larger_of(low, high), c_place), addend = c * units_in(grid);
        const Signed cut = cut_off(addend);
        Signed total = cut == 0 ? Signed{} : down(addend, cut);
        for (int pair = 0; pair < 2; ++pair) {
            const Floats place = pair ? high : low, scale = units_in(place);
            const Signed sum = down(p[2 * pair].value * scale) + down(p[2 * pair + 1].value * scale);
            const Bits drop = ((Bits)grid - (Bits)place) >> 23;
            total += sum >> (Signed)(drop > 31 ? Bits{} + 31 : drop);
        }
        return __builtin_convertvector(total, Floats) * (grid * 0x1p-24f);
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
