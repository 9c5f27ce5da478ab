// Quotients and square roots, correctly rounded. They are an approximation of the machine and fmas that correct it.
// Scales around it keep the steps clear of denormals and overflow.
#include "strata/codegen/decompose/functions_p.h"

namespace strata::codegen {
namespace {

UOp step(Op op, DType type, std::initializer_list<UOp> sources) { return make(op, type, sources); }

struct Scaled {
    UOp n, d, mask;
};
Scaled scaled(UOp n, UOp d) {
    return {step(Op::div_scale_n, n.dtype(), {n, d}), step(Op::div_scale_d, n.dtype(), {n, d}),
            step(Op::div_scales, dtypes::boolean, {n, d})};
}
UOp fixed(UOp quotient, UOp n, UOp d) { return step(Op::div_fixup, n.dtype(), {quotient, d, n}); }

UOp quotient_f32(UOp n, UOp d) {
    Scaled s = scaled(n, d);
    UOp r = nearer_reciprocal(rcp(s.d), s.d), less_d = minus(s.d);
    UOp q = s.n * r;
    q = fma(fma(less_d, q, s.n), r, q);
    UOp rest = fma(less_d, q, s.n);
    return fixed(step(Op::div_fmas, n.dtype(), {rest, r, q, s.mask}), n, d);
}

UOp quotient_f64(UOp n, UOp d) {
    Scaled s = scaled(n, d);
    UOp r = rcp(s.d), less_d = minus(s.d);
    r = fma(r, fma(less_d, r, 1), r);
    r = fma(r, fma(less_d, r, 1), r);
    UOp q = s.n * r, rest = fma(less_d, q, s.n);
    return fixed(step(Op::div_fmas, n.dtype(), {rest, r, q, s.mask}), n, d);
}

}  // namespace

UOp in_float32(UOp u, const Target&) {
    std::vector<UOp> sources;
    for (UOp s : u.src()) sources.push_back(as_float32(s));
    return cast(alu(u.op(), sources), u.dtype());
}

UOp reciprocal(UOp u, const Target&) { return like(u, 1) / u.src(0); }
UOp single_quotient(UOp u, const Target&) { return quotient_f32(u.src(0), u.src(1)); }
UOp double_quotient(UOp u, const Target&) { return quotient_f64(u.src(0), u.src(1)); }

/// In float32 nothing of halves over- or underflows. The quotient is within 2^-23 of itself. No quotient of two halves
/// is that near to where halves round, unless it is there: then it is exact.
UOp half_quotient(UOp u, const Target&) {
    UOp n = as_float32(u.src(0)), d = as_float32(u.src(1)), r = rcp(d);
    UOp q = n * r;
    q = fma(fma(minus(d), q, n), r, q);
    return cast(fixed(q, n, d), u.dtype());
}

UOp half_root(UOp u, const Target&) { return cast(sqrt_approx(as_float32(u.src(0))), u.dtype()); }
UOp half_reciprocal_root(UOp u, const Target&) { return cast(rsq(as_float32(u.src(0))), u.dtype()); }

/// The approximation or one of its neighbours: x - s t is the sign of how s t lies to x.
UOp single_root(UOp u, const Target&) {
    UOp tiny = less(u.src(0), 0x1p-96), x = select(tiny, times(u.src(0), 0x1p32), u.src(0));
    UOp s = sqrt_approx(x), bits = bitcast(s, dtypes::uint32);
    UOp below = bitcast(bits - 1, dtypes::float32), above = bitcast(bits + 1, dtypes::float32);
    UOp over = fma(minus(below), s, x), under = fma(minus(above), s, x);
    UOp root = select(less(0, over), s, below);
    root = select(less(0, under), above, root);
    root = select(tiny, times(root, 0x1p-16), root);
    return select(either(equal(x, 0), equal(x, kInfinity)), x, root);
}

/// Goldschmidt's iteration on the approximate reciprocal root.
UOp double_root(UOp u, const Target&) {
    auto scale = [&](int by) { return constant_int(dtypes::int32, by); };
    UOp tiny = less(u.src(0), 0x1p-767), x = ldexp(u.src(0), select(tiny, scale(256), scale(0))), y = rsq(x);
    UOp g = x * y, h = times(y, 0.5);
    UOp r = fma(minus(h), g, 0.5);
    g = fma(g, r, g), h = fma(h, r, h);
    g = fma(fma(minus(g), g, x), h, g);
    g = fma(fma(minus(g), g, x), h, g);
    UOp root = ldexp(g, select(tiny, scale(-128), scale(0)));
    return select(either(equal(x, 0), equal(x, kInfinity)), x, root);
}

UOp single_reciprocal_root(UOp u, const Target&) {
    UOp x = u.src(0), tiny = less(x, 0x1p-126), y = rsq(select(tiny, times(x, 0x1p24), x));
    return select(tiny, times(y, 0x1p12), y);
}

/// y (1 + e / 2 + 3 e^2 / 8) of e = 1 - x y^2, which is exact but for its last place.
UOp double_reciprocal_root(UOp u, const Target&) {
    UOp given = u.src(0), tiny = less(given, 0x1p-1000), huge = less(0x1p1000, given);
    UOp x = select(tiny, times(given, 0x1p200), select(huge, times(given, 0x1p-200), given));
    UOp y = rsq(x), product = y * x;
    UOp e = fma(minus(product), y, 1) - y * fma(y, x, minus(product));
    y = fma(y * e, fma(e, 0.375, 0.5), y);
    y = select(tiny, times(y, 0x1p100), select(huge, times(y, 0x1p-100), y));
    UOp special = either(negation(less(0, given)), equal(given, kInfinity));
    return select(special, rsq(given), y);
}

}  // namespace strata::codegen
