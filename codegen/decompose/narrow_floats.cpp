// bfloat16 and 8-bit floats from and to float32, in integers; the formats are those of core/dtype.
#include <algorithm>

#include "strata/asm/isa/arch.h"
#include "strata/codegen/decompose/functions_p.h"

namespace strata::codegen {
namespace {

/// OCP e4m3 has one NaN, no infinity; FNUZ formats have neither infinity nor minus zero, their NaN is minus zero's
/// code.
struct Format {
    int mantissa, bias;
    bool fnuz, ieee;
    explicit Format(DType type)
        : mantissa(type.mantissa_bits()),
          bias((1 << (type.exponent_bits() - 1)) - 1),
          fnuz(type == dtypes::fp8e4m3fnuz || type == dtypes::fp8e5m2fnuz),
          ieee(type == dtypes::fp8e5m2) {
        bias += fnuz;
    }
    uint32_t overflow() const { return fnuz ? 0x80 : ieee ? 0x7c : 0x7f; }
    uint32_t largest() const { return fnuz ? 0x7f : ieee ? 0x7b : 0x7e; }
    uint32_t nan() const { return fnuz ? 0x80 : ieee ? 0x7e : 0x7f; }
};

UOp as_float(UOp bits) { return bitcast(bits, dtypes::float32); }
double power(int n) { return n < 0 ? 1 / power(-n) : n ? 2 * power(n - 1) : 1; }

}  // namespace

UOp from_bfloat16(UOp x) { return as_float(up(cast(bitcast(x, dtypes::uint16), dtypes::uint32), 16)); }

UOp to_bfloat16(UOp x) {
    UOp bits = bitcast(x, dtypes::uint32), odd = bits_and(down(bits, 16), 1);
    UOp code = select(is_nan(x), bits_or(bits, 1 << 22), bits + odd + u32(0x7fff));
    return bitcast(cast(down(code, 16), dtypes::uint16), dtypes::bfloat16);
}

/// The code as a float's sign and uppermost bits of mantissa, its exponent moved by an exact multiplication.
UOp from_float8(UOp x) {
    const Format f(x.dtype());
    UOp top = bitcast(up(cast(bitcast(x, dtypes::uint8), dtypes::uint32), 24), dtypes::int32);
    UOp bits = bits_and(bitcast(down(top, f.mantissa + 1), dtypes::uint32), 0x80000000 | 0x7fu << (23 - f.mantissa));
    UOp value = times(as_float(bits), power(127 - f.bias)), code = bitcast(value, dtypes::uint32);
    if (f.fnuz) return as_float(select(equal(bits, 0x80000000), u32(0x7fc00000), code));
    if (f.ieee) return as_float(select(less(57344, magnitude(value)), bits_or(code, 0x7f800000), code));
    return as_float(select(less(448, magnitude(value)), u32(0x7fc00000), code));
}

/// Normal: the bias is moved, the low bits rounded away. Subnormal: a sum puts the last bit kept at the end of its
/// mantissa, rounded by the addition.
UOp to_float8(UOp x, DType type) {
    const Format f(type);
    const int lost = 23 - f.mantissa;
    UOp bits = bitcast(x, dtypes::uint32), sign = bits_and(down(bits, 24), 0x80), size = bits_and(bits, 0x7fffffff);
    UOp odd = bits_and(down(size, lost), 1);
    const uint32_t rebias = static_cast<uint32_t>(127 - f.bias) << 23, half = (1u << (lost - 1)) - 1;
    UOp normal = down(size + odd + u32(half - rebias), lost);
    UOp tiny = bitcast(plus(as_float(size), power(24 - f.bias - f.mantissa)), dtypes::uint32);
    UOp code = select(less(size, u32(rebias + (1u << 23))), bits_and(tiny, 0xff), normal);
    code = select(less(u32(f.largest()), code), u32(f.overflow()), code);
    code = select(less(u32(0x7f800000), size), u32(f.nan()), code);
    UOp with_sign = bits_or(code, sign);
    if (f.fnuz) with_sign = select(equal(bits_and(code, 0x7f), 0), code, with_sign);
    return bitcast(cast(with_sign, dtypes::uint8), type);
}

bool is_native_cast(DType to, DType from, const Target& target) {
    struct Row {
        isa::Family family;
        DType a, b;
    };
    static constexpr Row rows[] = {
#define NATIVE_CAST(family, to, from) {isa::Family::family, dtypes::to, dtypes::from},
#include "strata/codegen/decompose/native_casts.def"
#undef NATIVE_CAST
    };
    if (!target.arch.is_amd()) return false;
    const isa::Family family = isa::info(target.arch).family;
    return std::ranges::any_of(rows, [&](const Row& r) { return r.family == family && r.a == to && r.b == from; });
}

}  // namespace strata::codegen
