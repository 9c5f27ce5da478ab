#pragma once
#include "strata/asm/emu/matrix/tiles.h"

// Sums of matrix instructions: a step of them, where they start and where they go.
namespace strata::emu::STRATA_EMU_VARIANT {
namespace matrix_ops {

/// Sums held in registers at a time: rows of 16 singles.
#if defined(__AVX512F__)
constexpr int kPanel = 16;
#else
constexpr int kPanel = 4;
#endif

template <class T>
struct VectorOf;
template <>
struct VectorOf<float> {
    using Type = Floats;
};
template <>
struct VectorOf<double> {
    using Type = double __attribute__((vector_size(128)));
};
template <class T>
using Vector = typename VectorOf<T>::Type;
using Doubles = Vector<double>;
using Wides = uint64_t __attribute__((vector_size(128)));

/// `exact`: products have no rounding, so that a step need not be fused.
template <bool exact, class V>
STRATA_EMU_INLINE V step(const V& a, const V& b, const V& c) {
#if defined(__FMA__) && defined(__clang__)
    return __builtin_elementwise_fma(a, b, c);
#else
    if constexpr (exact) {
        return a * b + c;
    } else {
        V r;
        for (int i = 0; i < kTile; ++i) {
            if constexpr (sizeof(V) == 64)
                r[i] = __builtin_fmaf(a[i], b[i], c[i]);
            else
                r[i] = __builtin_fma(a[i], b[i], c[i]);
        }
        return r;
    }
#endif
}

template <bool exact, class V>
STRATA_EMU_INLINE V sum_of_four(const V* a, const V* b) {
    return step<exact>(a[1], b[1], a[0] * b[0]) + step<exact>(a[3], b[3], a[2] * b[2]);
}

/// Where the addend comes from and the result goes.
struct Rows {
    const uint32_t* c;
    uint32_t* d;
    uint32_t c_keep, c_flip;  ///< bits of the addend's sign dword
    bool clamp;
    int shift;  ///< of a 16-bit result that takes one half of its registers
    int lanes;
    bool saturates;  ///< MODE's FP16_OVFL
};

STRATA_EMU_INLINE Bits canonical(const Floats& x) { return x == x ? (Bits)x : Bits{} + 0x7fc00000; }
STRATA_EMU_INLINE Floats without_denormals(const Floats& x) {
    const Bits bits = (Bits)x;
    return (Floats)((bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits);
}

// Results: load() gives the addend of row `i` of C at dword `at`, store() puts the sum away.
struct ToSingle {
    using T = float;
    static constexpr int panel = kPanel;
    static STRATA_EMU_INLINE Floats load(const Rows& x, int at, int) {
        return (Floats)((load_as<Bits>(x.c + at) & x.c_keep) ^ x.c_flip);
    }
    static STRATA_EMU_INLINE void store(const Rows& x, int at, int, const Floats& sum) {
        store_as(x.d + at, canonical(sum));
    }
};
struct ToFlushed {
    using T = float;
    static constexpr int panel = kPanel;
    static STRATA_EMU_INLINE Floats load(const Rows& x, int at, int) {
        return without_denormals((Floats)load_as<Bits>(x.c + at));
    }
    static STRATA_EMU_INLINE void store(const Rows& x, int at, int, const Floats& sum) {
        store_as(x.d + at, canonical(without_denormals(sum)));
    }
};
/// MI200's of halves: denormals of C are +0; no product or sum of products is one.
struct ToGroups : ToFlushed {
    static STRATA_EMU_INLINE Floats load(const Rows& x, int at, int) {
        const Bits c = load_as<Bits>(x.c + at);
        return (Floats)((c & 0x7f800000) == 0 ? Bits{} : c);
    }
};
/// True if products are added in fours, two pairs and the fours' sum rounded each, before they are added to C.
template <class Out>
constexpr bool kInFours = __is_same(Out, ToGroups);

/// Sums of integers are below 2^24: exact in single precision.
struct ToInteger {
    using T = float;
    static constexpr int panel = kPanel == 16 ? 8 : kPanel;
    static STRATA_EMU_INLINE Floats load(const Rows&, int, int) { return Floats{}; }
    static STRATA_EMU_INLINE void store(const Rows& x, int at, int, const Floats& sum) {
        const Bits c = load_as<Bits>(x.c + at), added = (Bits) __builtin_convertvector(sum, Signed);
        Bits total = c + added;
        if (x.clamp) {
            const Bits limit = (c >> 31) + 0x7fffffff;
            const Signed overflow = (Signed)(~(c ^ added) & (c ^ total)) < 0;
            total = overflow ? limit : total;
        }
        store_as(x.d + at, total);
    }
};
struct HalfBits {
    static STRATA_EMU_INLINE Floats widen(const Bits& x) { return from_halves(x); }
    static STRATA_EMU_INLINE Bits narrow(const Floats& x) { return x == x ? to_halves(x) : Bits{} + 0x7e00; }
};
struct BrainBits {
    static STRATA_EMU_INLINE Floats widen(const Bits& x) { return (Floats)(x << 16); }
    static STRATA_EMU_INLINE Bits narrow(const Floats& x) {
        const Bits bits = (Bits)x;
        return x == x ? (bits + 0x7fff + (bits >> 16 & 1)) >> 16 : Bits{} + 0x7fc0;
    }
};
/// A half of each register: the same one for all rows (RDNA3), or rows 2i and 2i + 1 in one register (RDNA4).
template <class E, bool packed>
struct ToHalf {
    using T = float;
    static constexpr int panel = kPanel;
    static STRATA_EMU_INLINE int shift(const Rows& x, int i) { return packed ? 16 * (i & 1) : x.shift; }
    static STRATA_EMU_INLINE Floats load(const Rows& x, int at, int i) {
        const Floats c = E::widen(load_as<Bits>(x.c + at) >> shift(x, i) & 0xffff);
        return (Floats)(((Bits)c & x.c_keep) ^ x.c_flip);
    }
    static STRATA_EMU_INLINE void store(const Rows& x, int at, int i, const Floats& sum) {
        const int up = shift(x, i);
        store_as(x.d + at, (load_as<Bits>(x.d + at) & ~(0xffffu << up)) | E::narrow(sum) << up);
    }
};
struct ToDouble {
    using T = double;
    static constexpr int panel = kPanel == 16 ? 8 : kPanel;
    static STRATA_EMU_INLINE Doubles load(const Rows& x, int at, int) {
        const Bits high = load_as<Bits>(x.c + at + x.lanes) ^ x.c_flip;
        return (Doubles)(__builtin_convertvector(load_as<Bits>(x.c + at), Wides) | __builtin_convertvector(high, Wides)
                                                                                       << 32);
    }
    static STRATA_EMU_INLINE void store(const Rows& x, int at, int, const Doubles& sum) {
        const Wides bits = sum == sum ? (Wides)sum : Wides{} + 0x7ff8000000000000;
        store_as(x.d + at, __builtin_convertvector(bits, Bits));
        store_as(x.d + at + x.lanes, __builtin_convertvector(bits >> 32, Bits));
    }
};

}  // namespace matrix_ops
}  // namespace strata::emu::STRATA_EMU_VARIANT
