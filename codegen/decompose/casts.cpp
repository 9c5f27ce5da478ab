// Conversions of values: each rounds once, to nearest even; floats become integers truncated and saturated, NaN 0.
#include "strata/codegen/decompose/functions_p.h"
#include "strata/core/symbolic/symbolic.h"

namespace strata::codegen {
namespace {

bool is_narrow(DType t) { return t.is_float() && (t.bits() == 8 || t == dtypes::bfloat16); }

/// A magnitude with 24 bits at most, the last one set where bits were lost below, and how far it was moved down.
struct Odd {
    UOp kept, shift;
};

UOp normalized(UOp x, UOp zeros) { return up(x, cast(zeros, x.dtype())); }

/// The upper 32 bits of the 64-bit magnitude, shifted so that its first set bit is the top bit. The last bit stands for
/// the rest. Also the power of two to multiply them with.
Odd top_word(UOp magnitude) {
    UOp high = high_word(magnitude), low = low_word(magnitude);
    UOp in_high = differs(high, 0), first = leading_zeros(select(in_high, high, bits_or(low, 1)));
    UOp zeros = select(in_high, first, first + 32);
    UOp x = normalized(magnitude, zeros), rest = cast(differs(low_word(x), 0), dtypes::uint32);
    return {bits_or(high_word(x), rest), constant_int(dtypes::int32, 32) - zeros};
}

UOp unsigned_magnitude(UOp x) { return cast(is_natural(x) ? x : with_signs(x, signs(x)), unsigned_of(x.dtype())); }
UOp signed_as(UOp value, UOp x) { return is_natural(x) ? value : select(x < 0, minus(value), value); }

UOp wide_to_float32(UOp x) {
    Odd top = top_word(unsigned_magnitude(x));
    return signed_as(ldexp(cast(top.kept, dtypes::float32), top.shift), x);
}
UOp wide_to_float64(UOp x) {
    UOp high = high_word(x);
    if (!x.dtype().is_unsigned()) high = cast(high, dtypes::int32);
    return fma(cast(high, dtypes::float64), 0x1p32, cast(low_word(x), dtypes::float64));
}

/// 0 <= x as uint64; NaN gives 0.
UOp to_wide_magnitude(UOp x) {
    UOp high = cast(times(x, 0x1p-32), dtypes::uint32);
    UOp whole = trunc(x), low = fma(cast(high, x.dtype()), -0x1p32, whole);
    return from_words(high, cast(low, dtypes::uint32));
}

UOp float_to_wide(UOp x, DType type) {
    if (type.is_unsigned()) {
        UOp all = constant_int(type, -1);
        return select(less(x, 0x1p64), to_wide_magnitude(select(less(0, x), x, 0)), select(is_nan(x), 0, all));
    }
    UOp size = magnitude(x), whole = cast(to_wide_magnitude(size), type);
    UOp value = select(less(x, 0), minus(whole), whole);
    value = select(less(x, 0x1p63), value, select(is_nan(x), constant_int(type, 0), constant_int(type, int_max(type))));
    return select(less(x, -0x1p63), constant_int(type, int_min(type)), value);
}

UOp clamped(UOp x, DType to) {
    DType type = x.dtype();
    x = smaller(x, constant_int(type, int_max(to)));
    return type.is_unsigned() ? x : larger(x, constant_int(type, int_min(to)));
}

UOp float_to_integer(UOp x, DType to) {
    if (x.dtype() == dtypes::float16) x = cast(x, dtypes::float32);
    if (to.bits() == 64) return float_to_wide(x, to);
    if (to.bits() == 32) return cast(x, to);
    return cast(clamped(cast(x, word_of(to)), to), to);
}

}  // namespace

/// Integers: 24 bits of the magnitude are exact in float32, the last of them stands for what is below.
UOp to_odd_float(UOp x) {
    DType type = x.dtype();
    if (type == dtypes::float64) {
        UOp near = cast(x, dtypes::float32), back = cast(near, dtypes::float64), bits = bitcast(near, dtypes::uint32);
        UOp beyond = less(magnitude(x), magnitude(back)), next = select(beyond, bits - 1, bits + 1);
        UOp even = equal(bits_and(bits, 1), 0);
        return bitcast(select(both(differs(back, x), even), next, bits), dtypes::float32);
    }
    if (type.bits() < 32) return cast(cast(x, dtypes::int32), dtypes::float32);
    if (type.bits() == 64) {
        Odd top = top_word(unsigned_magnitude(x));
        UOp kept = bits_or(down(top.kept, 8), cast(differs(bits_and(top.kept, 255), 0), dtypes::uint32));
        return signed_as(ldexp(cast(kept, dtypes::float32), top.shift + 8), x);
    }
    UOp size = unsigned_magnitude(x), large = negation(less(size, u32(1 << 24)));
    UOp kept = bits_or(down(size, 8), cast(differs(bits_and(size, 255), 0), dtypes::uint32));
    UOp value = cast(select(large, kept, size), dtypes::float32);
    return signed_as(select(large, times(value, 256), value), x);
}

UOp cast_of_bool(UOp u, const Target&) { return select(u.src(0), constant(u.dtype(), 1), constant(u.dtype(), 0)); }

UOp cast_of_word(UOp u, const Target&) {
    UOp x = u.src(0);
    DType type = u.dtype(), from = x.dtype();
    if (type.is_bool()) return differs(x, constant_int(from, 0));
    if (!type.is_float()) return u;
    if (is_narrow(type)) return cast(to_odd_float(x), type);
    UOp value = from.bits() < 32 ? cast(x, dtypes::int32) : x;
    if (type == dtypes::float16) return cast(cast(value, dtypes::float32), type);  // what float32 rounds overflows
    return value == x ? u : cast(value, type);
}

UOp cast_of_wide(UOp u, const Target&) {
    UOp x = u.src(0);
    DType type = u.dtype();
    if (type.is_bool()) return differs(x, constant_int(x.dtype(), 0));
    if (!type.is_float()) return u;
    const Bounds b = bounds(x);
    if (b.low >= int_min(dtypes::int32) && b.high <= int_max(dtypes::int32)) return cast(cast(x, dtypes::int32), type);
    if (type == dtypes::float64) return wide_to_float64(x);
    if (type == dtypes::float32) return wide_to_float32(x);
    return cast(to_odd_float(x), type);
}

UOp cast_of_float(UOp u, const Target& target) {
    UOp x = u.src(0);
    DType type = u.dtype(), from = x.dtype();
    if (type.is_bool()) return differs(x, 0);
    if (!type.is_float()) {
        const bool direct = type.bits() == 32 && from != dtypes::float16;
        return direct ? u : float_to_integer(x, type);
    }
    if (from == dtypes::float64 && type.bits() < 32) return cast(to_odd_float(x), type);
    if (from == dtypes::float16 && type != dtypes::float32) return cast(cast(x, dtypes::float32), type);
    if (!is_narrow(type) || is_native_cast(type, from, target)) return u;
    return type == dtypes::bfloat16 ? to_bfloat16(x) : to_float8(x, type);
}

UOp cast_of_narrow(UOp u, const Target& target) {
    UOp x = u.src(0);
    if (u.dtype() != dtypes::float32) return cast(cast(x, dtypes::float32), u.dtype());
    if (is_native_cast(u.dtype(), x.dtype(), target)) return u;
    return x.dtype() == dtypes::bfloat16 ? from_bfloat16(x) : from_float8(x);
}

}  // namespace strata::codegen
