#include "strata/codegen/tile/arithmetic.h"

#include "strata/core/support/error.h"
#include "strata/core/symbolic/symbolic.h"

namespace strata::lang {
namespace {

bool is_index(DType type) { return type.scalar == Scalar::index; }
UOp zero_of(UOp x) { return constant_int(x.dtype(), 0); }
bool both_positive(UOp a, UOp b) { return proves_at_least(a, 0) && proves_at_least(b, 0); }

/// True if the truncated remainder must move by one divisor.
UOp has_wrong_sign(UOp rest, UOp b) {
    if (proves_at_least(b, 0)) return rest < zero_of(rest);
    const UOp differ = alu(Op::cmpne, {rest < zero_of(rest), b < zero_of(b)});
    return alu(Op::bit_and, {alu(Op::cmpne, {rest, zero_of(rest)}), differ});
}

}  // namespace

DType promoted(std::string_view operation, DType a, DType b) {
    if (is_index(a) != is_index(b) && (a == dtypes::uint64 || b == dtypes::uint64))
        user_error(ErrorKind::DType,
                   "{} of uint64 and an index: no integer type holds both; cast one, e.g. "
                   "dtypes.uint64(x)",
                   operation);
    return promote(a, b);
}

UOp converted(UOp x, DType type) {
    if (x.dtype() == type) return x;
    if (is_index(x.dtype()) && !is_index(type)) x = machine_value(x);
    return cast(x, type);
}

UOp machine_value(UOp x) {
    if (!is_index(x.dtype())) return x;
    const Bounds b = bounds(x);
    const bool fits = b.low >= int_min(dtypes::int32) && b.high <= int_max(dtypes::int32);
    return cast(x, fits ? dtypes::int32 : dtypes::int64);
}

UOp floor_divided(UOp a, UOp b) {
    const UOp quotient = a / b;
    if (a.dtype().is_unsigned() || both_positive(a, b)) return quotient;
    const UOp below = has_wrong_sign(a % b, b);
    return alu(Op::where, {below, quotient - constant_int(a.dtype(), 1), quotient});
}

UOp floor_remainder(UOp a, UOp b) {
    const UOp rest = a % b;
    if (a.dtype().is_unsigned() || both_positive(a, b)) return rest;
    return alu(Op::where, {has_wrong_sign(rest, b), rest + b, rest});
}

UOp less(UOp a, UOp b) { return a < b; }

UOp less_or_equal(UOp a, UOp b) {
    if (!a.dtype().is_float()) return alu(Op::logical_not, {b < a});
    return alu(Op::bit_or, {a < b, alu(Op::cmpeq, {a, b})});  // false with NaN
}

UOp is_true(UOp x) { return x.dtype().is_bool() ? x : alu(Op::cmpne, {x, constant(x.dtype(), 0)}); }

}  // namespace strata::lang
