#include <cmath>
#include <limits>
#include <numbers>

#include "strata/ops/build_p.h"
#include "strata/ops/complex_p.h"

namespace strata::ops {
namespace {

using std::numbers::ln2;
using std::numbers::pi;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Around 1 / epsilon squared: numbers above it leave nothing of 1, their squares and sums do not overflow on the way.
double far_of(DType type) { return type == dtypes::float64 ? 0x1p80 : 0x1p40; }

Tensor zero(const Tensor& x) { return eq(x, 0); }
Tensor infinite(const Tensor& x) { return x.isinf(); }
/// Where an angle is infinite or NaN; its sine and cosine are NaN.
Tensor no_angle(const Tensor& y) { return y.isfinite().logical_not(); }
Tensor both(const Tensor& p, const Tensor& q) { return bitwise_and(p, q); }

/// e^x as a product of two, neither of which overflows where e^x times a sine does not.
struct Scaled {
    Tensor value, scale;
};
Scaled exp_in_two(const Tensor& x) {
    const bool wide = x.dtype() == dtypes::float64;
    const double large = wide ? 700 : 80, off = wide ? 600 : 60;
    Tensor far = gt(x, large);
    return {(x - where(far, like(x, off), 0)).exp(), where(far, like(x, std::exp(off)), 1)};
}

/// sinh and cosh over a scale, likewise.
struct Hyperbolic {
    Tensor sinh, cosh, scale;
};
Hyperbolic hyperbolic(const Tensor& x) {
    constexpr double kOneExponential = 20;  // beyond, the other one is below half an ulp
    Tensor size = x.abs(), far = gt(size, kOneExponential), near = where(far, 1, x);
    Scaled big = exp_in_two(size);
    Tensor half = big.value * 0.5;
    return {where(far, copysign(half, x), near.sinh()), where(far, half, near.cosh()), where(far, big.scale, 1)};
}

/// log|z|: near the unit circle by |z|^2 - 1, of which the logarithm of |z| would lose bits.
Tensor log_abs(const Tensor& re, const Tensor& im) {
    Tensor x = re.abs(), y = im.abs(), big = maximum(x, y), small = minimum(x, y);
    Tensor near = both(gt(big, 0.5), lt(big, 2.0)), m = where(near, big, 1.0), n = where(near, small, 0.0);
    Tensor close = ((m - 1) * (m + 1) + n * n).log1p() * 0.5;
    return where(near, close, hypot(re, im).log());
}

/// The common parts of acos and asin of x + iy in the first quadrant. Source: Hull, Fairgrieve and Tang, Implementing
/// the complex arcsine and arccosine functions using exception handling, ACM TOMS 23, 1997.
struct Inverse {
    Tensor asin, acos, log;  ///< real parts of asin and acos; the imaginary part of asin
};
Inverse inverse_of(const Tensor& re, const Tensor& im) {
    constexpr double kNearAxis = 0.6417, kLogarithm = 1.5;
    Tensor far = gt(maximum(re, im), far_of(re.dtype())), special = bitwise_or(far, bitwise_or(re.isnan(), im.isnan()));
    Tensor x = where(special, 0.5, re), y = where(special, 0.5, im), inside = le(x, 1);
    Tensor r = hypot(x + 1, y), s = hypot(x - 1, y), a = (r + s) * 0.5, b = x / a, yy = y * y;
    Tensor sum = a + x, right = r + (x + 1), left = where(inside, s + (1 - x), s + (x - 1));
    Tensor on_cut = both(inside.logical_not(), both(zero(y), zero(left)));
    Tensor beyond = where(on_cut, 1, left);
    Tensor side =
        where(inside, (sum * 0.5 * (yy / right + left)).sqrt(), y * ((sum / right + sum / beyond) * 0.5).sqrt());
    Tensor angle = ops::atan2(side, x), near = le(b, kNearAxis), safe = where(near, b, 0.0);
    Tensor acos = where(near, safe.acos(), angle), asin = where(near, safe.asin(), ops::atan2(x, side));
    Tensor over = where(inside, yy / where(zero(left), 1, left), left);
    Tensor minus_one = (yy / right + over) * 0.5, small = le(a, kLogarithm);
    minus_one = where(small, minus_one, 0);
    Tensor log =
        where(small, (minus_one + (minus_one * (a + 1)).sqrt()).log1p(), (a + (a * a - 1).maximum(0.25).sqrt()).log());
    return {where(special, ops::atan2(re, im), asin), where(special, ops::atan2(im, re), acos),
            where(special, hypot(re, im).log() + ln2, log)};
}

}  // namespace

Parts times_i(const Parts& z) { return {-z.im, z.re}; }
Parts over_i(const Parts& z) { return {z.im, -z.re}; }

// By the larger part of the divisor (Smith, Algorithm 116, CACM 5, 1962).
Parts divided(const Parts& a, const Parts& b) {
    if (!b.im) return {a.re / b.re, a.im / b.re};
    Tensor c = b.re.abs(), d = b.im.abs(), real = ge(c, d), nothing = both(zero(c), zero(d));
    Tensor big = where(real, b.re, b.im), small = where(real, b.im, b.re);
    Tensor ratio = where(nothing, 0, small / where(nothing, 1, big));
    Tensor by = where(nothing, c, big + small * ratio);
    Tensor im = a.im ? a.im : like(a.re, 0);
    Tensor re = where(real, a.re + im * ratio, a.re * ratio + im);
    return {re / by, where(real, im - a.re * ratio, im * ratio - a.re) / by};
}

Parts inverse(const Parts& z) {
    Tensor c = z.re.abs(), d = z.im.abs(), real = ge(c, d), nothing = both(zero(c), zero(d));
    Tensor big = where(real, z.re, z.im), small = where(real, z.im, z.re);
    Tensor ratio = where(nothing, 0, small / where(nothing, 1, big));
    Tensor by = where(nothing, c, big + small * ratio);
    return {where(real, 1, ratio) / by, where(nothing, kNaN, where(real, -ratio, like(c, -1)) / by)};
}

Parts sign_of(const Parts& z) {
    Tensor size = hypot(z.re, z.im), nothing = zero(size), by = where(nothing, 1, size);
    return {where(nothing, 0, z.re / by), where(nothing, 0, z.im / by)};
}

Parts sqrt_of(const Parts& z) {
    constexpr double kQuarter = 0.25;
    double large = z.re.dtype() == dtypes::float64 ? 0x1p1022 : 0x1p126;
    Tensor scaled = gt(maximum(z.re.abs(), z.im.abs()), large), scale = where(scaled, like(z.re, kQuarter), 1);
    Tensor plain = both(z.re.isfinite(), z.im.isfinite()), nothing = both(zero(z.re), zero(z.im));
    Tensor usual = both(plain, nothing.logical_not());
    Tensor x = where(usual, z.re, 1) * scale, y = where(usual, z.im, 0) * scale;
    Tensor t = ((x.abs() + hypot(x, y)) * 0.5).sqrt() * where(scaled, like(z.re, 2), 1), other = y / (t * 2);
    other = other * where(scaled, like(z.re, 4), 1);
    Tensor right = ge(x, 0), re = where(right, t, other.abs()), im = where(right, other, copysign(t, y));
    Tensor tall = infinite(z.im), wide = both(infinite(z.re), tall.logical_not()), forward = gt(z.re, 0);
    Tensor undefined = z.im.isnan();
    Tensor far_re = where(forward, z.re, where(undefined, kNaN, like(z.re, 0)));
    Tensor far_im =
        where(forward, where(undefined, kNaN, copysign(like(z.re, 0), z.im)), copysign(like(z.re, kInfinity), z.im));
    Tensor special_re = where(tall, kInfinity, where(wide, far_re, where(nothing, 0, like(z.re, kNaN))));
    Tensor special_im = where(tall, z.im, where(wide, far_im, where(nothing, z.im, like(z.re, kNaN))));
    return {where(usual, re, special_re), where(usual, im, special_im)};
}

Parts exp_of(const Parts& z) {
    Scaled size = exp_in_two(z.re);
    Tensor endless = both(infinite(z.re), no_angle(z.im)), real = zero(z.im), whole = size.value * size.scale;
    Tensor re = where(bitwise_or(real, endless), whole, size.value * z.im.cos() * size.scale);
    Tensor end = where(gt(z.re, 0), kNaN, like(z.re, 0));
    return {re, where(real, z.im, where(endless, end, size.value * z.im.sin() * size.scale))};
}

Parts expm1_of(const Parts& z) {
    Tensor real = zero(z.im), endless = both(infinite(z.re), no_angle(z.im)), half = (z.im * 0.5).sin();
    Tensor minus = z.re.expm1(), re = minus * z.im.cos() - half * half * 2;
    re = where(bitwise_or(real, endless), minus, re);
    return {where(both(real, zero(z.re)), 0, re), exp_of(z).im};
}

Parts log_of(const Parts& z) { return {log_abs(z.re, z.im), ops::atan2(z.im, z.re)}; }

Parts log1p_of(const Parts& z) {
    Tensor near = both(lt(z.re.abs(), 0.5), lt(z.im.abs(), 0.5));
    Tensor x = where(near, z.re, 0), y = where(near, z.im, 0), one = z.re + 1;
    Tensor re = where(near, (x * (x + 2) + y * y).log1p() * 0.5, log_abs(one, z.im));
    return {re, ops::atan2(z.im, one)};
}

Parts sinh_of(const Parts& z) {
    auto [sinh, cosh, scale] = hyperbolic(z.re);
    Tensor endless = both(infinite(z.re), no_angle(z.im)), flat = both(zero(z.re), no_angle(z.im));
    Tensor real = bitwise_or(zero(z.im), bitwise_or(endless, flat));
    Tensor re = where(real, sinh, sinh * z.im.cos()) * scale;
    return {re, where(zero(z.im), z.im, cosh * z.im.sin() * scale)};
}

Parts cosh_of(const Parts& z) {
    auto [sinh, cosh, scale] = hyperbolic(z.re);
    Tensor endless = both(infinite(z.re), no_angle(z.im));
    Tensor re = where(bitwise_or(zero(z.im), endless), cosh, cosh * z.im.cos()) * scale;
    Tensor sine = where(no_angle(z.im), where(zero(z.re), 0, like(z.im, kNaN)), z.im.sin());
    Tensor nothing = copysign(like(z.re, 0), copysign(like(z.re, 1), z.re) * copysign(like(z.re, 1), sine));
    return {re, where(bitwise_or(zero(z.re), zero(z.im)), nothing, sinh * sine * scale)};
}

// Over cosh(2x) + cos(2y) as the sum of two squares, which loses no bits near the poles.
Parts tanh_of(const Parts& z) {
    constexpr double kFlat = 20;  // beyond, the real part is 1
    Tensor far = gt(z.re.abs(), kFlat), x = where(far, 0.5, z.re), sinh = x.sinh();
    Tensor angle = where(both(infinite(z.re), no_angle(z.im)), 0, z.im), sin = angle.sin(), cos = angle.cos();
    Tensor by = sinh * sinh + cos * cos, re = where(zero(z.re), z.re, sinh * x.cosh() / by);
    Tensor end = sin * cos * 4 * (z.re.abs() * -2).exp(), im = where(far, end, sin * cos / by);
    Tensor one = both(far, angle.isfinite());
    im = where(infinite(z.re), copysign(like(z.im, 0), z.im), where(zero(z.im), z.im, im));
    return {where(one, copysign(like(z.re, 1), z.re), re), im};
}

Parts asin_of(const Parts& z) {
    Inverse of = inverse_of(z.re.abs(), z.im.abs());
    return {where(zero(z.re), z.re, copysign(of.asin, z.re)), copysign(of.log, z.im)};
}

Parts acos_of(const Parts& z) {
    Inverse of = inverse_of(z.re.abs(), z.im.abs());
    Tensor re = where(signbit(z.re), pi - of.acos, of.acos);
    return {where(zero(z.re), pi / 2, re), -copysign(of.log, z.im)};
}

Parts asinh_of(const Parts& z) { return over_i(asin_of(times_i(z))); }

Parts acosh_of(const Parts& z) {
    Parts of = acos_of(z);
    return {of.im.abs(), copysign(of.re, z.im)};
}

Parts atanh_of(const Parts& z) {
    Tensor x = z.re.abs(), y = z.im.abs(), limit = like(x, std::sqrt(far_of(x.dtype())));
    Tensor far = bitwise_or(gt(x, limit), gt(y, limit)), size = where(far, hypot(x, y), 1);
    Tensor end = where(infinite(size), 0, x / where(infinite(size), 1, size) / size);
    Tensor a = where(far, 0.5, x), b = where(far, 0.5, y), off = 1 - a;
    Tensor re = (a * 4 / (off * off + b * b)).log1p() * 0.25;
    Tensor along = where(gt(a, b), (1 - a) * (1 + a) - b * b, (1 - b) * (1 + b) - a * a);
    Tensor im = where(far, where(bitwise_or(y.isnan(), both(x.isnan(), y.isfinite())), kNaN, like(y, pi / 2)),
                      ops::atan2(b * 2, along) * 0.5);
    return {where(zero(x), z.re, copysign(where(far, end, re), z.re)), copysign(im, z.im)};
}

namespace {

/// z^n for a known n >= 1, by squaring.
Tensor repeated_product(Tensor z, int64_t n) {
    Tensor out;
    for (;; z = square(z)) {
        if (n & 1) out = out ? out * z : z;
        if (!(n >>= 1)) return out;
    }
}

}  // namespace

Parts power_of(const Parts& a, const Parts& b) {
    constexpr double kLargestProduct = 16;
    Parts base{a.re, a.im ? a.im : like(a.re, 0)};
    if (UOp known = b.re.value(); !b.im && known.is_const()) {
        double n = const_value(known);
        if (n == 0) return {like(a.re, 1), like(a.re, 0)};
        if (n == 0.5) return sqrt_of(base);
        if (n == std::trunc(n) && std::abs(n) <= kLargestProduct) {
            Tensor product = repeated_product(Tensor::of_parts(base.re, base.im), static_cast<int64_t>(std::abs(n)));
            Parts out{product.real(), product.imag()};
            return n < 0 ? inverse(out) : out;
        }
    }
    Tensor nothing = both(zero(base.re), zero(base.im)), one = b.im ? both(zero(b.re), zero(b.im)) : zero(b.re);
    Parts log = log_of({where(nothing, 1, base.re), base.im}), power;
    if (b.im) {
        // An integer turns by a multiple of the angle: log.re * 0 would take the sign of a zero from it.
        Tensor whole = both(zero(b.im), eq(b.re, b.re.floor())), turn = log.im * b.re;
        power = exp_of({log.re * b.re - log.im * b.im, where(whole, turn, log.re * b.im + turn)});
    } else
        power = exp_of({log.re * b.re, log.im * b.re});
    Tensor of_zero = where(gt(b.re, 0), 0, like(b.re, kNaN));
    return {where(one, 1, where(nothing, of_zero, power.re)), where(one, 0, where(nothing, of_zero, power.im))};
}

Tensor slope_by_base(const Tensor& a, const Tensor& b) { return where(eq(b, 0), 0, b * ops::pow(a, b - 1)); }

Tensor slope_by_exponent(const Tensor& a, const Tensor& y) {
    Tensor nothing = eq(a, 0);  // 0, for all exponents that make a number of it
    return where(nothing, 0, y * where(nothing, 1, a.cast(y.dtype())).log());
}

}  // namespace strata::ops
