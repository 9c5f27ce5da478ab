#pragma once
#include <concepts>
#include <cstdint>

#include "strata/core/uop/uop.h"

namespace strata {

/// A number without an element type of its own (Python's bool, int and float): it takes the type of the tensor it
/// meets.
struct Number {
    Kind kind = Kind::Int;  ///< Bool, Int, UInt (only above INT64_MAX) or Float
    int64_t i = 0;          ///< Bool, Int, UInt (by bits)
    double f = 0;           ///< Float

    Number() = default;  ///< 0
    Number(bool value) : kind(Kind::Bool), i(value) {}
    template <std::integral T>
    Number(T value)
        : kind(static_cast<int64_t>(value) < 0 && value > 0 ? Kind::UInt : Kind::Int), i(static_cast<int64_t>(value)) {}
    template <std::floating_point T>
    Number(T value) : kind(Kind::Float), f(static_cast<double>(value)) {}

    double as_double() const;
    int64_t as_int() const;  ///< a float is truncated and saturated, NaN gives 0
    /// The type it has when it meets no tensor: bool, int64 (uint64), float32.
    DType default_dtype() const;
    /// The type of an operation between it and a tensor of type `other`: `other`, except that an int makes a bool int64
    /// and a float makes a bool or an integer float32.
    DType dtype_with(DType other) const;
    /// A scalar node. DType error when an integer type cannot hold the value.
    UOp constant(DType dtype) const;
};

}  // namespace strata
