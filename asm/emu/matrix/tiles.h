#pragma once
#include "strata/asm/emu/matrix/plan.h"
#include "strata/asm/emu/vector/dot_steps.h"

// Inputs of matrix instructions: rows of registers widened to floats (doubles), element by element.
namespace strata::emu::STRATA_EMU_VARIANT {
namespace matrix_ops {

/// The registers of A or B. `signs` is flipped in every dword (of a double: in the high one).
struct Input {
    const uint32_t* rows;
    int registers, row_lanes, lanes;  ///< lanes: those that count, of row_lanes
    uint32_t signs;
};

using dots::Bits;
using dots::Floats;
using dots::from_halves;
using dots::kTile;
using dots::load_as;
using dots::Signed;
using dots::store_as;
using dots::to_halves;

// Element types: `bits` a piece, widen() of the lowest piece of each dword.
struct Single {
    static constexpr int bits = 32;
    static STRATA_EMU_INLINE Floats widen(const Bits& x) { return (Floats)x; }
};
/// CDNA3 ISA 7: the mantissa is cut to 10 bits; a NaN stays one.
struct ShortSingle {
    static constexpr int bits = 32;
    static STRATA_EMU_INLINE Floats widen(const Bits& x) {
        return (Floats)((x & 0x7fffffff) > 0x7f800000 ? x | 0x400000 : x & ~0x1fffu);
    }
};
struct HalfFloat {
    static constexpr int bits = 16;
    static STRATA_EMU_INLINE Floats widen(const Bits& x) { return from_halves(x); }
};
struct BrainFloat {
    static constexpr int bits = 16;
    static STRATA_EMU_INLINE Floats widen(const Bits& x) { return (Floats)(x << 16); }
};
/// MI200 reads denormal halves and brain floats as zeros.
struct FlushedHalf {
    static constexpr int bits = 16;
    static STRATA_EMU_INLINE Floats widen(const Bits& x) { return from_halves((x & 0x7c00) == 0 ? x & 0x8000 : x); }
};
struct FlushedBrain {
    static constexpr int bits = 16;
    static STRATA_EMU_INLINE Floats widen(const Bits& x) {
        return (Floats)(((x & 0x7f80) == 0 ? x & 0x8000 : x) << 16);
    }
};
/// 8-bit floats. FNUZ has one NaN in the place of -0 and no infinity. OCP's 5-bit exponent is IEEE; its 4-bit one has
/// no infinity and one NaN a sign.
template <int mantissa, int bias, bool fnuz>
struct ByteFloat {
    static constexpr int bits = 8;
    static STRATA_EMU_INLINE Floats widen(const Bits& x) {
        const Bits sign = (x & 0x80) << 24, magnitude = x & 0x7f;
        constexpr float unit = 1.0f / static_cast<float>(1u << (bias - 1 + mantissa));
        const Floats tiny = __builtin_convertvector((Signed)magnitude, Floats) * unit;
        const Bits normal = (magnitude << (23 - mantissa)) + (static_cast<uint32_t>(127 - bias) << 23);
        const Bits finite = magnitude < (1u << mantissa) ? (Bits)tiny : normal, nan = Bits{} + 0x7fc00000;
        if constexpr (fnuz)
            return (Floats)((x & 0xff) == 0x80 ? nan : finite | sign);
        else if constexpr (mantissa == 3)
            return (Floats)((magnitude == 0x7f ? nan : finite) | sign);
        else
            return (Floats)((magnitude >= 0x7c ? 0x7f800000 | (magnitude & 3) << 21 : finite) | sign);
    }
};
template <int width, bool is_signed>
struct Integer {
    static constexpr int bits = width;
    static STRATA_EMU_INLINE Floats widen(const Bits& x) {
        const Bits top = x << (32 - width);
        return __builtin_convertvector(is_signed ? (Signed)top >> (32 - width) : (Signed)(top >> (32 - width)), Floats);
    }
};

template <class E>
void widen_rows(const Input& in, float* out) {
    constexpr int pieces = 32 / E::bits;
    for (int r = 0; r < in.registers; ++r)
        for (int first = 0; first < in.lanes; first += kTile) {
            const Bits x = load_as<Bits>(in.rows + r * in.row_lanes + first) ^ in.signs;
            for (int e = 0; e < pieces; ++e)
                store_as(out + (r * pieces + e) * in.lanes + first, E::widen(x >> (E::bits * e) % 32));
        }
}

using Widen = void (*)(const Input&, float*);
/// By Element.
constexpr Widen kWiden[] = {nullptr,
                            &widen_rows<Single>,
                            &widen_rows<ShortSingle>,
                            &widen_rows<HalfFloat>,
                            &widen_rows<BrainFloat>,
                            &widen_rows<FlushedHalf>,
                            &widen_rows<FlushedBrain>,
                            &widen_rows<ByteFloat<3, 7, false>>,
                            &widen_rows<ByteFloat<2, 15, false>>,
                            &widen_rows<ByteFloat<3, 8, true>>,
                            &widen_rows<ByteFloat<2, 16, true>>,
                            &widen_rows<Integer<8, true>>,
                            &widen_rows<Integer<8, false>>,
                            &widen_rows<Integer<4, true>>,
                            &widen_rows<Integer<4, false>>};

STRATA_EMU_INLINE void widen(const Input& in, uint32_t element, float* out) { kWiden[element & 15](in, out); }
STRATA_EMU_INLINE void widen(const Input& in, uint32_t, double* out) {
    for (int lane = 0; lane < in.lanes; ++lane)
        out[lane] = double_of(in.rows[lane] | uint64_t{in.rows[in.row_lanes + lane] ^ in.signs} << 32);
}

/// CBSZ and ABID: blocks of A in groups of 2^cbsz read block `abid` of the group.
template <class T>
void broadcast_blocks(T* a, int elements, int m, int blocks, int cbsz, int abid) {
    for (int e = 0; e < elements; ++e)
        for (int lane = 0; lane < 64; lane += m * blocks)  // one round a run of k
            for (int b = 0; b < blocks; b += 1 << cbsz) {
                T* group = a + e * 64 + lane + b * m;
                T from[32];
                for (int i = 0; i < m; ++i) from[i] = group[abid * m + i];
                for (int to = 0; to < 1 << cbsz; ++to)
                    for (int i = 0; i < m; ++i) group[to * m + i] = from[i];
            }
}

/// BLGP: 1, 2 the first or last 32 lanes twice; 3 all lanes 16 down; 4 to 7 the n-th 16 lanes four times.
template <class T>
void permute_lanes(T* b, int elements, int pattern) {
    for (int e = 0; e < elements; ++e) {
        T from[64];
        for (int lane = 0; lane < 64; ++lane) from[lane] = b[64 * e + lane];
        for (int lane = 0; lane < 64; ++lane) {
            const int source = pattern == 1   ? lane & 31
                               : pattern == 2 ? lane | 32
                               : pattern == 3 ? (lane + 16) & 63
                                              : (lane & 15) + 16 * (pattern - 4);
            b[64 * e + lane] = from[source];
        }
    }
}

}  // namespace matrix_ops
}  // namespace strata::emu::STRATA_EMU_VARIANT
