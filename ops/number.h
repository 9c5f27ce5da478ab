#pragma once
#include <complex>
#include <concepts>
#include <cstdint>

#include "strata/core/uop/uop.h"

namespace strata {

/// A number without an element type of its own (Python's bool, int, float and complex): it takes the type of the tensor
/// it meets.
struct Number {
    Kind kind = Kind::Int;  ///< Bool, Int, UInt (only above INT64_MAX), Float or Complex
    int64_t i = 0;          ///< Bool, Int, UInt (by bits)
    double f = 0;           ///< Float; the real part of Complex
    double imaginary = 0;   ///< Complex

    Number() = default;  ///< 0
    Number(bool value) : kind(Kind::Bool), i(value) {}
    template <std::integral T>
    Number(T value)
        : kind(static_cast<int64_t>(value) < 0 && value > 0 ? Kind::UInt : Kind::Int), i(static_cast<int64_t>(value)) {}
    template <std::floating_point T>
    Number(T value) : kind(Kind::Float), f(static_cast<double>(value)) {}
    Number(std::complex<double> value) : kind(Kind::Complex), f(value.real()), imaginary(value.imag()) {}

    bool is_zero() const;
    Number real() const;       ///< itself where it is not Complex
    double as_double() const;  ///< DType error for Complex
    int64_t as_int() const;    ///< a float is truncated and saturated, NaN gives 0
    /// The type it has when it meets no tensor: bool, int64 (uint64), float32, complex64.
    DType default_dtype() const;
    /// The type of an operation between it and a tensor of type `other`: `other`, with three exceptions. An int makes a
    /// bool int64, and a float makes a bool or an integer float32. A complex makes a real type the complex one that
    /// holds it.
    DType dtype_with(DType other) const;
    /// A scalar node. DType error when the type cannot hold the value: a complex number, a large one in integers.
    UOp constant(DType dtype) const;
};

}  // namespace strata
