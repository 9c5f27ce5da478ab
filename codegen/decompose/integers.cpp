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

/// As the low bits of a word.
UOp bits_of_small(UOp u, const Target&) {
    const DType type = u.dtype();
    const int bits = type.bits();
    const UOp word = cast(cast(u.src(0), bits == 8 ? dtypes::uint8 : dtypes::uint16), dtypes::uint32);
    const UOp all = alu(u.op(), {u.is(Op::trailing_zeros) ? bits_or(word, int64_t{1} << bits) : word});
    return cast(u.is(Op::leading_zeros)  ? all - u32(static_cast<uint32_t>(32 - bits))
                : u.is(Op::reverse_bits) ? down(all, 32 - bits)
                                         : all,
                type);
}

/// From the number of the highest bit: of x & -x, which is the lowest of x alone.
UOp zeros_of_word(UOp u, const Target&) {
    const UOp x = cast(u.src(0), dtypes::uint32), zeros = u32(32);
    const auto above = [](UOp word) { return cast(leading_zeros(word), dtypes::uint32); };
    const UOp count = u.is(Op::leading_zeros) ? above(x) : u32(31) - above(bits_and(x, minus(x)));
    return cast(select(equal(x, u32(0)), zeros, count), u.dtype());
}

UOp bits_of_wide(UOp u, const Target&) {
    const UOp low = low_word(u.src(0)), high = high_word(u.src(0));
    const auto of = [&](UOp word) { return alu(u.op(), {word}); };
    if (u.is(Op::reverse_bits)) return cast(from_words(of(low), of(high)), u.dtype());
    const UOp zero = u32(0);
    return cast(u.is(Op::popcount)        ? of(low) + of(high)
                : u.is(Op::leading_zeros) ? select(equal(high, zero), of(low) + u32(32), of(high))
                                          : select(equal(low, zero), of(high) + u32(32), of(low)),
                u.dtype());
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

/// Bits of an exponent that matter. Powers of an odd number modulo 2^bits repeat every 2^(bits - 2); those of an even
/// one are zero from `bits` on.
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
