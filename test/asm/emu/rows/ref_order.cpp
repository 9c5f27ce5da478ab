#include "valu_model.h"

// Minimum, maximum and median of floats, on their bits. V_MIN_F32 and its kind follow MODE.IEEE, RDNA4's V_MIN_NUM_F32
// does not, and its V_MINIMUM_F32 lets every NaN through. RDNA4's medians tell -0 from +0, as gfx1201 does.
namespace strata::emu::rows {
namespace {

/// A float format by its stored mantissa bits and width.
struct Format {
    int width, mantissa;
    uint64_t sign() const { return uint64_t{1} << (width - 1); }
    uint64_t magnitude(uint64_t x) const { return x & (sign() - 1); }
    uint64_t infinity() const { return (sign() - 1) >> mantissa << mantissa; }
    bool nan(uint64_t x) const { return magnitude(x) > infinity(); }
    bool signaling(uint64_t x) const { return nan(x) && !(x >> (mantissa - 1) & 1); }
    uint64_t quiet(uint64_t x) const { return x | uint64_t{1} << (mantissa - 1); }
    /// Less, -0 below +0.
    bool less(uint64_t a, uint64_t b) const {
        const bool na = a & sign(), nb = b & sign();
        return na != nb ? na : na ? magnitude(a) > magnitude(b) : magnitude(a) < magnitude(b);
    }
    bool equal(uint64_t a, uint64_t b) const { return a == b || (magnitude(a) == 0 && magnitude(b) == 0); }
};
constexpr Format kHalf{16, 10}, kSingle{32, 23}, kDouble{64, 52};

enum Rule { kMode, kNumber, kEveryNan };

uint64_t pick(const Lane& x, Format f, Rule rule, bool largest, uint64_t a, uint64_t b) {
    const bool first_signals = rule == kEveryNan ? f.nan(a) : rule == kMode && x.ieee() && f.signaling(a);
    const bool second_signals = rule == kEveryNan ? f.nan(b) : rule == kMode && x.ieee() && f.signaling(b);
    if (first_signals) return f.quiet(a);
    if (second_signals) return f.quiet(b);
    if (f.nan(a) && f.nan(b)) return f.quiet(a);
    if (f.nan(a)) return b;
    if (f.nan(b)) return a;
    return (largest ? f.less(b, a) : f.less(a, b)) ? a : b;
}
uint64_t pick3(const Lane& x, Format f, Rule rule, bool first, bool second) {
    return pick(x, f, rule, second, pick(x, f, rule, first, x.q(0), x.q(1)), x.q(2));
}
uint64_t median(const Lane& x, Format f, Rule rule) {
    const uint64_t a = x.q(0), b = x.q(1), c = x.q(2);
    if (f.nan(a) || f.nan(b) || f.nan(c)) return pick3(x, f, rule, false, false);
    const uint64_t top = pick3(x, f, rule, true, true);
    auto same = [&](uint64_t p, uint64_t q) { return rule == kMode ? f.equal(p, q) : p == q; };
    if (same(top, a)) return pick(x, f, rule, true, b, c);
    if (same(top, b)) return pick(x, f, rule, true, a, c);
    return pick(x, f, rule, true, a, b);
}

template <int kWidth>
void put(Lane& x, uint64_t bits) {
    x.set(kWidth == 16 ? Bits::f16 : kWidth == 32 ? Bits::f32 : Bits::f64, bits);
}
template <int kWidth>
constexpr Format format_of() {
    return kWidth == 16 ? kHalf : kWidth == 32 ? kSingle : kDouble;
}
template <int kWidth, Rule kRule, bool kLargest>
void two(Lane& x) {
    put<kWidth>(x, pick(x, format_of<kWidth>(), kRule, kLargest, x.q(0), x.q(1)));
}
template <int kWidth, Rule kRule, bool kFirst, bool kSecond>
void three(Lane& x) {
    put<kWidth>(x, pick3(x, format_of<kWidth>(), kRule, kFirst, kSecond));
}
template <int kWidth, Rule kRule>
void middle(Lane& x) {
    put<kWidth>(x, median(x, format_of<kWidth>(), kRule));
}
template <Rule kRule, bool kLargest>
void packed(Lane& x) {
    x.pk_f16(static_cast<uint32_t>(pick(x, kHalf, kRule, kLargest, x.u16(0), x.u16(1))),
             static_cast<uint32_t>(pick(x, kHalf, kRule, kLargest, x.high(0), x.high(1))));
}

constexpr Operation kRows[] = {
    {"v_min_f16", two<16, kMode, false>},
    {"v_min_f32", two<32, kMode, false>},
    {"v_min_f64", two<64, kMode, false>},
    {"v_max_f16", two<16, kMode, true>},
    {"v_max_f32", two<32, kMode, true>},
    {"v_max_f64", two<64, kMode, true>},
    {"v_min3_f16", three<16, kMode, false, false>},
    {"v_min3_f32", three<32, kMode, false, false>},
    {"v_max3_f16", three<16, kMode, true, true>},
    {"v_max3_f32", three<32, kMode, true, true>},
    {"v_med3_f16", middle<16, kMode>},
    {"v_med3_f32", middle<32, kMode>},
    {"v_maxmin_f16", three<16, kMode, true, false>},
    {"v_maxmin_f32", three<32, kMode, true, false>},
    {"v_minmax_f16", three<16, kMode, false, true>},
    {"v_minmax_f32", three<32, kMode, false, true>},
    {"v_pk_min_f16", packed<kMode, false>},
    {"v_pk_max_f16", packed<kMode, true>},

    {"v_min_num_f16", two<16, kNumber, false>},
    {"v_min_num_f32", two<32, kNumber, false>},
    {"v_min_num_f64", two<64, kNumber, false>},
    {"v_max_num_f16", two<16, kNumber, true>},
    {"v_max_num_f32", two<32, kNumber, true>},
    {"v_max_num_f64", two<64, kNumber, true>},
    {"v_min3_num_f16", three<16, kNumber, false, false>},
    {"v_min3_num_f32", three<32, kNumber, false, false>},
    {"v_max3_num_f16", three<16, kNumber, true, true>},
    {"v_max3_num_f32", three<32, kNumber, true, true>},
    {"v_med3_num_f16", middle<16, kNumber>},
    {"v_med3_num_f32", middle<32, kNumber>},
    {"v_maxmin_num_f16", three<16, kNumber, true, false>},
    {"v_maxmin_num_f32", three<32, kNumber, true, false>},
    {"v_minmax_num_f16", three<16, kNumber, false, true>},
    {"v_minmax_num_f32", three<32, kNumber, false, true>},
    {"v_pk_min_num_f16", packed<kNumber, false>},
    {"v_pk_max_num_f16", packed<kNumber, true>},

    {"v_minimum_f16", two<16, kEveryNan, false>},
    {"v_minimum_f32", two<32, kEveryNan, false>},
    {"v_minimum_f64", two<64, kEveryNan, false>},
    {"v_maximum_f16", two<16, kEveryNan, true>},
    {"v_maximum_f32", two<32, kEveryNan, true>},
    {"v_maximum_f64", two<64, kEveryNan, true>},
    {"v_minimum3_f16", three<16, kEveryNan, false, false>},
    {"v_minimum3_f32", three<32, kEveryNan, false, false>},
    {"v_maximum3_f16", three<16, kEveryNan, true, true>},
    {"v_maximum3_f32", three<32, kEveryNan, true, true>},
    {"v_maximumminimum_f16", three<16, kEveryNan, true, false>},
    {"v_maximumminimum_f32", three<32, kEveryNan, true, false>},
    {"v_minimummaximum_f16", three<16, kEveryNan, false, true>},
    {"v_minimummaximum_f32", three<32, kEveryNan, false, true>},
    {"v_pk_minimum_f16", packed<kEveryNan, false>},
    {"v_pk_maximum_f16", packed<kEveryNan, true>},
};

}  // namespace

std::span<const Operation> order_operations() { return kRows; }

}  // namespace strata::emu::rows
