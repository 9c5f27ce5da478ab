#include <algorithm>

#include "strata/core/dtype/dtype.h"
#include "strata/core/support/error.h"

namespace strata {
namespace {

constexpr DType signed_of_bits(int bits) {
    switch (bits) {
        case 8: return dtypes::int8;
        case 16: return dtypes::int16;
        case 32: return dtypes::int32;
        default: return dtypes::int64;
    }
}

DType wider(DType a, DType b) { return a.bits() >= b.bits() ? a : b; }

DType promote_floats(DType a, DType b) {
    if (a.bits() != b.bits()) return wider(a, b);
    return a.bits() == 8 ? dtypes::float16 : dtypes::float32;  // two fp8 formats; float16 with bfloat16
}

// A signed type that holds both. No integer type holds uint64 and negative numbers: NumPy's float64 would round what
// both sides have exactly, so the caller decides.
DType promote_integers(DType a, DType b) {
    if (a.scalar == Scalar::index || b.scalar == Scalar::index) return dtypes::index;
    if (a.is_unsigned() == b.is_unsigned()) return wider(a, b);
    DType with_sign = a.is_unsigned() ? b : a, without = a.is_unsigned() ? a : b;
    if (without.bits() == 64)
        user_error(ErrorKind::DType, "uint64 with {}: no integer type holds both; cast one side, e.g. x.cast('{}')",
                   with_sign.name(), with_sign.name());
    return signed_of_bits(std::max(with_sign.bits(), 2 * without.bits()));
}

}  // namespace

DType promote(DType a, DType b) {
    if (a == b) return a;
    STRATA_CHECK(a.scalar != Scalar::none && b.scalar != Scalar::none && a.lanes == b.lanes, "promote {} and {}",
                 a.name(), b.name());
    DType x = a.element(), y = b.element(), to = x;
    if (x.is_complex() || y.is_complex()) {
        bool wide = x.part() == dtypes::float64 || y.part() == dtypes::float64;
        return wide ? dtypes::complex128 : dtypes::complex64;
    }
    if (x.is_float() && y.is_float())
        to = x == y ? x : promote_floats(x, y);
    else if (x.is_float() || y.is_float())
        to = x.is_float() ? x : y;
    else if (x.is_bool() || y.is_bool())
        to = x.is_bool() ? y : x;
    else
        to = promote_integers(x, y);
    return to.vector(a.lanes);
}

}  // namespace strata
