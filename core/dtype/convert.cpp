#include <limits>

#include "strata/core/dtype/dtype.h"
#include "strata/core/dtype/float_format_p.h"
#include "strata/core/support/error.h"

namespace strata {
namespace {

/// An integer as a double that rounds like the integer itself in every narrower format. Where double cannot hold it,
/// the inexact result gets an odd last bit (round to odd), so that the second rounding sees the lost bits.
double to_odd_double(uint64_t magnitude) {
    if (magnitude >> 53 == 0) return static_cast<double>(magnitude);
    int drop = 64 - 53 - std::countl_zero(magnitude);
    uint64_t kept = magnitude >> drop;
    if (magnitude != kept << drop) kept |= 1;
    return static_cast<double>(kept) * static_cast<double>(uint64_t{1} << drop);
}

}  // namespace

double int_to_float(DType to, int64_t value, bool is_unsigned) {
    if (to.scalar == Scalar::float64)
        return is_unsigned ? static_cast<double>(static_cast<uint64_t>(value)) : static_cast<double>(value);
    bool negative = !is_unsigned && value < 0;
    double wide = to_odd_double(negative ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value));
    return round_to(to, negative ? -wide : wide);
}

int64_t float_to_int(DType to, double value) {
    if (to.is_bool()) return value != 0;
    if (value != value) return 0;
    if (to.scalar == Scalar::uint64) {
        if (value >= 0x1p64) return -1;
        return value <= 0 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(value));
    }
    if (value >= 0x1p63) return int_max(to);
    if (value < -0x1p63) return int_min(to);
    int64_t whole = static_cast<int64_t>(value);
    return whole < int_min(to) ? int_min(to) : whole > int_max(to) ? int_max(to) : whole;
}

uint64_t encode_scalar(DType type, double value) {
    if (type.is_float()) return encode_float(float_format(type.scalar), value);
    uint64_t bits = static_cast<uint64_t>(float_to_int(type, value));
    return type.bits() == 64 ? bits : bits & ((uint64_t{1} << type.bits()) - 1);
}

double decode_scalar(DType type, uint64_t bits) {
    if (type.is_float()) return decode_float(float_format(type.scalar), bits);
    int64_t value = wrap_to(type, static_cast<int64_t>(bits));
    return type.scalar == Scalar::uint64 ? static_cast<double>(bits) : static_cast<double>(value);
}

double round_to(DType type, double value) {
    if (!type.is_float()) return decode_scalar(type, encode_scalar(type, value));
    FloatFormat f = float_format(type.scalar);
    return decode_float(f, encode_float(f, value));
}

int64_t wrap_to(DType type, int64_t value) {
    if (type.is_bool()) return value != 0;
    STRATA_CHECK(type.is_integer(), "{} is no integer type", type.name());
    int unused = 64 - type.bits();
    uint64_t shifted = static_cast<uint64_t>(value) << unused;
    return type.is_unsigned() ? static_cast<int64_t>(shifted >> unused) : static_cast<int64_t>(shifted) >> unused;
}

int64_t int_min(DType type) {
    STRATA_CHECK(!type.is_float() && type.bits(), "{} is no integer type", type.name());
    if (type.is_bool() || type.is_unsigned()) return 0;
    return std::numeric_limits<int64_t>::min() >> (64 - type.bits());
}

int64_t int_max(DType type) {
    STRATA_CHECK(!type.is_float() && type.bits(), "{} is no integer type", type.name());
    if (type.is_bool()) return 1;
    int value_bits = type.bits() - !type.is_unsigned();
    return value_bits >= 63 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << value_bits) - 1;
}

}  // namespace strata
