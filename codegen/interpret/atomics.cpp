// Atomics as axes.def says. Of floats, max and min give the number where the other one is NaN, as instructions do.
#include "strata/codegen/interpret/atomics_p.h"

#include <array>
#include <bit>
#include <cmath>

#include "strata/core/uop/reference.h"

namespace strata::codegen {
namespace {

ConstArg by(Op op, DType type, const ConstArg& old, const ConstArg& value) {
    return reference(op, type, type, std::array{old, value}).value();
}

ConstArg extreme(Op op, DType type, const ConstArg& old, const ConstArg& value) {
    if (type.is_float() && std::isnan(old.f)) return value;
    if (type.is_float() && std::isnan(value.f)) return old;
    return by(op, type, old, value);
}

bool same_bits(DType type, const ConstArg& a, const ConstArg& b) {
    return type.is_float() ? encode_scalar(type, a.f) == encode_scalar(type, b.f) : a.i == b.i;
}

}  // namespace

ConstArg after_atomic(AtomicOp operation, DType type, const ConstArg& old, const ConstArg& value,
                      const ConstArg& expected) {
    const auto count = static_cast<uint64_t>(old.i), most = static_cast<uint64_t>(value.i);
    switch (operation) {
        case AtomicOp::add: return by(Op::add, type, old, value);
        case AtomicOp::max: return extreme(Op::max, type, old, value);
        case AtomicOp::min: return extreme(Op::min, type, old, value);
        case AtomicOp::bit_and: return by(Op::bit_and, type, old, value);
        case AtomicOp::bit_or: return by(Op::bit_or, type, old, value);
        case AtomicOp::bit_xor: return by(Op::bit_xor, type, old, value);
        case AtomicOp::exchange: return value;
        case AtomicOp::compare_exchange: return same_bits(type, old, expected) ? value : old;
        case AtomicOp::inc: return {count >= most ? 0 : old.i + 1, 0};
        case AtomicOp::dec: return {count == 0 || count > most ? value.i : old.i - 1, 0};
    }
    return old;
}

}  // namespace strata::codegen
