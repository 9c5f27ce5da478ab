// Integer arithmetic that is done in other types.
#include <algorithm>
#include <bit>

#include "strata/codegen/decompose/functions_p.h"
#include "strata/core/symbolic/symbolic.h"

namespace strata::codegen {

UOp boolean_value(UOp u, const Target&) {
    UOp a = u.src(0), b = u.src().back();
    switch (u.op()) {
        case Op::add:
        case Op::max: return either(a, b);
        case Op::mul:
        case Op::min:
        case Op::idiv: return both(a, b);
        case Op::sub:
        case Op::cmpne: return bits_xor(a, b);
        case Op::cmpeq: return negation(bits_xor(a, b));
        case Op::cmplt: return both(negation(a), b);
        case Op::pow: return either(a, negation(b));
        case Op::bit_not: return negation(a);
        case Op::mod: return constant(dtypes::boolean, 0);
        default: return a;
    }
}

UOp itself(UOp u, const Target&) { return u.src(0); }

UOp in_words(UOp u, const Target&) {
    const DType word = word_of(u.src(0).dtype());
    std::vector<UOp> sources;
    for (UOp s : u.src()) sources.push_back(cast(s, word));
    return cast(alu(u.op(), sources), u.dtype());
}

UOp product_and_sum(UOp u, const Target&) { return u.src(0) * u.src(1) + u.src(2); }
UOp zero_minus(UOp u, const Target&) { return constant_int(u.dtype(), 0) - u.src(0); }

UOp integer_magnitude(UOp u, const Target&) {
    UOp x = u.src(0);
    return x.dtype().is_unsigned() ? x : larger(x, minus(x));
}

UOp by_comparison(UOp u, const Target&) {
    UOp a = u.src(0), b = u.src(1);
    return u.is(Op::max) ? select(less(a, b), b, a) : select(less(b, a), b, a);
}

namespace {

/// Bits of an exponent that say something: powers of an odd number modulo 2^bits repeat every 2^(bits - 2), those of an
/// even one are zero from `bits` on.
int telling_bits(DType type, UOp exponent) {
    const Bounds b = bounds(exponent);
    const int of_type = std::max(type.bits() - 2, static_cast<int>(std::bit_width(static_cast<unsigned>(type.bits()))));
    if (b.low < 0 || b.high == int_max(dtypes::int64)) return of_type;
    return std::min(of_type, static_cast<int>(std::bit_width(static_cast<uint64_t>(b.high))));
}

}  // namespace

/// Squares for each bit of the exponent. A negative exponent gives the real power truncated.
UOp integer_power(UOp u, const Target&) {
    DType type = u.dtype(), as = word_of(type);
    UOp base = cast(u.src(0), as), exponent = cast(u.src(1), as), one = constant_int(as, 1), zero = one - one;
    UOp result = one, square = base;
    const int bits = telling_bits(type, u.src(1));
    for (int i = 0; i < bits; ++i) {
        UOp taken = bits_and(exponent, int64_t{1} << i);
        result = select(equal(taken, zero), result, result * square);
        square = square * square;
    }
    UOp even = equal(bits_and(base, 1), zero);
    if (const Bounds b = bounds(u.src(1)); b.low < 0 || b.high >= type.bits())
        result = select(both(even, less(constant_int(as, type.bits() - 1), exponent)), zero, result);
    if (!type.is_unsigned() && !proves_at_least(u.src(1), 0)) {
        UOp inverse = select(
            equal(base, one), one,
            select(equal(base, constant_int(as, -1)), select(equal(bits_and(exponent, 1), zero), one, base), zero));
        result = select(less(exponent, zero), inverse, result);
    }
    return cast(result, type);
}

}  // namespace strata::codegen
