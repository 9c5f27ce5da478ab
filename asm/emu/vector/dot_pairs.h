#pragma once
#include "strata/asm/emu/vector/dot_steps.h"

// Dot products of pairs of halves or brain floats, 16 lanes at a time.
namespace strata::emu::STRATA_EMU_VARIANT {
namespace dots {

template <DotUnit unit, bool brain, Sum kind>
struct Pairs {
    static STRATA_EMU_INLINE Floats factor(const Bits& x, int part) {
        if constexpr (brain) return (Floats)(part ? x & 0xffff0000 : x << 16);
        return from_halves(part ? x >> 16 : x & 0xffff);
    }
    static STRATA_EMU_INLINE Floats addend(const Bits& x) {
        if constexpr (kind == Sum::half) return from_halves(x & 0xffff);
        return (Floats)(kind == Sum::brain ? x << 16 : x);
    }

    /// The places of two products as factor_place() has them, from the fields of both halves of each dword.
    static STRATA_EMU_INLINE Signed places_of_halves(const Bits& a, const Bits& b, Signed* place) {
        using Words = uint16_t __attribute__((vector_size(64)));
        constexpr uint16_t kMost = kind == Sum::half ? (15 + 5) << 10 : 31 << 10;
        const Words least = Words{} + 0x400, x = (Words)a & 0x7c00, y = (Words)b & 0x7c00;
        const Bits sum = (Bits)((x > least ? x : least) + (y > least ? y : least));
        constexpr int32_t kBias = (2 * (127 - 15) << 23) - kLeft - kRight;
        place[0] = (Signed)(sum << 16 >> 3) + kBias;
        place[1] = (Signed)(sum >> 16 << 13) + kBias;
        return (Signed)((x >= kMost) | (y >= kMost)) != 0;
    }

    /// In the lower bits of each dword; lanes of `outside` are not done.
    static STRATA_EMU_INLINE Bits sums(const Bits& a, const Bits& b, const Bits& c_bits, Signed& outside) {
        const Floats c = addend(c_bits);
        outside = addend_outside<brain, kind>(c);
        Floats product[2];
        Signed place[2];
        if constexpr (!brain) outside |= places_of_halves(a, b, place);
        for (int i = 0; i < 2; ++i) {
            const Floats left = factor(a, i), right = factor(b, i);
            product[i] = left * right;
            if constexpr (brain) {
                outside |= factor_outside<brain, kind>(left) | factor_outside<brain, kind>(right);
                place[i] =
                    factor_place<least_place(brain)>(left, kLeft) + factor_place<least_place(brain)>(right, kRight);
            } else {
                place[i] = product[i] == 0 ? Signed{} + kZeroPlace : place[i];
            }
        }
        const Floats sum = plain_step<unit, kind, 2, true>(product, place, c);
        return kind == Sum::half ? to_halves(sum) : (Bits)sum >> (kind == Sum::brain ? 16 : 0);
    }

    /// All 32 lanes.
    static STRATA_EMU_INLINE U32 sums(const U32& a, const U32& b, const U32& c, I32& outside) {
        union Rows {
            U32 row;
            Bits part[2];
        } x{a}, y{b}, z{c}, sum;
        union {
            I32 row;
            Signed part[2];
        } out;
        for (int i = 0; i < 2; ++i) sum.part[i] = sums(x.part[i], y.part[i], z.part[i], out.part[i]);
        outside = out.row;
        return sum.row;
    }
};

}  // namespace dots
}  // namespace strata::emu::STRATA_EMU_VARIANT
