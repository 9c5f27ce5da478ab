#pragma once
#include "strata/asm/emu/vector/dot_steps.h"

// Dot products of pairs of halves or brain floats, 16 lanes at a time.
namespace strata::emu::STRATA_EMU_VARIANT {
namespace dots {

/// Lanes, and halves of lanes, that are not done.
struct Outside {
    Signed lanes{};
    Words halves{};
    STRATA_EMU_INLINE bool any() const {
#if defined(__clang__)
        return (__builtin_reduce_or(lanes) | __builtin_reduce_or(halves)) != 0;
#else
        return dots::any(lanes | (Signed)halves);
#endif
    }
};

template <DotUnit unit, bool brain, Sum kind>
struct Pairs {
    static STRATA_EMU_INLINE Floats addend(const Bits& x) {
        if constexpr (kind == Sum::half) return from_halves(x & 0xffff);
        return (Floats)(kind == Sum::brain ? x << 16 : x);
    }

    static STRATA_EMU_INLINE void products_of_halves(const Bits& a, const Bits& b, Floats* product) {
#if defined(__AVX512F__)
        const auto low = [](const Bits& x)
                             STRATA_LAMBDA_INLINE { return _mm512_cvtph_ps(_mm512_castsi512_si256((__m512i)x)); };
        const auto high = [](const Bits& x) STRATA_LAMBDA_INLINE {
            return _mm512_cvtph_ps(_mm512_extracti64x4_epi64((__m512i)x, 1));
        };
        const __m512 first = low(a) * low(b), second = high(a) * high(b);
        const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        product[0] = (Floats)_mm512_permutex2var_ps(first, even, second);
        product[1] = (Floats)_mm512_permutex2var_ps(first, _mm512_add_epi32(even, _mm512_set1_epi32(1)), second);
#else
        product[0] = from_halves(a & 0xffff) * from_halves(b & 0xffff);
        product[1] = from_halves(a >> 16) * from_halves(b >> 16);
#endif
    }
    /// The places of two products, from the fields of both halves of each dword.
    static STRATA_EMU_INLINE void places_of(const Bits& a, const Bits& b, Signed* place, Outside& outside) {
        if constexpr (brain) {
            constexpr uint16_t kLeast = (127 - 36) << 7, kRange = 72 << 7;
            const Words x = (Words)a & 0x7fff, y = (Words)b & 0x7fff;
            outside.halves |= (Words)(((x != 0) & (x - kLeast >= kRange)) | ((y != 0) & (y - kLeast >= kRange)));
            const Bits sum = (Bits)((x & 0x7f80) + (y & 0x7f80));
            place[0] = (Signed)((sum << 16) - (kLeft + kRight));
            place[1] = (Signed)((sum & 0xffff0000) - (kLeft + kRight));
        } else {
            constexpr uint16_t kMost = kind == Sum::half ? (15 + 5) << 10 : 31 << 10;
            const Words least = Words{} + 0x400, x = (Words)a & 0x7c00, y = (Words)b & 0x7c00;
            outside.halves |= (Words)((x >= kMost) | (y >= kMost));
            const Bits sum = (Bits)((x > least ? x : least) + (y > least ? y : least));
            constexpr int32_t kBias = (2 * (127 - 15) << 23) - kLeft - kRight;
            place[0] = (Signed)(sum << 16 >> 3) + kBias;
            place[1] = (Signed)(sum >> 16 << 13) + kBias;
        }
    }

    /// In the lower bits of each dword.
    static STRATA_EMU_INLINE Bits sums(const Bits& a, const Bits& b, const Bits& c_bits, Outside& outside) {
        const Floats c = addend(c_bits);
        outside.lanes |= addend_outside<brain, kind>(c);
        Floats product[2];
        Signed place[2];
        places_of(a, b, place, outside);
        if constexpr (brain)
            product[0] = (Floats)(a << 16) * (Floats)(b << 16),
            product[1] = (Floats)(a & 0xffff0000) * (Floats)(b & 0xffff0000);
        else
            products_of_halves(a, b, product);
        // Below those of all others but a zero's.
        for (int i = 0; i < 2; ++i) place[i] = product[i] == 0 ? Signed{} : place[i];
        const Signed most = larger_of(place[0], place[1]);
        const Floats sum = plain_step<unit, kind, 2, true>(product, &most, c);
        return kind == Sum::half ? to_halves(sum) : (Bits)sum >> (kind == Sum::brain ? 16 : 0);
    }

    /// All 32 lanes; false: some are not done.
    static STRATA_EMU_INLINE bool sums(const U32& a, const U32& b, const U32& c, U32& all) {
        union Rows {
            U32 row;
            Bits part[2];
        } x{a}, y{b}, z{c}, sum;
        Outside outside;
        for (int i = 0; i < 2; ++i) sum.part[i] = sums(x.part[i], y.part[i], z.part[i], outside);
        all = sum.row;
        return !outside.any();
    }
};

}  // namespace dots
}  // namespace strata::emu::STRATA_EMU_VARIANT
