// Quotients and remainders of integers.
//
// By a constant: n / d = n * m >> s for m = ceil(2^s / d), as long as n (m d - 2^s) < 2^s (Granlund and Montgomery).
// By a variable: the quotient of floats, off by little, and a step that mends it.
#include <algorithm>
#include <bit>

#include "strata/codegen/decompose/functions_p.h"
#include "strata/core/symbolic/symbolic.h"

namespace strata::codegen {
namespace {

using Wide = unsigned __int128;

/// The most that a value is, as unsigned where it is never negative.
uint64_t largest(UOp x) {
    const Bounds b = bounds(x);
    return x.dtype() == dtypes::uint64 && b.high == int_max(dtypes::int64) ? ~uint64_t{0}
                                                                           : static_cast<uint64_t>(b.high);
}

struct Multiplier {
    Wide m;
    int shift;
};
/// The least shift that does for dividends up to `most`.
Multiplier multiplier(uint64_t d, uint64_t most) {
    for (int shift = 0;; ++shift) {
        const Wide unit = Wide{1} << shift, m = (unit + d - 1) / d, excess = m * d - unit;
        if (excess == 0 || most < unit / excess || (unit % excess && most == unit / excess)) return {m, shift};
    }
}

UOp high_product(UOp a, UOp b) { return a.dtype().bits() == 64 ? product_high64(a, b) : mulhi(a, b); }

/// n / d of an unsigned n up to `most`.
UOp by_constant(UOp n, uint64_t d, uint64_t most) {
    const int bits = n.dtype().bits();
    auto number = [&](Wide x) { return constant_int(n.dtype(), static_cast<int64_t>(x)); };
    if (d == 0 || most < d) return number(0);
    if (most / 2 < d) return cast(negation(less(n, number(d))), n.dtype());
    if (std::has_single_bit(d)) return down(n, std::countr_zero(d));
    const int even = std::countr_zero(d);
    Multiplier k = multiplier(d, most);
    if (Wide{most} * k.m >> bits == 0) return down(n * number(k.m), k.shift);
    if (k.m >> bits && even) {
        n = down(n, even);
        most >>= even;
        k = multiplier(d >> even, most);
    }
    if (k.m >> bits == 0) {
        if (k.shift < bits) return high_product(n, number(k.m << (bits - k.shift)));
        return down(high_product(n, number(k.m)), k.shift - bits);
    }
    // m has one bit more than the type: n m = n (m - 2^bits) + n 2^bits, added without the carry.
    UOp part = high_product(n, number(k.m - (Wide{1} << bits)));
    return down(down(n - part, 1) + part, k.shift - bits - 1);
}

/// A signed n by a constant: of its magnitude, where a power of two needs no more than the sign's bits added before.
UOp signed_by_constant(UOp n, int64_t d) {
    DType type = n.dtype(), natural = unsigned_of(type);
    const uint64_t size = d < 0 ? uint64_t{0} - static_cast<uint64_t>(d) : static_cast<uint64_t>(d);
    const int bits = type.bits();
    UOp quotient;
    if (d == 0) return constant_int(type, 0);
    if (std::has_single_bit(size)) {
        const int k = std::countr_zero(size);
        if (k == 0) return d < 0 ? minus(n) : n;
        if (k == bits - 1) return cast(equal(n, constant_int(type, int_min(type))), type);  // d is the least number
        UOp below = cast(down(cast(signs(n), natural), bits - k), type);
        quotient = down(n + below, k);
    } else {
        // m < 2^bits for dividends of bits - 1 bits. As a signed factor it is m - 2^bits where it has the top bit.
        Multiplier k = multiplier(size, uint64_t{1} << (bits - 1));
        if (k.shift < bits) k.m <<= bits - k.shift, k.shift = bits;
        const bool top = k.m >> (bits - 1) & 1;
        UOp m = constant_int(type, static_cast<int64_t>(k.m)), high;
        if (bits == 32) {
            high = mulhi(n, m);
            if (top) high = high + n;
        } else {
            high = cast(product_high64(cast(n, natural), cast(m, natural)), type) - bits_and(signs(n), m);
        }
        quotient = down(high, k.shift - bits) - signs(n);
    }
    return d < 0 ? minus(quotient) : quotient;
}

UOp float_of_wide(UOp x) {  // rounded once
    return fma(cast(high_word(x), dtypes::float64), 0x1p32, cast(low_word(x), dtypes::float64));
}
UOp wide_of_float(UOp x) {  // of 0 <= x < 2^64
    UOp high = cast(times(x, 0x1p-32), dtypes::uint32);
    return from_words(high, cast(fma(cast(high, dtypes::float64), -0x1p32, x), dtypes::uint32));
}

/// A quotient that is never too large, off by 2^-47 of itself, then that of what is left; 1 may still be missing.
UOp wide_quotient(UOp n, UOp d) {
    UOp x = float_of_wide(d), r = times(near_reciprocal(x), 1 - 0x1p-48);
    UOp first = wide_of_float(float_of_wide(n) * r), rest = n - first * d;
    UOp second = wide_of_float(float_of_wide(rest) * r), left = rest - second * d;
    UOp q = first + second;
    return select(less(left, d), q, q + 1);
}

}  // namespace

bool is_natural(UOp x) { return x.dtype().is_unsigned() || proves_at_least(x, 0); }

UOp product_high64(UOp a, UOp b) {
    auto product = [](UOp x, UOp y) { return cast(x, dtypes::uint64) * cast(y, dtypes::uint64); };
    UOp al = low_word(a), ah = high_word(a), bl = low_word(b), bh = high_word(b);
    UOp middle = product(ah, bl) + cast(mulhi(al, bl), dtypes::uint64);
    UOp other = product(al, bh) + cast(low_word(middle), dtypes::uint64);
    return product(ah, bh) + cast(high_word(middle), dtypes::uint64) + cast(high_word(other), dtypes::uint64);
}

UOp unsigned_quotient(UOp n, UOp d, uint64_t most) {
    // (n + 1/2) / d is at least 1/2d away from a whole number; the product is off by 2^-22 of itself.
    if (most < 1 << 20) {
        UOp x = plus(cast(n, dtypes::float32), 0.5), y = cast(d, dtypes::float32);
        return cast(x * rcp(y), dtypes::uint32);
    }
    // 2^32 / d from below (the factor leaves 2^-21 for the roundings), a Newton step in integers, and two steps up.
    UOp z = cast(times(rcp(cast(d, dtypes::float32)), 0x1p32 - 0x1p11), dtypes::uint32);
    z = z + mulhi(z, (u32(0) - d) * z);
    UOp q = mulhi(n, z), r = n - q * d;
    UOp more = negation(less(r, d));
    q = select(more, q + 1, q), r = select(more, r - d, r);
    return select(less(r, d), q, q + 1);
}

namespace {

UOp quotient_of(UOp n, UOp d) {
    DType type = n.dtype(), natural = unsigned_of(type);
    const bool naturals = is_natural(n) && is_natural(d);
    if (type.bits() == 64) {
        const Bounds a = bounds(n), b = bounds(d);
        const uint64_t most = std::max(largest(n), largest(d));
        const DType word = naturals ? dtypes::uint32 : dtypes::int32;
        if (naturals
                ? most <= 0xffffffff
                : a.low > int_min(word) && a.high <= int_max(word) && b.low >= int_min(word) && b.high <= int_max(word))
            return cast(cast(n, word) / cast(d, word), type);
    }
    if (naturals) {
        UOp x = cast(n, natural), y = cast(d, natural);
        if (d.is_const()) return cast(by_constant(x, static_cast<uint64_t>(const_int(d)), largest(n)), type);
        if (type.bits() == 64) return cast(wide_quotient(x, y), type);
        return cast(unsigned_quotient(x, y, std::max(largest(n), largest(d))), type);
    }
    if (d.is_const()) return signed_by_constant(n, const_int(d));
    UOp of_n = signs(n), of_d = signs(d);
    UOp x = cast(with_signs(n, of_n), natural), y = cast(with_signs(d, of_d), natural);
    const Bounds a = bounds(n), b = bounds(d);
    auto size = [](Bounds s) {
        return std::max(uint64_t{0} - static_cast<uint64_t>(std::min<int64_t>(s.low, 0)),
                        static_cast<uint64_t>(std::max<int64_t>(s.high, 0)));
    };
    UOp q = type.bits() == 64 ? wide_quotient(x, y) : unsigned_quotient(x, y, std::max(size(a), size(b)));
    return with_signs(cast(q, type), bits_xor(of_n, of_d));
}

}  // namespace

UOp integer_quotient(UOp u, const Target&) { return quotient_of(u.src(0), u.src(1)); }

UOp integer_remainder(UOp u, const Target&) {
    UOp n = u.src(0), d = u.src(1);
    const uint64_t by = d.is_const() ? static_cast<uint64_t>(const_int(d)) : 0;
    if (std::has_single_bit(by) && is_natural(n)) return bits_and(n, static_cast<int64_t>(by - 1));
    return n - n / d * d;
}

}  // namespace strata::codegen
