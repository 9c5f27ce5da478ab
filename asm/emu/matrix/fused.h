#pragma once
#include "strata/asm/emu/matrix/results.h"

// CDNA3's sums of products (MMA-Sim, arXiv 2511.10909, held to a MI300X): eight at a time (four of xf32, 16 of bytes).
// Products are cut off 24 places below the largest one's exponent, which is the sum of its factors'; their sum is
// rounded down 31 places. The addend is cut off 24 places below the larger of that exponent and its own. The two are
// added and rounded once, to nearest. Products of bytes are added in two halves, the even and the odd ones, first.
namespace strata::emu::STRATA_EMU_VARIANT {
namespace matrix_ops {

/// Elements and addends whose sums stay within a single's range.
template <bool every>
STRATA_EMU_INLINE Signed fused_outside(const Floats& x) {
    const Bits size = (Bits)x & 0x7fffffff;
    if constexpr (every) return size >= 255u << 23;
    return (size != 0) & ((size < (127 - 36) << 23) | (size >= (127 + 36) << 23));
}
STRATA_EMU_INLINE Signed fused_addend_outside(const Floats& c) {
    const Bits size = (Bits)c & 0x7fffffff;
    return (size != 0) & ((size < (127 - 90) << 23) | (size >= (127 + 76) << 23));
}

/// A sum of products in units of 2^-24 of its place.
struct PlacedSum {
    Signed units, place;
};
template <int first, int step, int terms>
STRATA_EMU_INLINE PlacedSum placed_sum(const Floats* p, const Signed* place) {
    Signed most = place[first], sum{};
    for (int k = first + step; k < terms; k += step) most = dots::larger_of(most, place[k]);
    const Floats units = dots::units_in(most);
    for (int k = first; k < terms; k += step) sum += dots::cut_off(p[k] * units);
    return {sum, most};
}
STRATA_EMU_INLINE Signed lowered(const Signed& x, const Signed& from, const Signed& to) {
    const Bits drop = ((Bits)to - (Bits)from) >> 23;
    return x >> (Signed)(drop > 31 ? Bits{} + 31 : drop);
}

template <int terms, bool bytes>
STRATA_EMU_INLINE Floats fused_step(const Floats* p, const Signed* place, const Floats& c) {
    PlacedSum sum;
    if constexpr (bytes) {
        const auto even = placed_sum<0, 2, terms>(p, place), odd = placed_sum<1, 2, terms>(p, place);
        sum.place = dots::larger_of(even.place, odd.place);
        sum.units = lowered(even.units, even.place, sum.place) + lowered(odd.units, odd.place, sum.place);
    } else {
        sum = placed_sum<0, 1, terms>(p, place);
    }
    const Signed own = dots::larger_of(sum.place, Signed{} + (2 << 23)) - (2 << 23),
                 of_c = (Signed)((Bits)c & 0x7f800000), most = dots::larger_of(own, of_c);
    Signed addend = dots::down(c * (Floats)((278u << 23) - (Bits)most));
    if constexpr (bytes) addend &= of_c >= most - (25 << 23);
    const Bits apart = ((Bits)most - (Bits)own) >> 23;
    const Signed finer = (Signed)(apart < 7 ? 7 - apart : Bits{});  // places of the sum below the addend's
    const Signed rest = lowered(sum.units, own + (7 << 23), dots::larger_of(most, own + (7 << 23)));
    const auto scale = __builtin_convertvector((Floats)((127 + finer) << 23), Doubles);
    const Doubles total =
        step<true>(__builtin_convertvector(rest, Doubles), scale, __builtin_convertvector(addend, Doubles) * 128.0);
    const Bits unit = most > 0 ? (Bits)most - (31u << 23) : Bits{};
    return __builtin_convertvector(total * __builtin_convertvector((Floats)unit, Doubles) + Doubles{}, Floats);
}

/// The same of any elements, lane by lane, without branches, so that loops around it vectorise.
struct AnySum {
    double units = 0;
    int32_t place = dots::kZeroPlace;
};
STRATA_EMU_INLINE int32_t any_place(float x, int32_t least) {
    const int32_t place = static_cast<int32_t>(bits_of(x) >> 23 & 255) - 127;
    return x == 0 ? dots::kZeroPlace : larger(place, least);
}
template <int least_a, int least_b>
STRATA_EMU_INLINE AnySum any_sum(const float* a, const float* b, int first, int step, int terms) {
    AnySum sum;
    for (int k = first; k < terms; k += step)
        sum.place = larger(sum.place, any_place(a[16 * k], least_a) + any_place(b[16 * k], least_b));
    for (int k = first; k < terms; k += step) {
        const double units = static_cast<double>(a[16 * k]) * b[16 * k] * scale_of(24 - sum.place);
        sum.units += units < 0 ? -rounded_down(-units) : rounded_down(units);
    }
    return sum;
}
/// a[k] and b[k] of lane 0 are 16 k floats on.
template <int least_a, int least_b, int terms, bool bytes>
STRATA_EMU_INLINE float fused_any(const float* a, const float* b, float c) {
    constexpr double kInfinity = __builtin_inf();
    double all = c, above = 0, below = 0;
    for (int k = 0; k < terms; ++k) {
        const double product = static_cast<double>(a[16 * k]) * b[16 * k];
        all += product;
        above = product >= 0x1p128 ? kInfinity : above, below = product <= -0x1p128 ? -kInfinity : below;
    }
    AnySum sum = any_sum<least_a, least_b>(a, b, 0, bytes ? 2 : 1, terms);
    if constexpr (bytes) {
        const AnySum odd = any_sum<least_a, least_b>(a, b, 1, 2, terms);
        const int32_t place = larger(sum.place, odd.place);
        sum = {rounded_down(sum.units * scale_of(sum.place - place)) +
                   rounded_down(odd.units * scale_of(odd.place - place)),
               place};
    }
    const int32_t of_c = any_place(c, -126), most = larger(sum.place, of_c);
    const double rest = rounded_down(sum.units * scale_of(sum.place - most + 7));
    const bool dropped = bytes && of_c < most - 25;
    const double addend = dropped ? 0.0 : rounded_down(static_cast<double>(c) * scale_of(24 - most));
    const double finite = (rest + addend * 128.0) * scale_of(most - 31) + 0.0, infinite = above + below;
    return static_cast<float>(all - all != 0 ? all : infinite != 0 ? infinite : finite);
}

/// `least` is the exponent of the elements' denormals; `every`: all finite elements are plain.
template <int least_a, int least_b, int terms, bool bytes, bool every>
struct Fused {
    using Out = ToSingle;
    static constexpr int kTerms = terms;
    alignas(64) int32_t a_place[1024], b_place[1024];
    bool plain;

    Fused(const float* left, const float* right, int count) {
        Signed outside{};
        for (int at = 0; at < count; at += kTile) {
            const auto a = load_as<Floats>(left + at), b = load_as<Floats>(right + at);
            store_as(a_place + at, dots::factor_place<least_a>(a, dots::kLeft));
            store_as(b_place + at, dots::factor_place<least_b>(b, dots::kRight));
            outside |= fused_outside<every>(a) | fused_outside<every>(b);
        }
        plain = !dots::any(outside);
    }
    template <class Left, class Right, class Place>
    STRATA_EMU_INLINE Floats added(const Left& a, const Right& b, const Place& place_of, const Floats& sum) const {
        if (!plain || dots::any(fused_addend_outside(sum))) [[unlikely]] {
            alignas(64) float left[terms * kTile], right[terms * kTile];
            for (int k = 0; k < terms; ++k) store_as(left + kTile * k, a(k)), store_as(right + kTile * k, b(k));
            return added_any(left, right, sum);
        }
        Floats product[terms];
        Signed place[terms];
        for (int k = 0; k < terms; ++k) product[k] = a(k) * b(k), place[k] = place_of(k);
        return fused_step<terms, bytes>(product, place, sum);
    }
    static Floats added_any(const float* left, const float* right, const Floats& addend) {
        alignas(64) float sum[kTile];
        store_as(sum, addend);
        STRATA_EMU_LANE_LOOP
        for (int lane = 0; lane < kTile; ++lane)
            sum[lane] = fused_any<least_a, least_b, terms, bytes>(left + lane, right + lane, sum[lane]);
        return load_as<Floats>(sum);
    }
};

/// MI200's brain floats: four (two) at a time, each product and sum rounded to a single without denormals.
template <int terms>
struct BrainGroups {
    using Out = ToGroups;
    static constexpr int kTerms = terms;
    static constexpr const int32_t *a_place = nullptr, *b_place = nullptr;
    bool plain;  ///< no product or sum can be a denormal

    BrainGroups(const float* left, const float* right, int count) {
        Signed outside{};
        for (int at = 0; at < count; at += kTile)
            outside |=
                fused_outside<false>(load_as<Floats>(left + at)) | fused_outside<false>(load_as<Floats>(right + at));
        plain = !dots::any(outside);
    }
    template <class Left, class Right, class Place>
    STRATA_EMU_INLINE Floats added(const Left& a, const Right& b, const Place&, const Floats& sum) const {
        if (plain) [[likely]]
            return in_order(a, b, sum, [](const Floats& x) STRATA_LAMBDA_INLINE { return x; });
        return in_order(a, b, sum, [](const Floats& x) STRATA_LAMBDA_INLINE { return without_denormals(x); });
    }
    template <class Left, class Right, class Kept>
    static STRATA_EMU_INLINE Floats in_order(const Left& a, const Right& b, const Floats& sum, const Kept& kept) {
        Floats p[terms];
        for (int k = 0; k < terms; ++k) p[k] = kept(a(k) * b(k));
        Floats group = kept(p[0] + p[1]);
        if constexpr (terms == 4) group = kept(group + kept(p[2] + p[3]));
        return kept(sum + group);
    }
};

}  // namespace matrix_ops
}  // namespace strata::emu::STRATA_EMU_VARIANT
