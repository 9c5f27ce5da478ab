#include <cmath>
#include <limits>

#include "strata/core/uop/uop.h"

namespace strata {

UOp constant(DType dtype, double value) {
    if (dtype.is_float()) return make(Op::constant, dtype, {}, ConstArg{0, round_to(dtype.element(), value)});
    if (dtype.is_bool()) return make(Op::constant, dtype, {}, ConstArg{value != 0, 0});
    return constant_int(dtype, static_cast<int64_t>(value));
}

UOp constant_int(DType dtype, int64_t value) {
    if (dtype.is_float()) return constant(dtype, static_cast<double>(value));
    if (dtype.is_bool()) return make(Op::constant, dtype, {}, ConstArg{value != 0, 0});
    if (dtype.scalar != Scalar::index) value = wrap_to(dtype.element(), value);
    return make(Op::constant, dtype, {}, ConstArg{value, 0});
}

UOp alu(Op op, std::span<const UOp> sources) {
    const OpInfo& row = info(op);
    STRATA_CHECK(row.elementwise() && op != Op::cast && op != Op::bitcast, "{} is not built by alu", row.name);
    DType type = op == Op::where ? sources[1].dtype() : sources[0].dtype();
    if (row.rule == TypeRule::cmp) type = dtypes::boolean.vector(type.lanes);
    if (op == Op::where)
        STRATA_CHECK(sources[0].dtype().is_bool() && sources[1].dtype() == sources[2].dtype(), "where({}, {}, {})",
                     to_string(sources[0]), to_string(sources[1]), to_string(sources[2]));
    return make(op, type, sources);
}

UOp alu(Op op, std::initializer_list<UOp> sources) {
    return alu(op, std::span<const UOp>(sources.begin(), sources.size()));
}

UOp cast(UOp x, DType to) { return x.dtype() == to ? x : make(Op::cast, to, {x}); }

UOp bitcast(UOp x, DType to) {
    STRATA_CHECK(x.dtype().bytes() == to.bytes(), "bitcast {} to {}", x.dtype().name(), to.name());
    return x.dtype() == to ? x : make(Op::bitcast, to, {x});
}

double const_value(UOp u) {
    const ConstArg& value = u.as<ConstArg>();
    if (u.dtype().is_float()) return value.f;
    if (u.dtype() == dtypes::uint64) return static_cast<double>(static_cast<uint64_t>(value.i));
    return static_cast<double>(value.i);
}

int64_t const_int(UOp u) {
    STRATA_CHECK(!u.dtype().is_float(), "an integer constant was expected, got {}", to_string(u));
    return u.as<ConstArg>().i;
}

bool UOp::is_const(double value) const {
    if (!is_const()) return false;
    const ConstArg& held = as<ConstArg>();
    return dtype().is_float() ? held.f == value : const_value(*this) == value;
}

UOp index_const(int64_t value) { return constant_int(dtypes::index, value); }

namespace {

/// Infinity, or in formats without one the largest value.
double largest(DType type) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (!std::isnan(round_to(type, infinity))) return infinity;
    uint64_t code = (uint64_t{1} << (type.bits() - 1)) - 1;
    while (std::isnan(decode_scalar(type, code))) --code;
    return decode_scalar(type, code);
}

}  // namespace

UOp identity(Op op, DType type) {
    switch (op) {
        case Op::add: return constant(type, 0);
        case Op::mul: return constant(type, 1);
        case Op::max:
            return type.is_float() ? constant(type, -largest(type.element())) : constant_int(type, int_min(type));
        case Op::min:
            if (type == dtypes::uint64) return constant_int(type, -1);
            return type.is_float() ? constant(type, largest(type.element())) : constant_int(type, int_max(type));
        default: STRATA_CHECK(false, "{} is no reduction", info(op).name);
    }
}

UOp operator+(UOp a, int64_t b) { return a + constant_int(a.dtype(), b); }
UOp operator-(UOp a, int64_t b) { return a - constant_int(a.dtype(), b); }
UOp operator*(UOp a, int64_t b) { return a * constant_int(a.dtype(), b); }
UOp operator/(UOp a, int64_t b) { return a / constant_int(a.dtype(), b); }
UOp operator%(UOp a, int64_t b) { return a % constant_int(a.dtype(), b); }
UOp operator<(UOp a, int64_t b) { return a < constant_int(a.dtype(), b); }

}  // namespace strata
