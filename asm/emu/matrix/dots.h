#pragma once
#include "strata/asm/emu/matrix/tiles.h"
#include "strata/asm/emu/vector/dot.h"

// RDNA's products of halves and brain floats, as the units of vector/dot.h add them onto C. gfx1100 adds two products
// at a time in ascending order. gfx1201 adds four; in wave32 the elements 4 to 7 and 8 to 11 change places. Results
// narrower than a single are narrowed each time. Source: ROCm/rocm-systems, emulation/rocjitsu, mma_exec.h (MIT).
namespace strata::emu::STRATA_EMU_VARIANT {
namespace matrix_ops {

using dots::Sum;
using dots::Words;

/// Elements of A and B as in Tiles, in the shapes that the steps want. Places are the upper 16 bits of dots.h's. A has
/// a word an element, so that a dword has two rows of them; B has each one twice.
struct DotTiles {
    const float *a, *b;
    alignas(64) uint16_t a_place[256];
    alignas(64) uint32_t b_place[256];
    alignas(64) uint32_t a_bits[256], b_bits[256];
    bool plain, zeros;
};

/// The largest and the smallest size of elements, by the upper 16 bits, and the smallest but for zeros.
struct Sizes {
    Words most{}, least = ~Words{}, least_but_zero = ~Words{};
    STRATA_EMU_INLINE void add(const Words& size) {
        most = size > most ? size : most;
        least = size < least ? size : least;
        least_but_zero = size - 1 < least_but_zero ? size - 1 : least_but_zero;
    }
};
/// Places of elements; a zero's is below those of all products.
template <bool brain, bool zeros>
STRATA_EMU_INLINE Words places_of(const Words& size, int32_t bias) {
    Words field = size & 0x7f80;
    if constexpr (!brain) {
        const Words least = Words{} + uint16_t{(127 - 14) << 7};
        field = field > least ? field : least;
    }
    const Words place = field - static_cast<uint16_t>(bias >> 16);
    if constexpr (zeros) return size == 0 ? Words{} - static_cast<uint16_t>(-dots::kZeroPlace >> 16) : place;
    return place;
}
STRATA_EMU_INLINE bool any_word(const Words& condition) { return dots::any((Signed)condition); }

template <bool brain, bool zeros>
STRATA_EMU_INLINE void place_all(DotTiles& x, Sizes& sizes) {
    for (int at = 0; at < 256; at += 2 * kTile) {
        const auto low = load_as<Words>(x.a + at), high = load_as<Words>(x.a + at + kTile);
        const Words size = __builtin_shufflevector(low, high, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
                                                   33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63) &
                           0x7fff;
        sizes.add(size);
        store_as(x.a_place + at, places_of<brain, zeros>(size, dots::kLeft));
    }
    for (int at = 0; at < 256; at += kTile) {
        const auto b = load_as<Bits>(x.b + at);
        const Words size = (Words)((b & 0xffff0000) | b >> 16) & 0x7fff;
        sizes.add(size);
        store_as(x.b_place + at, places_of<brain, zeros>(size, dots::kRight));
    }
}
/// The operands of a step whose elements are plain numbers.
template <bool brain, Sum kind>
void place_elements(DotTiles& x) {
    using Plain = dots::Plain<brain, kind>;
    constexpr uint16_t kMost = (127 + Plain::kMost) << 7, kLeast = ((127 + Plain::kLeast) << 7) - 1;
    Sizes sizes;
    place_all<brain, false>(x, sizes);
    x.zeros = any_word((Words)(sizes.least == 0));
    x.plain = !any_word((Words)((sizes.most >= kMost) | (sizes.least_but_zero < kLeast)));
    if (x.zeros) place_all<brain, true>(x, sizes);
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
