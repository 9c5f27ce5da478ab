#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace strata {

enum class Scalar : uint8_t {
#define DTYPE(name, ...) name,
#include "strata/core/dtype/dtypes.def"
#undef DTYPE
    index,  ///< integer of a kernel's address arithmetic; becomes int32 or int64 when its range is known
    none,   ///< effects: store, barrier, end, sink
#define COMPLEX(name, part) name,
#include "strata/core/dtype/complex_dtypes.def"
#undef COMPLEX
};

enum class Kind : uint8_t { Bool, Int, UInt, Float, Complex };

/// An element type, or inside kernels a short vector of one. Complex ones are of tensors alone, never of nodes.
struct DType {
    Scalar scalar = Scalar::none;
    uint8_t lanes = 1;

    constexpr DType() = default;
    constexpr DType(Scalar scalar, int lanes = 1) : scalar(scalar), lanes(static_cast<uint8_t>(lanes)) {}
    constexpr bool operator==(const DType&) const = default;
    constexpr DType element() const { return {scalar}; }
    constexpr DType vector(int n) const { return {scalar, n}; }

    Kind kind() const;
    int bits() const;   ///< of one element
    int bytes() const;  ///< of the whole vector
    bool is_float() const { return scalar < Scalar::index && kind() == Kind::Float; }
    bool is_bool() const { return scalar == Scalar::boolean; }
    bool is_integer() const {
        return scalar == Scalar::index || (scalar < Scalar::index && (kind() == Kind::Int || kind() == Kind::UInt));
    }
    bool is_unsigned() const { return scalar < Scalar::index && kind() == Kind::UInt; }
    bool is_complex() const { return scalar > Scalar::none; }
    DType part() const;     ///< of the real and the imaginary part of a complex type; a real type is its own
    DType complex() const;  ///< the complex type that holds a real one: complex64, or complex128 of float64
    int exponent_bits() const;
    int mantissa_bits() const;
    std::string_view name() const;   ///< "float32"
    std::string_view hip() const;    ///< "float"; element type
    std::string_view numpy() const;  ///< "float32", or "" where NumPy has none
};

namespace dtypes {
#define DTYPE(name, ...) inline constexpr DType name{Scalar::name};
#include "strata/core/dtype/dtypes.def"
#undef DTYPE
#define COMPLEX(name, ...) inline constexpr DType name{Scalar::name};
#include "strata/core/dtype/complex_dtypes.def"
#undef COMPLEX
inline constexpr DType index{Scalar::index};
inline constexpr DType none{Scalar::none};
}  // namespace dtypes

/// Every element type of graphs, in table order; the complex types.
std::span<const DType> all_dtypes();
std::span<const DType> complex_dtypes();
/// By name or NumPy name; throws DType Exception listing the known ones.
DType parse_dtype(std::string_view name);

/// The type of an operation between arrays of two types: the array API's table, and these rows.
///   int with float                  the float
///   real with complex               the complex type that holds both parts; of an int, the complex type
///   bfloat16 with float16           float32
///   fp8 with a wider float          the wider
///   fp8 with another fp8            float16
/// uint64 with a signed integer is a DType error: no integer type holds both.
DType promote(DType a, DType b);

/// Exact scalar conversions. Encoded values are the bits of the type, zero-extended to 64.
/// Rounding is to nearest, ties to even. Overflow gives infinity where the format has it, else NaN (fp8 e4m3 and FNUZ).
uint64_t encode_scalar(DType type, double value);
double decode_scalar(DType type, uint64_t bits);
/// The value a type holds after conversion from double (float types) or from int64 with wrap-around (integer types).
double round_to(DType type, double value);
int64_t wrap_to(DType type, int64_t value);
/// Value conversions between the kinds: correctly rounded once; truncated and saturated, NaN gives 0 (bool: x != 0).
/// A uint64 travels by its bits.
double int_to_float(DType to, int64_t value, bool is_unsigned = false);
int64_t float_to_int(DType to, double value);

/// Smallest and largest value of an integer or bool type, as int64 (uint64's largest saturates to INT64_MAX).
int64_t int_min(DType type);
int64_t int_max(DType type);

}  // namespace strata
