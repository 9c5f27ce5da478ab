#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "strata/asm/emu/machine/workgroup.h"
#include "strata/asm/emu/scalar/scalar.h"

// Scalar floats (RDNA3.5 and RDNA4 ISA, "Scalar ALU Operations"). An operation is done in double with rounding to odd.
// One rounding to the result's format in MODE's direction then gives the correctly rounded result.
namespace strata::emu {
namespace {

/// A format by its field widths, MODE fields and the conversions to and from its bits.
template <int Mantissa, int Exponent, int RoundShift, int DenormShift>
struct Format {
    static constexpr int mantissa = Mantissa, bias = (1 << (Exponent - 1)) - 1;
    static constexpr u32 sign = 1u << (Mantissa + Exponent), infinity = ((1u << Exponent) - 1) << Mantissa,
                         quiet = 1u << (Mantissa - 1), bits = sign | (sign - 1);
    static u32 rounding(u32 mode) { return mode >> RoundShift & 3; }
    static bool keeps_inputs(u32 mode) { return mode >> DenormShift & 1; }
    static bool keeps_results(u32 mode) { return mode >> DenormShift & 2; }
    static bool is_nan(u32 x) { return (x & ~sign & bits) > infinity; }
};
using Single = Format<23, 8, 0, 4>;
using Half = Format<10, 5, 2, 6>;
constexpr u32 kIeee = 1u << 9, kFp16Ovfl = 1u << 23;

enum Rounding : u32 { nearest, up, down, zero };

template <class F>
double value_of(u32 bits) {
    const u32 magnitude = bits & (F::sign - 1);
    const int exponent = static_cast<int>(magnitude >> F::mantissa);
    const u32 fraction = magnitude & ((1u << F::mantissa) - 1);
    double value;
    if (magnitude >= F::infinity)
        value = fraction ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
    else if (exponent == 0)
        value = std::ldexp(fraction, 1 - F::bias - F::mantissa);
    else
        value = std::ldexp(fraction | 1u << F::mantissa, exponent - F::bias - F::mantissa);
    return bits & F::sign ? -value : value;
}

/// A source as the ALU sees it: denormals may be flushed.
template <class F>
u32 input(u32 bits, u32 mode) {
    bits &= F::bits;
    const bool denormal = (bits & F::infinity) == 0;
    return denormal && !F::keeps_inputs(mode) ? bits & F::sign : bits;
}

/// x + y rounded to odd: the last bit says that something was cut off.
double add_to_odd(double x, double y) {
    const double sum = x + y;
    if (!std::isfinite(sum)) return sum;
    const double shadow = sum - x, error = (x - (sum - shadow)) + (y - shadow);
    if (error == 0) return sum;
    u64 bits = std::bit_cast<u64>(sum);
    if (bits & 1) return sum;
    const bool outward = (error > 0) == (sum > 0);
    return std::bit_cast<double>(outward ? bits + 1 : bits - 1);
}

bool rounds_away(Rounding rounding, bool negative, u64 rest, u64 half, bool odd) {
    switch (rounding) {
        case nearest: return rest > half || (rest == half && odd);
        case up: return rest != 0 && !negative;
        case down: return rest != 0 && negative;
        default: return false;
    }
}

/// A double, not NaN, rounded to the format. `from_finite`: no input was infinite, so FP16_OVFL may clamp.
template <class F>
u32 round_to(double x, u32 mode, Rounding rounding, bool from_finite) {
    const u64 raw = std::bit_cast<u64>(x);
    const bool negative = raw >> 63;
    const u32 sign = negative ? F::sign : 0;
    if (std::isinf(x)) return sign | F::infinity;
    if (x == 0) return sign;
    // The magnitude is m * 2^e with m of 53 bits; the result keeps `F::mantissa` + 1 of them, fewer below its range.
    int exponent;
    const double fraction = std::frexp(std::fabs(x), &exponent);
    const u64 m = static_cast<u64>(std::ldexp(fraction, 53));
    const int biased = std::max(exponent - 1 + F::bias, 0);
    const int lost = 53 - (F::mantissa + 1) + (biased == 0 ? std::min(2 - F::bias - exponent, 64) : 0);
    u64 kept = lost > 63 ? 0 : m >> lost;
    const u64 rest = lost > 63 ? 1 : m & ((u64{1} << lost) - 1), half = lost > 63 ? 2 : u64{1} << (lost - 1);
    if (rounds_away(rounding, negative, rest, half, kept & 1)) ++kept;
    // With the hidden bit added, a carry goes on into the exponent by itself.
    const u64 result = biased == 0 ? kept : kept + (static_cast<u64>(biased - 1) << F::mantissa);
    if (result >= F::infinity) {
        const bool to_infinity = rounding == nearest || (rounding == up && !negative) || (rounding == down && negative);
        const bool clamp = F::mantissa == Half::mantissa && (mode & kFp16Ovfl) && from_finite;
        return sign | (to_infinity && !clamp ? F::infinity : F::infinity - 1);
    }
    if (result < (u64{1} << F::mantissa) && !F::keeps_results(mode)) return sign;
    return sign | static_cast<u32>(result);
}
template <class F>
u32 round_to(double x, u32 mode, bool from_finite) {
    return round_to<F>(x, mode, static_cast<Rounding>(F::rounding(mode)), from_finite);
}

template <class F, class... Bits>
u32 first_nan(Bits... bits) {
    u32 nan = F::sign | F::infinity | F::quiet;  // an invalid operation, as of the vector ALU
    bool found = false;
    ((found || !F::is_nan(bits) ? (void)0 : (void)(nan = bits | F::quiet, found = true)), ...);
    return nan;
}

/// A zero sum of numbers that are not both zeros of one sign: +0, or -0 when rounding down.
template <class F>
double signed_zero(double sum, double x, double y, u32 mode) {
    if (sum != 0 || (x == 0 && y == 0 && std::signbit(x) == std::signbit(y))) return sum;
    return F::rounding(mode) == down ? -0.0 : 0.0;
}

template <class F>
u32 add(u32 a, u32 b, u32 mode) {
    const double x = value_of<F>(input<F>(a, mode)), y = value_of<F>(input<F>(b, mode)), sum = add_to_odd(x, y);
    if (std::isnan(sum)) return first_nan<F>(a & F::bits, b & F::bits);
    return round_to<F>(signed_zero<F>(sum, x, y, mode), mode, std::isfinite(x) && std::isfinite(y));
}
template <class F>
u32 sub(u32 a, u32 b, u32 mode) {
    return F::is_nan(b & F::bits) && !F::is_nan(a & F::bits) ? (b & F::bits) | F::quiet : add<F>(a, b ^ F::sign, mode);
}
template <class F>
u32 mul(u32 a, u32 b, u32 mode) {
    const double x = value_of<F>(input<F>(a, mode)), y = value_of<F>(input<F>(b, mode)), product = x * y;
    if (std::isnan(product)) return first_nan<F>(a & F::bits, b & F::bits);
    return round_to<F>(product, mode, std::isfinite(x) && std::isfinite(y));
}
template <class F>
u32 fma(u32 a, u32 b, u32 c, u32 mode) {
    const double x = value_of<F>(input<F>(a, mode)), y = value_of<F>(input<F>(b, mode)),
                 z = value_of<F>(input<F>(c, mode)), product = x * y, sum = add_to_odd(product, z);
    if (std::isnan(sum)) return first_nan<F>(a & F::bits, b & F::bits, c & F::bits);
    return round_to<F>(signed_zero<F>(sum, product, z, mode), mode,
                       std::isfinite(x) && std::isfinite(y) && std::isfinite(z));
}

/// -0 < +0. `Number`: a NaN gives the other operand; else it is the result.
template <class F, bool Largest, bool Number>
u32 extreme(u32 a, u32 b, u32 mode) {
    a = input<F>(a, mode), b = input<F>(b, mode);
    const bool nan_a = F::is_nan(a), nan_b = F::is_nan(b);
    if (Number && nan_a != nan_b) return nan_a ? b : a;
    if (nan_a || nan_b) return (nan_a ? a : b) | F::quiet;
    const double x = value_of<F>(a), y = value_of<F>(b);
    const bool less = x < y || (x == y && std::signbit(x) && !std::signbit(y));
    const bool greater = x > y || (x == y && !std::signbit(x) && std::signbit(y));
    return (Largest ? greater : less) ? a : b;
}

/// RDNA3.5 ISA, S_MIN_F32: a NaN gives the other operand, but with MODE.IEEE a signalling one gives itself made quiet.
template <class F, bool Largest>
u32 extreme_of_mode(u32 a, u32 b, u32 mode) {
    const auto signals = [](u32 x) { return F::is_nan(x) && !(x & F::quiet); };
    if (mode & kIeee)
        for (const u32 x : {a & F::bits, b & F::bits})
            if (signals(x)) return x | F::quiet;
    a = input<F>(a, mode), b = input<F>(b, mode);
    if (F::is_nan(b)) return a;
    return F::is_nan(a) ? b : extreme<F, Largest, true>(a, b, mode);
}

enum class To { ceil, floor, trunc, even };
template <class F, To to>
u32 integral(u32 a, u32 mode) {
    a = input<F>(a, mode);
    if (F::is_nan(a)) return a | F::quiet;
    const double x = value_of<F>(a);
    const double r = to == To::ceil    ? std::ceil(x)
                     : to == To::floor ? std::floor(x)
                     : to == To::trunc ? std::trunc(x)
                                       : std::nearbyint(x);
    return round_to<F>(std::copysign(r, x), mode, true);
}

template <class From, class To_>
u32 convert(u32 a, u32 mode, Rounding rounding) {
    const u32 raw = a & From::bits;
    a = input<From>(a, mode);
    if (From::is_nan(raw)) {
        constexpr int wider = To_::mantissa - From::mantissa;
        const u32 fraction = raw & ((1u << From::mantissa) - 1);
        const u32 moved = wider >= 0 ? fraction << std::max(wider, 0) : fraction >> std::max(-wider, 0);
        return (raw & From::sign ? To_::sign : 0) | To_::infinity | To_::quiet | moved;
    }
    return round_to<To_>(value_of<From>(a), mode, rounding, std::isfinite(value_of<From>(a)));
}
template <class From, class To_>
u32 convert(u32 a, u32 mode) {
    return convert<From, To_>(a, mode, static_cast<Rounding>(To_::rounding(mode)));
}

/// Toward zero, saturating; NaN gives 0.
u32 to_integer(u32 a, u32 mode, double low, double high) {
    const double x = value_of<Single>(input<Single>(a, mode));
    if (std::isnan(x)) return 0;
    return static_cast<u32>(static_cast<i64>(std::trunc(std::clamp(x, low, high))));
}

enum class Relation { lt, eq, le, gt, lg, ge, o, u, nge, nlg, ngt, nle, neq, nlt };
template <class F, Relation relation>
bool holds(u32 a, u32 b, u32 mode) {
    const double x = value_of<F>(input<F>(a, mode)), y = value_of<F>(input<F>(b, mode));
    const bool unordered = std::isnan(x) || std::isnan(y), less = x<y, greater = x> y, equal = x == y;
    switch (relation) {
        case Relation::lt: return less;
        case Relation::eq: return equal;
        case Relation::le: return less || equal;
        case Relation::gt: return greater;
        case Relation::lg: return less || greater;
        case Relation::ge: return greater || equal;
        case Relation::o: return !unordered;
        case Relation::u: return unordered;
        case Relation::nge: return !(greater || equal);
        case Relation::nlg: return !(less || greater);
        case Relation::ngt: return !greater;
        case Relation::nle: return !(less || equal);
        case Relation::neq: return !equal;
        default: return !less;
    }
}

/// Rows: `a`, `b`, `d` are the sources and the old destination, `m` the MODE.
#define FLOAT(mnemonic, ...)                                                \
    const Op* mnemonic(Wave* wave, const Op* op) {                          \
        {                                                                   \
            [[maybe_unused]] const u32 a = source<u32>(wave, op, 0);        \
            [[maybe_unused]] const u32 b = source<u32>(wave, op, 1);        \
            [[maybe_unused]] const u32 d = at<u32>(wave, op->scalar().dst); \
            [[maybe_unused]] const u32 m = wave->mode;                      \
            put<u32>(wave, op->scalar().dst, __VA_ARGS__);                  \
        }                                                                   \
        STRATA_EMU_NEXT;                                                    \
    }
#define COMPARE(mnemonic, F, relation)                                                                            \
    const Op* mnemonic(Wave* wave, const Op* op) {                                                                \
        wave->scc = holds<F, Relation::relation>(source<u32>(wave, op, 0), source<u32>(wave, op, 1), wave->mode); \
        STRATA_EMU_NEXT;                                                                                          \
    }
#include "strata/asm/emu/scalar/float.def"
#undef FLOAT
#undef COMPARE

const std::vector<NamedHandler>& table() {
    static const std::vector<NamedHandler> rows = [] {
        std::vector<NamedHandler> all = {
#define FLOAT(mnemonic, ...) {#mnemonic, mnemonic},
#define COMPARE(mnemonic, ...) {#mnemonic, mnemonic},
#include "strata/asm/emu/scalar/float.def"
#undef FLOAT
#undef COMPARE
        };
        std::ranges::sort(all, {}, &NamedHandler::mnemonic);
        return all;
    }();
    return rows;
}

}  // namespace

Handler choose_salu_float(const Decoded& decoded) {
    auto it = std::ranges::lower_bound(table(), decoded.name, {}, &NamedHandler::mnemonic);
    return it != table().end() && it->mnemonic == decoded.name ? it->run : nullptr;
}

}  // namespace strata::emu
