#pragma once
#include <algorithm>

#include "rounded.h"
#include "scalar_model.h"

// Scalar floats (RDNA3.5 and RDNA4 ISA, "SALU floating point"): MODE's round and denormal fields apply as in the VALU.
namespace strata::emu::harness::scalar {

inline Rounding rounding_of(const ScalarCase& c, FloatFormat f) {
    return static_cast<Rounding>(c.mode >> (f.fraction == 23 ? 0 : 2) & 3);
}
/// Bit 0 of a denormal field keeps those of sources, bit 1 those of results.
inline bool keeps(const ScalarCase& c, FloatFormat f, bool result) {
    return c.mode >> ((f.fraction == 23 ? 4 : 6) + result) & 1;
}
inline uint32_t source(const ScalarCase& c, uint64_t bits, FloatFormat f) {
    auto value = static_cast<uint32_t>(bits) & (f.sign() | (f.sign() - 1));
    if (!keeps(c, f, false) && (value & (f.sign() - 1)) < (1u << f.fraction)) value &= f.sign();
    return value;
}

/// Sum of nothing but rounding: of a * b + c. An exact zero of two opposite terms is -0 only when rounding down.
inline void fused(ScalarCase& c, FloatFormat f, uint64_t a, uint64_t b, uint64_t add, bool subtract = false) {
    c.float_mode = true;
    const double x = exact_value(source(c, a, f), f), y = exact_value(source(c, b, f), f);
    const double z = exact_value(source(c, add, f), f) * (subtract ? -1 : 1);
    double value = fused_to_odd(x, y, z);
    const Rounding rounding = rounding_of(c, f);
    if (value == 0 && x * y == -z && std::signbit(x * y) != std::signbit(z))
        value = rounding == Rounding::down ? -0.0 : 0.0;
    c.any_nan = std::isnan(value);
    c.set(rounded(value, f, rounding, keeps(c, f, true)));
}

inline void product(ScalarCase& c, FloatFormat f) {
    c.float_mode = true;
    const double value = exact_value(source(c, c.a, f), f) * exact_value(source(c, c.b, f), f);  // exact
    c.any_nan = std::isnan(value);
    c.set(rounded(value, f, rounding_of(c, f), keeps(c, f, true)));
}

/// Less, with -0 below +0.
inline bool below(uint64_t a, uint64_t b, FloatFormat f) {
    const double x = exact_value(static_cast<uint32_t>(a), f), y = exact_value(static_cast<uint32_t>(b), f);
    return x < y || (x == 0 && y == 0 && a & f.sign() && !(b & f.sign()));
}
inline void extreme(ScalarCase& c, FloatFormat f, bool largest, bool prefers_numbers) {
    const uint32_t mask = f.sign() | (f.sign() - 1), a = c.ua() & mask, b = c.ub() & mask;
    const bool nan_a = f.is_nan(a), nan_b = f.is_nan(b);
    if (prefers_numbers) {
        if (nan_a && nan_b) return c.set(a | f.quiet());
        if (nan_a || nan_b) return c.set(nan_a ? b : a);
    } else if (nan_a || nan_b) {
        const bool signals_a = nan_a && !(a & f.quiet()), signals_b = nan_b && !(b & f.quiet());
        return c.set((signals_a ? a : signals_b ? b : nan_a ? a : b) | f.quiet());
    }
    const bool first = largest ? below(b, a, f) : below(a, b, f);
    c.set(first ? a : b);
}

/// RDNA3.5's rule for NaN: MODE.IEEE (bit 9) makes a signalling one the result, quiet; else the other operand is.
inline void extreme_by_ieee(ScalarCase& c, FloatFormat f, bool largest) {
    c.float_mode = true;
    const uint32_t mask = f.sign() | (f.sign() - 1), a = c.ua() & mask, b = c.ub() & mask;
    const auto signals = [&](uint32_t x) { return f.is_nan(x) && !(x & f.quiet()); };
    if (c.mode >> 9 & 1 && (signals(a) || signals(b))) return c.set((signals(a) ? a : b) | f.quiet());
    const uint32_t x = source(c, a, f), y = source(c, b, f);
    if (f.is_nan(x) || f.is_nan(y)) return c.set(f.is_nan(y) ? x : y);
    c.set((largest ? below(y, x, f) : below(x, y, f)) ? x : y);
}

template <class Whole>
void to_whole(ScalarCase& c, FloatFormat f, Whole whole) {
    const uint32_t bits = c.ua() & (f.sign() | (f.sign() - 1));
    if (f.is_nan(bits)) return c.set(bits | f.quiet());
    double value = whole(exact_value(bits, f));
    if (value == 0) value = std::copysign(0.0, bits & f.sign() ? -1.0 : 1.0);
    c.set(rounded(value, f, Rounding::nearest));
}
inline double to_even(double value) {
    const double low = std::floor(value), rest = value - low;
    return rest > 0.5 || (rest == 0.5 && std::fmod(low, 2) != 0) ? low + 1 : low;
}

template <class Rules, class Compare>
void compare(Rules& r, const char* name, Compare holds) {
    for (const FloatFormat& f : {kSingle, kHalf}) {
        const std::string type = f.fraction == 23 ? "_f32" : "_f16";
        auto rule = [=](bool negate) {
            return [=](ScalarCase& c) {
                const uint32_t mask = f.sign() | (f.sign() - 1);
                c.scc = holds(exact_value(c.ua() & mask, f), exact_value(c.ub() & mask, f)) != negate;
            };
        };
        r["s_cmp_" + std::string(name) + type] = rule(false);
        if (std::string_view(name) != "o") r["s_cmp_n" + std::string(name) + type] = rule(true);
    }
}

template <class Rules>
void add_conversions(Rules& r) {
    using C = ScalarCase&;
    auto widen = [](C c, uint64_t half) {
        c.float_mode = true;
        const uint32_t bits = source(c, half & 0xffff, kHalf);
        if (kHalf.is_nan(bits)) return c.set((bits & 0x8000u) << 16 | 0x7fc00000u | (bits & 0x3ffu) << 13);
        c.set(rounded(exact_value(bits, kHalf), kSingle, Rounding::nearest));
    };
    auto narrow = [](const ScalarCase& c, uint64_t single, Rounding rounding) -> uint32_t {
        const uint32_t bits = source(c, single, kSingle);
        if (kSingle.is_nan(bits)) return (bits >> 16 & 0x8000) | 0x7e00 | (bits >> 13 & 0x3ff);
        return rounded(exact_value(bits, kSingle), kHalf, rounding, keeps(c, kHalf, true));
    };
    r["s_cvt_f32_f16"] = [=](C c) { widen(c, c.a); };
    r["s_cvt_hi_f32_f16"] = [=](C c) { widen(c, c.a >> 16); };
    r["s_cvt_f16_f32"] = [=](C c) { c.float_mode = true, c.set(narrow(c, c.a, rounding_of(c, kHalf))); };
    r["s_cvt_pk_rtz_f16_f32"] = [=](C c) {
        c.float_mode = true;
        c.set(narrow(c, c.a, Rounding::zero) | narrow(c, c.b, Rounding::zero) << 16);
    };
    r["s_cvt_f32_i32"] = [](C c) { c.float_mode = true, c.set(rounded(c.ia(), kSingle, rounding_of(c, kSingle))); };
    r["s_cvt_f32_u32"] = [](C c) { c.float_mode = true, c.set(rounded(c.ua(), kSingle, rounding_of(c, kSingle))); };
    auto integer = [](C c, double low, double high) {
        const double value = exact_value(c.ua(), kSingle);
        c.set32(std::isnan(value) ? 0 : static_cast<int64_t>(std::clamp(std::trunc(value), low, high)));
    };
    r["s_cvt_i32_f32"] = [=](C c) { integer(c, -2147483648.0, 2147483647.0); };
    r["s_cvt_u32_f32"] = [=](C c) { integer(c, 0, 4294967295.0); };
}

template <class Rules>
void add_floats(Rules& r) {
    using C = ScalarCase&;
    for (const FloatFormat& f : {kSingle, kHalf}) {
        const std::string t = f.fraction == 23 ? "_f32" : "_f16";
        const uint32_t one = f.fraction == 23 ? 0x3f800000 : 0x3c00;
        r["s_add" + t] = [=](C c) { fused(c, f, c.a, one, c.b); };
        r["s_sub" + t] = [=](C c) { fused(c, f, c.a, one, c.b, true); };
        r["s_mul" + t] = [=](C c) { product(c, f); };
        r["s_fmac" + t] = [=](C c) { fused(c, f, c.a, c.b, c.d); };
        r["s_min_num" + t] = [=](C c) { extreme(c, f, false, true); };
        r["s_max_num" + t] = [=](C c) { extreme(c, f, true, true); };
        r["s_min" + t] = [=](C c) { extreme_by_ieee(c, f, false); };
        r["s_max" + t] = [=](C c) { extreme_by_ieee(c, f, true); };
        r["s_minimum" + t] = [=](C c) { extreme(c, f, false, false); };
        r["s_maximum" + t] = [=](C c) { extreme(c, f, true, false); };
        r["s_ceil" + t] = [=](C c) { to_whole(c, f, [](double v) { return std::ceil(v); }); };
        r["s_floor" + t] = [=](C c) { to_whole(c, f, [](double v) { return std::floor(v); }); };
        r["s_trunc" + t] = [=](C c) { to_whole(c, f, [](double v) { return std::trunc(v); }); };
        r["s_rndne" + t] = [=](C c) { to_whole(c, f, to_even); };
    }
    r["s_fmaak_f32"] = [](C c) { fused(c, kSingle, c.a, c.b, c.literal); };
    r["s_fmamk_f32"] = [](C c) { fused(c, kSingle, c.a, c.literal, c.b); };
    add_conversions(r);
    compare(r, "lt", [](double a, double b) { return a < b; });
    compare(r, "le", [](double a, double b) { return a <= b; });
    compare(r, "gt", [](double a, double b) { return a > b; });
    compare(r, "ge", [](double a, double b) { return a >= b; });
    compare(r, "eq", [](double a, double b) { return a == b; });
    compare(r, "lg", [](double a, double b) { return a < b || a > b; });
    compare(r, "o", [](double a, double b) { return !std::isnan(a) && !std::isnan(b); });
    for (const FloatFormat& f : {kSingle, kHalf}) {
        const std::string t = f.fraction == 23 ? "_f32" : "_f16";
        auto equal = r["s_cmp_eq" + t];
        r["s_cmp_neq" + t] = [=](C c) { equal(c), c.scc = !c.scc; };
        auto ordered = r["s_cmp_o" + t];
        r["s_cmp_u" + t] = [=](C c) { ordered(c), c.scc = !c.scc; };
    }
}

}  // namespace strata::emu::harness::scalar
