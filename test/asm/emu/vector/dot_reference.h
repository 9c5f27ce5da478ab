#pragma once
#include <bit>
#include <optional>
#include <span>
#include <vector>

#include "reference.h"

// Sums of products of gfx1100 and gfx1201 in whole numbers. Every term is cut off on the grid of the largest; floats
// only round the end. silicon_test.cpp holds it to what the chips gave.
namespace strata::emu::reference {

struct NumberFormat {
    int mantissa, exponent;
    bool infinities = true, denormals = true;
};
constexpr NumberFormat kHalf{10, 5}, kBrain{7, 8}, kFlushedBrain{7, 8, true, false}, kFp8{3, 4, false}, kBf8{2, 5};

struct Term {
    __int128 significand;
    int exponent, place;
    bool negative, nan, infinite;
};
inline Term term(const NumberFormat& f, uint32_t x) {
    const int last = (1 << f.exponent) - 1, bias = last / 2;
    const int field = static_cast<int>(x >> f.mantissa) & last,
              fraction = static_cast<int>(x) & ((1 << f.mantissa) - 1);
    Term t{fraction, 0, std::max(field, 1) - bias, (x >> (f.mantissa + f.exponent) & 1) != 0, false, false};
    t.exponent = t.place - f.mantissa;
    if (field > 0) t.significand += 1 << f.mantissa;
    if (field == 0 && !f.denormals) t.significand = 0;
    if (field == last) {
        t.infinite = f.infinities && fraction == 0;
        t.nan = f.infinities ? fraction != 0 : fraction == (1 << f.mantissa) - 1;
    }
    return t;
}
inline Term product(const Term& a, const Term& b) {
    const bool invalid = (a.infinite && b.significand == 0) || (b.infinite && a.significand == 0);
    return {a.significand * b.significand, a.exponent + b.exponent,   a.place + b.place,
            a.negative != b.negative,      a.nan || b.nan || invalid, a.infinite || b.infinite};
}
/// x * 2^(from - to), rounded down.
inline __int128 moved(__int128 x, int from, int to) {
    const int left = from - to;
    if (x == 0 || left >= 0) return x == 0 ? 0 : x << left;
    return left < -120 ? (x < 0 ? -1 : 0) : x >> -left;
}

struct DotChip {
    bool rdna4;
    int group = 2;             ///< products that are added first (RDNA4)
    std::optional<int> least;  ///< the addend's place sinks no further
};
struct Dot {
    Wide value = 0;
    std::optional<uint32_t> special;  ///< the bits of a single
};

inline std::optional<uint32_t> special_sum(const DotChip& chip, bool factor_nan, std::span<const Term> products,
                                           uint32_t c) {
    bool invalid = false, up = false, down = false;
    for (const Term& p : products) invalid |= p.nan, (p.negative ? down : up) |= p.infinite;
    const uint32_t size = c & 0x7fffffff;
    if (factor_nan) return 0xffc00a3d;
    if (invalid || (up && down)) return chip.group == 4 ? 0xffc00a3d : 0xffc00000;
    if (size > 0x7f800000) return c | 0x400000;
    if (size == 0x7f800000) (c >> 31 ? down : up) = true;
    if (up && down) return chip.group == 4 ? 0xffc00a3d : 0xffc00000;
    if (up || down) return down ? 0xff800000 : 0x7f800000;
    return std::nullopt;
}

inline Dot dot_sum(const DotChip& chip, std::span<const Term> a, std::span<const Term> b, uint32_t c_bits) {
    Term c = term({23, 8, true, chip.rdna4}, c_bits);
    std::vector<Term> products;
    bool factor_nan = false;
    std::optional<int> highest;
    auto rises = [](std::optional<int>& to, int place) { to = to ? std::max(*to, place) : place; };
    for (size_t i = 0; i < a.size(); ++i) {
        factor_nan |= a[i].nan || b[i].nan;
        products.push_back(product(a[i], b[i]));
        if (products.back().significand) rises(highest, products.back().place - 24);
    }
    Dot dot;
    if ((dot.special = special_sum(chip, factor_nan, products, c_bits))) return dot;
    std::optional<int> grid = highest;
    if (c.significand) rises(grid, std::max(c.place, chip.least.value_or(c.place)) - 26);
    if (!grid) return dot;
    if (chip.least) rises(grid, *chip.least - 26);
    __int128 total = 0;
    if (chip.rdna4) {
        const bool below_one = moved(c.significand, c.exponent, *grid) == 0;
        if (!below_one || *grid <= *chip.least)
            total = moved(c.negative ? -c.significand : c.significand, c.exponent, *grid);
        for (size_t first = 0; first < products.size(); first += static_cast<size_t>(chip.group)) {
            const auto group = std::span(products).subspan(first, static_cast<size_t>(chip.group));
            std::optional<int> place;
            for (const Term& p : group)
                if (p.significand) rises(place, p.place - 24);
            if (!place) continue;
            __int128 sum = 0;
            for (const Term& p : group) sum += moved(p.negative ? -p.significand : p.significand, p.exponent, *place);
            total += moved(sum, *place, *grid);
        }
    } else {
        total = moved(c.significand, c.exponent, *grid);
        for (const Term& p : products) {
            const __int128 units = moved(p.significand, p.exponent, *grid);
            total += p.negative == c.negative ? units : ~units;
        }
        if (c.negative) total = -total;
    }
    bool nothing = c.significand == 0;
    for (const Term& p : products) nothing &= p.significand == 0;
    if (!nothing) dot.value = std::ldexp(static_cast<Wide>(total), *grid);
    return dot;
}

inline uint32_t single_of(const DotChip& chip, const Dot& dot) {
    if (dot.special) return *dot.special;
    const Wide normal = rounded(dot.value, 24, chip.rdna4 ? -149 : -1000, std::numeric_limits<float>::max());
    if (normal == 0 || (!chip.rdna4 && std::fabs(normal) < 0x1p-126L)) return 0;
    return float_bits(static_cast<float>(normal));
}

/// The numbers in a word, from the lowest.
inline std::vector<uint32_t> parts(const NumberFormat& f, uint32_t word) {
    const int width = 1 + f.mantissa + f.exponent;
    std::vector<uint32_t> all;
    for (int at = 0; at < 32; at += width) all.push_back(word >> at & ((1u << width) - 1));
    return all;
}
inline std::vector<Term> terms(const NumberFormat& f, std::span<const uint32_t> numbers) {
    std::vector<Term> all;
    for (const uint32_t x : numbers) all.push_back(term(f, x));
    return all;
}
inline const NumberFormat& brain_format(bool rdna4) { return rdna4 ? kBrain : kFlushedBrain; }

// The sum of products of numbers one an element. Pairs are added first, but for bytes.
inline uint32_t dot_single(bool rdna4, const NumberFormat& fa, const NumberFormat& fb, std::span<const uint32_t> a,
                           std::span<const uint32_t> b, uint32_t c) {
    const DotChip chip{rdna4, fa.mantissa < 4 ? 4 : 2, rdna4 ? std::optional(-126) : std::nullopt};
    return single_of(chip, dot_sum(chip, terms(fa, a), terms(fb, b), c));
}
inline uint32_t dot_f16(bool rdna4, std::span<const uint32_t> a, std::span<const uint32_t> b, uint32_t c,
                        bool saturates) {
    const Wide addend = half_value(c);
    const uint32_t wide = std::isnan(addend) ? (c & 0x8000) << 16 | 0x7f800000 | (c & 0x3ff) << 13
                                             : float_bits(static_cast<float>(addend));
    const Dot dot = dot_sum({rdna4, 2, -14}, terms(kHalf, a), terms(kHalf, b), wide);
    if (dot.special)
        return *dot.special == 0xffc00a3d ? 0xfe3d
                                          : (*dot.special >> 16 & 0x8000) | 0x7c00 | (*dot.special >> 13 & 0x3ff);
    const uint32_t bits = half_bits(dot.value);
    return (bits & 0x7fff) == 0 ? 0 : bits - ((bits & 0x7fff) == 0x7c00 && saturates);
}
inline uint32_t dot_bf16(bool rdna4, std::span<const uint32_t> a, std::span<const uint32_t> b, uint32_t c) {
    const uint32_t single = dot_single(rdna4, brain_format(rdna4), brain_format(rdna4), a, b, c << 16);
    return single == 0xffc00a3d ? 0xfffd : single >> 16;
}

// The same of the numbers in words.
inline uint32_t dot_single(bool rdna4, const NumberFormat& fa, const NumberFormat& fb, uint32_t a, uint32_t b,
                           uint32_t c) {
    return dot_single(rdna4, fa, fb, parts(fa, a), parts(fb, b), c);
}
inline uint32_t dot2_f16(bool rdna4, uint32_t a, uint32_t b, uint32_t c, bool saturates = false) {
    return dot_f16(rdna4, parts(kHalf, a), parts(kHalf, b), c, saturates);
}
inline uint32_t dot2_bf16(bool rdna4, uint32_t a, uint32_t b, uint32_t c) {
    return dot_bf16(rdna4, parts(kBrain, a), parts(kBrain, b), c);
}

}  // namespace strata::emu::reference
