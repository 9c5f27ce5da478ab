#pragma once
#include "strata/asm/emu/vector/dot_steps.h"

// The tables of RDNA's transcendental unit, and its roots and reciprocals bit for bit: polynomials of degree three in
// fixed point (trans_rdna.def names the source).
namespace strata::emu::STRATA_EMU_VARIANT {
namespace trans_rdna_ops {

using dots::Bits;
using dots::Floats;
using dots::kTile;
using dots::Signed;

struct Polynomials {
    alignas(64) int32_t constant[64], linear[64], quadratic[64], cubic[64], bias[64];
};
constexpr int kExp = 0, kLog = 1, kSqrt = 2, kSine = 3, kRcp = 4, kRsq = 5;
constexpr Polynomials polynomials(int wanted) {
    constexpr int exp = kExp, log = kLog, sqrt = kSqrt, sine = kSine, rcp = kRcp, rsq = kRsq;
    Polynomials all = {};
    int n = 0;
#define POLYNOMIAL(table, c0, c1, c2, c3, below) \
    if (wanted == table)                         \
        all.constant[n] = c0, all.linear[n] = c1, all.quadratic[n] = c2, all.cubic[n] = c3, all.bias[n] = below, ++n;
#include "strata/asm/emu/vector/trans_rdna.def"
#undef POLYNOMIAL
    return all;
}

/// Entries of a table of 32 (`rows`; or 64).
template <int rows = 32>
STRATA_EMU_INLINE Bits entries(const int32_t* table, const Bits& n) {
#if defined(__AVX512F__)
    const auto low =
        (Bits)_mm512_permutex2var_epi32(_mm512_load_si512(table), (__m512i)n, _mm512_load_si512(table + 16));
    if constexpr (rows == 32) return low;
    const auto high =
        (Bits)_mm512_permutex2var_epi32(_mm512_load_si512(table + 32), (__m512i)n, _mm512_load_si512(table + 48));
    return (n & 32) != 0 ? high : low;
#elif defined(__AVX2__)
    union {
        Bits all;
        __m256i part[2];
    } row{n};
    for (int i = 0; i < 2; ++i) row.part[i] = _mm256_i32gather_epi32(table, row.part[i], 4);
    return row.all;
#else
    Bits found;
    for (int i = 0; i < kTile; ++i) found[i] = static_cast<uint32_t>(table[n[i]]);
    return found;
#endif
}

STRATA_EMU_INLINE Bits all_lanes(uint32_t x) { return x - Bits{}; }

/// The upper halves of products of 32 bits.
STRATA_EMU_INLINE Bits upper_product(const Bits& a, const Bits& b) {
    using Pairs = uint64_t __attribute__((vector_size(64)));
    constexpr uint64_t kLow = 0xffffffff;
    const Pairs even = ((Pairs)a & kLow) * ((Pairs)b & kLow), odd = ((Pairs)a >> 32) * ((Pairs)b >> 32);
    return (Bits)(even >> 32 | (odd & ~kLow));
}

/// Roots and reciprocals: constant +- linear * t -+ bend(t) * t^2 by 32 or 64 intervals, in 24 bits. Constants are in
/// quarters of the result's last place; `fine` is a power of two below it that the bend is rounded to. The linear part
/// keeps 24 bits and is then cut off (where it is subtracted: up) at 2^-5 (the root: 2^-3) of the last place. Roots
/// look at the exponent's parity too.
struct RootShape {
    int table, rows;
    bool rises;          ///< the linear part is added, the bend subtracted
    int widened;         ///< what fills 26 bits with the linear coefficient, or all but a few
    uint32_t few, many;  ///< what rounds products below and from 2^25 on
    int dropped, bend, twist, fine;
    bool parity;
    uint32_t one;  ///< added to the result: what its exponent has beside the argument's part
    constexpr int places() const { return (parity ? 24 : 23) - (rows == 64 ? 6 : 5); }  ///< bits below the row
};
constexpr RootShape kSqrtShape{kSqrt, 32, true, 4, 1, 2, 2, 8, 11, 12, true, 0},
    kRcpShape{kRcp, 32, false, 5, 3, 2, 2, 8, 12, 11, false, 252u << 23},
    kRsqShape{kRsq, 64, false, 6, 7, 6, 3, 9, 11, 12, true, 62u << 23};

#if defined(__AVX512F__)
// Each rounding of the unit is one of a product or a sum of singles, in a direction of its own. Singles hold all
// factors, and cut off where the unit does.
constexpr int kCut = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC, kUp = _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC,
              kDown = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;

constexpr int kPlaceUnit = 12;      ///< t is below 2^12
constexpr float kTwistBase = 1.5f;  ///< beside which 2^-23 is the last place

struct RootTable {
    /// The latter two in units of 2^-23: quadratic, with that base, and cubic.
    alignas(64) float linear[64], bend[64], twist[64];
    alignas(64) int32_t whole[64], rest[64];  ///< the constant, even, and what is below, ready to be rounded
};
constexpr RootTable root_table(const RootShape& shape) {
    const Polynomials from = polynomials(shape.table);
    RootTable all = {};
    for (int n = 0; n < 64; ++n) {
        const int row = shape.parity ? n ^ shape.rows / 2 : n;  // an even exponent is that of an odd power of two
        const int32_t constant = from.constant[row % shape.rows], odd = constant >> 2 & 1;
        constexpr float kUnit = 1 << kPlaceUnit;
        all.linear[n] =
            static_cast<float>(from.linear[row % shape.rows] << shape.widened) / kUnit / (1 << shape.dropped);
        all.bend[n] = static_cast<float>(from.quadratic[row % shape.rows] << shape.bend) * 0x1p-23f + kTwistBase;
        all.twist[n] = static_cast<float>(from.cubic[row % shape.rows]) * 0x1p-23f;
        all.whole[n] = (constant >> 2) - odd + static_cast<int32_t>(shape.one);
        all.rest[n] = (odd << shape.fine) + ((constant & 3) << (shape.fine - 2)) + (1 << (shape.fine - 1));
    }
    return all;
}
template <const RootShape& shape>
constexpr RootTable kRootTable = root_table(shape);

template <const RootShape& shape>
STRATA_EMU_INLINE __m512i root_entries(const int32_t* table, __m512i n) {
    return (__m512i)entries<shape.rows>(table, (Bits)n);
}
template <const RootShape& shape>
STRATA_EMU_INLINE __m512 root_factors(const float* table, __m512i n) {
    return (__m512)root_entries<shape>(reinterpret_cast<const int32_t*>(table), n);
}

/// Two vectors, each step done for both: the host has then twice as much to do side by side.
template <class V>
struct Both {
    V part[2];
};
template <class F>
STRATA_EMU_INLINE auto both(F&& step) {
    return Both<decltype(step(0))>{{step(0), step(1)}};
}
#define STRATA_EMU_BOTH(...) both([&](int i) STRATA_LAMBDA_INLINE { return __VA_ARGS__; })
using BothFloats = Both<__m512>;
using BothBits = Both<__m512i>;

/// Bits of x as a number in units of 2^unit.
STRATA_EMU_INLINE __m512 single_of_bits(__m512i x, uint32_t mask, int unit) {
    const __m512i zero = _mm512_set1_epi32((127 + 23 + unit) << 23);
    constexpr int kAndOr = 0xea;
    return (__m512)_mm512_ternarylogic_epi32(x, _mm512_set1_epi32(static_cast<int>(mask)), zero, kAndOr) - (__m512)zero;
}

/// slope * t in units of 2^-5 (the root: 2^-3) of the last place. Where singles have the unit's 24 bits, it is the
/// nearest one. Where they have more, the part rounded by a quarter (an eighth) is beyond it.
template <const RootShape& shape>
STRATA_EMU_INLINE BothBits root_line(const BothFloats& slope, const BothFloats& t) {
    constexpr float kQuarter = 1.0f / (1 << shape.dropped);
    const BothFloats nearest = STRATA_EMU_BOTH(slope.part[i] * t.part[i]);
    if constexpr (shape.rises) {
        const __m512 quarter = _mm512_set1_ps(kQuarter);
        const BothFloats above = STRATA_EMU_BOTH(_mm512_fmadd_round_ps(slope.part[i], t.part[i], quarter, kCut));
        return STRATA_EMU_BOTH(_mm512_cvttps_epi32(_mm512_max_ps(nearest.part[i], above.part[i])));
    } else {
        const __m512 quarter = _mm512_set1_ps(-kQuarter);
        const BothFloats below = STRATA_EMU_BOTH(_mm512_fmadd_round_ps(slope.part[i], t.part[i], quarter, kUp));
        return STRATA_EMU_BOTH(_mm512_cvt_roundps_epi32(_mm512_min_ps(nearest.part[i], below.part[i]), kUp));
    }
}
/// inner * square to nearest, from 2^24 on of 24 bits; a half goes up, of roots to even.
template <const RootShape& shape>
STRATA_EMU_INLINE BothBits root_bend(const BothFloats& inner, const BothFloats& square) {
    const BothFloats nearest = STRATA_EMU_BOTH(inner.part[i] * square.part[i]);
    if constexpr (shape.rises) {
        const __m512 base = _mm512_set1_ps(0x1p23f);  // beside which ones are last places; what is larger comes to less
        const BothBits whole = STRATA_EMU_BOTH(
            _mm512_sub_epi32((__m512i)_mm512_fmadd_ps(inner.part[i], square.part[i], base), (__m512i)base));
        return STRATA_EMU_BOTH(_mm512_max_epi32(_mm512_cvttps_epi32(nearest.part[i]), whole.part[i]));
    } else {
        const __m512 half = _mm512_set1_ps(0.5f);
        const BothFloats above = STRATA_EMU_BOTH(_mm512_fmadd_round_ps(inner.part[i], square.part[i], half, kCut));
        return STRATA_EMU_BOTH(_mm512_cvttps_epi32(_mm512_max_ps(nearest.part[i], above.part[i])));
    }
}
/// The coefficient of the square, with the cubic one's part.
template <const RootShape& shape>
STRATA_EMU_INLINE BothFloats root_inner(const BothBits& n, const BothFloats& t) {
    constexpr int kBelow = 20 - shape.places();  // the twist's place has 20 bits, the lowest one set
    constexpr float kOne = 1.0f / (1 << shape.twist);
    constexpr int kFrom = kPlaceUnit - shape.places(), kTo = kBelow - shape.twist;
    constexpr float kScale = kTo > kFrom ? static_cast<float>(1 << (kTo - kFrom)) : 1.0f / (1 << (kFrom - kTo));
    const RootTable& table = kRootTable<shape>;
    const __m512 base = _mm512_set1_ps(kTwistBase), one = _mm512_set1_ps(kOne), scale = _mm512_set1_ps(kScale);
    const BothFloats cubic = STRATA_EMU_BOTH(root_factors<shape>(table.twist, n.part[i])),
                     quadratic = STRATA_EMU_BOTH(root_factors<shape>(table.bend, n.part[i]));
    const BothFloats place = STRATA_EMU_BOTH(_mm512_fmadd_ps(t.part[i], scale, one));
    return STRATA_EMU_BOTH(quadratic.part[i] - _mm512_fmadd_ps(cubic.part[i], place.part[i], base));
}

/// The root of mantissas; the result's exponent is that of `one`.
template <const RootShape& shape>
STRATA_EMU_INLINE BothBits roots_of(const BothBits& x) {
    const RootTable& table = kRootTable<shape>;
    constexpr int kPlaces = shape.places();
    const BothBits n = STRATA_EMU_BOTH(_mm512_srli_epi32(x.part[i], kPlaces));
    const BothFloats t = STRATA_EMU_BOTH(single_of_bits(x.part[i], (1u << kPlaces) - 1, kPlaceUnit - kPlaces));
    const BothFloats slope = STRATA_EMU_BOTH(root_factors<shape>(table.linear, n.part[i]));
    const BothFloats coarse = STRATA_EMU_BOTH(_mm512_roundscale_ps(t.part[i], (17 - kPlaceUnit) << 4 | kCut));
    const BothFloats inner = root_inner<shape>(n, t);
    const BothFloats square =
        STRATA_EMU_BOTH(_mm512_roundscale_ps(_mm512_mul_round_ps(coarse.part[i], coarse.part[i], kCut), kDown));
    const BothBits line = root_line<shape>(slope, t), bend = root_bend<shape>(inner, square);
    const BothBits part = STRATA_EMU_BOTH(_mm512_slli_epi32(line.part[i], shape.fine - 5)),
                   rest = STRATA_EMU_BOTH(root_entries<shape>(table.rest, n.part[i]));
    const BothBits sum =
        STRATA_EMU_BOTH((__m512i)(shape.rises ? (Signed)rest.part[i] + (Signed)part.part[i] - (Signed)bend.part[i]
                                              : (Signed)rest.part[i] - (Signed)part.part[i] + (Signed)bend.part[i]));
    // Ones added to an even number, a half up: of a half alone the last place is even.
    const BothBits result = STRATA_EMU_BOTH(
        _mm512_add_epi32(root_entries<shape>(table.whole, n.part[i]), _mm512_srai_epi32(sum.part[i], shape.fine)));
    const __m512i below = _mm512_set1_epi32((1 << shape.fine) - 1), even = _mm512_set1_epi32(~1);
    return STRATA_EMU_BOTH(
        _mm512_mask_and_epi32(result.part[i], _mm512_testn_epi32_mask(sum.part[i], below), result.part[i], even));
}
#undef STRATA_EMU_BOTH
#else
struct RootTable {
    alignas(64) int32_t constant[64], linear[64], bend[64];  ///< bend: quadratic and, in 11 bits, cubic coefficients
};
constexpr RootTable root_table(const RootShape& shape) {
    const Polynomials from = polynomials(shape.table);
    RootTable all = {};
    for (int n = 0; n < 64; ++n) {
        all.constant[n] = from.constant[n];
        all.linear[n] = from.linear[n] << shape.widened;
        all.bend[n] = from.quadratic[n] << 11 | from.cubic[n];
    }
    return all;
}
template <const RootShape& shape>
constexpr RootTable kRootTable = root_table(shape);

/// `n` is the interval, `place` the coordinate within it as a fraction of 32 bits.
template <const RootShape& shape>
STRATA_EMU_INLINE Bits root_at(const Bits& n, const Bits& place) {
    const RootTable& table = kRootTable<shape>;
    const Bits slope = entries<shape.rows>(table.linear, n), product = upper_product(slope, place);
    const Signed large = (Signed)(product >> 25 != 0);
    Bits rounded = product + (large ? all_lanes(shape.many) : all_lanes(shape.few));
    if constexpr (!shape.rises)  // a tie goes to even
        rounded -= slope * place == 0 ? (large ? ~product >> 2 & 1 : all_lanes(1)) : Bits{};
    const Bits linear = rounded >> shape.dropped;
    const Bits bends = entries<shape.rows>(table.bend, n), twist = (bends & 0x7ff) * (place >> 12 | 1);
    const Bits inner = (bends >> 11 << shape.bend) + (Bits)((Signed)((1u << (shape.twist - 1)) - twist) >> shape.twist);
    const Bits coarse = place >> 15 << 11, square = upper_product(coarse, coarse);
    const Bits bent = upper_product(inner << 8, square << 2);
    Bits half = all_lanes(1);
    if constexpr (shape.rises) half = (inner * square << 10) == 0 ? bent >> 1 & 1 : half;
    const Bits bend = (bent >> 25) != 0 ? (bent + 2) >> 2 << 1 : (bent + half) >> 1;
    // The constant is whole in the last place but for two bits.
    constexpr int kFine = shape.fine;
    const Bits constant = entries<shape.rows>(table.constant, n), whole = constant >> 2,
               rest = (constant & 3) << (kFine - 2), part = linear << (kFine - 5);
    const Signed sum = (Signed)(shape.rises ? rest + part - bend : rest - part + bend), up = sum >> kFine;
    constexpr int32_t kHalf = 1 << (kFine - 1);
    return whole + shape.one + (Bits)((sum + (kHalf - 1) + (((Signed)whole + up) & 1)) >> kFine);
}
/// The root of the mantissa; the result's exponent is that of `one`.
template <const RootShape& shape>
STRATA_EMU_INLINE Bits root_of(const Bits& x) {
    const Bits index = shape.parity ? (x & 0xffffff) ^ 0x800000 : x & 0x7fffff;
    return root_at<shape>(index >> shape.places(), index << (32 - shape.places()));
}
#endif

/// 32 lanes.
union Rows {
    U32 row;
    Bits part[2];
};
STRATA_EMU_INLINE bool positive_and_normal(const Rows& x) {
#if defined(__AVX512DQ__)
    constexpr int kAnythingElse = 0xff;
    return (_mm512_fpclass_ps_mask((__m512)x.part[0], kAnythingElse) |
            _mm512_fpclass_ps_mask((__m512)x.part[1], kAnythingElse)) == 0;
#else
    return !dots::any((Signed)(x.part[0] - 0x800000 >= 0x7f000000) | (Signed)(x.part[1] - 0x800000 >= 0x7f000000));
#endif
}
template <const RootShape& shape>
STRATA_EMU_INLINE Rows row_of_roots(const Rows& x) {
    Rows result;
#if defined(__AVX512F__)
    const BothBits both = roots_of<shape>({{(__m512i)x.part[0], (__m512i)x.part[1]}});
    for (int i = 0; i < 2; ++i) result.part[i] = (Bits)both.part[i];
#else
    for (int i = 0; i < 2; ++i) result.part[i] = root_of<shape>(x.part[i]);
#endif
    return result;
}

}  // namespace trans_rdna_ops
}  // namespace strata::emu::STRATA_EMU_VARIANT
