#include "strata/ops/special_p.h"

#include <limits>
#include <numbers>

#include "strata/ops/build_p.h"
#include "strata/ops/gradient_rules.h"
#include "strata/ops/nn.h"

namespace strata::ops {
namespace {

using std::numbers::ln2;
using std::numbers::pi;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// c[0] * x^n + ... + c[n]
template <size_t n>
Tensor polynomial(const Tensor& x, const double (&c)[n]) {
    Tensor out = like(x, c[0]);
    for (size_t i = 1; i < n; ++i) out = out * x + c[i];
    return out;
}

/// |x|, which grows by x on one side of 0 and by -x on the other: with_sign_of(f(magnitude(x)), x) has the slope of f
/// at 0.
Tensor magnitude(const Tensor& x) { return where(sign_bit(x), -x, x); }

Tensor expm1_of(const Tensor& x) { return op(Op::expm1, x); }
Tensor log1p_of(const Tensor& x) { return op(Op::log1p, x); }

/// A value whose slope is 1 / by(x). An infinite one meets no 0 on the way.
Tensor with_slope(const Tensor& value, std::string_view kind, const Tensor& x, Tensor (*by)(const Tensor&)) {
    return with_backward(value, kind, {x}, [=, at = held(x)](const Tensor& g) { return std::vector{g / by(at)}; });
}
Tensor beside_one(const Tensor& x) { return ((1 - x) * (1 + x)).sqrt(); }

/// Two magnitudes in order; of equal ones the second is first.
struct Ordered {
    Tensor is_first, first, second;
};
Ordered ordered(const Tensor& a, const Tensor& b) {
    Tensor is_first = gt(a, b);
    return {is_first, where(is_first, a, b), where(is_first, b, a)};
}

/// x times a step from 0 to 1 that is 0 below -far, where x is another number: -infinity * 0 is NaN.
Tensor stepped(const Tensor& x, const Tensor& step, double far) { return where(lt(x, -far), -1.0, x) * step; }
/// x, and what stands for it beyond -far and far.
Tensor within(const Tensor& x, double far) { return where(lt(far, x.abs()), far, x); }

constexpr double kFarOfDensity = 64;  // the density is 0 there

// 2^(-log2(e) / 2 x^2) / sqrt(2 pi). The exponent's rounding error is an error of the power, which a factor makes up
// for.
Tensor density_within(const Tensor& x) {
    constexpr double kAtZero = std::numbers::inv_sqrtpi / std::numbers::sqrt2, kRate = -0.5 * std::numbers::log2e;
    const bool wide = x.dtype() == dtypes::float64;
    const Tensor rate = like(x, wide ? kRate : static_cast<float>(kRate)),
                 rest = like(x, wide ? -0x1.777d0ffda0d24p-57 : kRate - static_cast<float>(kRate));
    Tensor square = x * x, lost = op(Op::fma, {x, x, -square}), exponent = square * rate;
    Tensor off = op(Op::fma, {square, rest, op(Op::fma, {square, rate, -exponent})});
    off = op(Op::fma, {lost, rate, off});
    return exponent.exp2() * (off * (ln2 * kAtZero) + kAtZero);
}

}  // namespace

Tensor root_of(const Tensor& powers, double order) {
    Tensor none = eq(powers, 0), known = where(none, 1, powers);
    return where(none, 0, order == 2 ? known.sqrt() : pow(known, 1 / order));
}

// Above 20 the other exponential is below half an ulp; exp(x / 2) overflows for no x whose sinh does not.
Tensor sinh_of(const Tensor& x) {
    Tensor a = magnitude(x), t = expm1_of(a.minimum(20.0)), half = (a * 0.5).exp();
    return with_sign_of(where(lt(a, 20.0), (t + t / (t + 1)) * 0.5, half * 0.5 * half), x);
}

Tensor cosh_of(const Tensor& x) {
    Tensor a = magnitude(x), e = a.minimum(20.0).exp(), half = (a * 0.5).exp();
    return where(lt(a, 20.0), (e + 1 / e) * 0.5, half * 0.5 * half);
}

// Cephes, atan.c: about 0, pi/4 or pi/2, then a rational function of x^2 below 0.66.
Tensor atan_of(const Tensor& x) {
    constexpr double above[] = {-8.750608600031904122785e-1, -1.615753718733365076637e1, -7.500855792314704667340e1,
                                -1.228866684490136173410e2, -6.485021904942025371773e1};
    constexpr double below[] = {1,
                                2.485846490142306297962e1,
                                1.650270098316988542046e2,
                                4.328810604912902668951e2,
                                4.853903996359136964868e2,
                                1.945506571482613964425e2};
    Tensor a = magnitude(x), far = gt(a, 2.41421356237309504880), middle = bitwise_and(gt(a, 0.66), far.logical_not());
    Tensor t = where(far, -1 / where(far, a, 1.0), where(middle, (a - 1) / (a + 1), where(far, 0, a)));
    Tensor z = t * t;
    Tensor rest = t * (z * (polynomial(z, above) / polynomial(z, below)));
    Tensor start = where(far, like(x, pi / 2), where(middle, like(x, pi / 4), 0));
    return with_slope(with_sign_of(start + (rest + t), x), "atan", x, [](const Tensor& at) { return at * at + 1; });
}

Tensor asin_of(const Tensor& x) {
    Tensor away = ((1 - x) * (1 + x)).sqrt();
    return with_slope(atan_of(x / (away + 1)) * 2, "asin", x, [](const Tensor& at) { return beside_one(at); });
}

Tensor acos_of(const Tensor& x) {
    Tensor end = eq(x, -1);
    Tensor value = where(end, pi, atan_of(((1 - x) / where(end, 1.0, 1 + x)).sqrt()) * 2);
    return with_slope(value, "acos", x, [](const Tensor& at) { return -beside_one(at); });
}

// Large ones as log(2 x), where squares would overflow or are all there is.
Tensor asinh_of(const Tensor& x) {
    Tensor a = magnitude(x), is_near = lt(a, 1e8), near = where(is_near, a, 1), square = near * near;
    Tensor value = log1p_of(near + square / ((square + 1).sqrt() + 1));
    return with_sign_of(where(is_near, value, where(is_near, 1, a).log() + ln2), x);
}

Tensor acosh_of(const Tensor& x) {
    Tensor beyond = x - 1, near = beyond.minimum(1e8);
    Tensor value = where(lt(x, 1e8), log1p_of(near + (near * (near + 2)).sqrt()), x.log() + ln2);
    return with_slope(where(lt(x, 1), std::numeric_limits<double>::quiet_NaN(), value), "acosh", x,
                      [](const Tensor& at) { return (at - 1).sqrt() * (at + 1).sqrt(); });
}

Tensor atanh_of(const Tensor& x) {
    Tensor a = magnitude(x);
    return with_sign_of(log1p_of(a * 2 / (1 - a)) * 0.5, x);
}

Tensor atan2_of(const Tensor& y, const Tensor& x) {
    Tensor up = magnitude(y), along = magnitude(x);
    Tensor both_infinite = bitwise_and(eq(up, kInfinity), eq(along, kInfinity));
    Tensor both_zero = bitwise_and(eq(up, 0), eq(along, 0));
    const auto [is_steep, big, small] = ordered(up, along);
    Tensor slope = where(both_infinite, 1, where(both_zero, 0, small / where(both_zero, 1, big)));
    Tensor angle = atan_of(slope);
    angle = where(is_steep, pi / 2 - angle, angle);
    angle = where(sign_bit(x), pi - angle, angle);
    return with_sign_of(angle, y);
}

// Infinity with anything, NaN too, is infinity (C11, F.10.4.3).
Tensor hypot_of(const Tensor& a, const Tensor& b) {
    Tensor x = magnitude(a), y = magnitude(b);
    const auto [is_first, big, small] = ordered(x, y);
    Tensor nothing = bitwise_and(eq(big, 0), eq(small, 0)), infinite = bitwise_or(eq(x, kInfinity), eq(y, kInfinity));
    Tensor plain = bitwise_and(nothing.logical_not(), lt(big, kInfinity));
    Tensor part = where(plain, small, 0) / where(plain, big, 1);
    Tensor value = where(nothing, 0, big * (part * part + 1).sqrt());
    return where(infinite, kInfinity, value);
}

Tensor logaddexp_of(const Tensor& a, const Tensor& b) {
    Tensor endless = bitwise_and(eq(a, b), a.isinf());
    const auto [is_first, first, second] = ordered(a, b);
    return first + log1p_of(where(endless, 0, second - first).exp());
}

// At 0 both halves of the slope are the exponential's.
Tensor softplus_of(const Tensor& x) {
    Tensor above = gt(x, 0);
    return where(above, x, 0) + log1p_of(where(above, -x, x).exp());
}

Tensor silu_of(const Tensor& x) {
    constexpr double kFar = 1000;
    return with_backward(stepped(x, x.sigmoid(), kFar), "silu", {x}, [at = held(x)](const Tensor& g) {
        return std::vector{g * at.sigmoid() * (within(at, kFar) * (-at).sigmoid() + 1)};
    });
}

Tensor gelu_of(const Tensor& x) {
    return with_backward(stepped(x, op(Op::ncdf, x), kFarOfDensity), "gelu", {x}, [at = held(x)](const Tensor& g) {
        Tensor near = within(at, kFarOfDensity);
        return std::vector{g * (op(Op::ncdf, at) + near * density_within(near))};
    });
}

// x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3): what is small has all its digits. Beyond 30 the sigmoid is 0 or
// 1, and its slope 0.
Tensor gelu_tanh_of(const Tensor& x) {
    constexpr double kScale = 2 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi, kCube = kScale * 0.044715, kFar = 30;
    const auto near = [](const Tensor& at) { return at.maximum(-kFar).minimum(kFar); };
    const Tensor middle = near(x);
    const Tensor value = stepped(x, (middle * (middle * middle * kCube + kScale)).sigmoid(), kFar);
    return with_backward(value, "gelu_tanh", {x}, [near, at = held(x)](const Tensor& g) {
        const Tensor a = near(at), square = a * a, u = a * (square * kCube + kScale), up = u.sigmoid();
        return std::vector{g * (up + a * (square * (3 * kCube) + kScale) * (up * (-u).sigmoid()))};
    });
}

Tensor erfc(const Tensor& x) { return op(Op::ncdf, x * -std::numbers::sqrt2) * 2; }

Tensor normal_density(const Tensor& x) { return density_within(within(x, kFarOfDensity)); }

Tensor sign_bit(const Tensor& x) { return lt(x.bitcast(bits_of(x.dtype())), 0); }

Tensor with_sign_of(const Tensor& magnitude, const Tensor& sign) {
    return where(eq(sign_bit(magnitude), sign_bit(sign)), magnitude, -magnitude);
}

// Floats of one sign are ordered as their bits are.
Tensor next_after(const Tensor& x, const Tensor& toward) {
    DType type = x.dtype(), bits = bits_of(type);
    Tensor at = x.bitcast(bits);
    Tensor away_from_zero = eq(gt(toward, x), gt(x, 0));
    Tensor beside = (at + where(away_from_zero, 1, -1).cast(bits)).bitcast(type);
    Tensor smallest = with_sign_of(like(at, 1).bitcast(type), toward);
    Tensor moved = where(eq(x, 0), smallest, beside);
    Tensor value = where(eq(x, toward), toward, moved);
    return where(bitwise_or(x.isnan(), toward.isnan()), std::numeric_limits<double>::quiet_NaN(), value);
}

}  // namespace strata::ops
