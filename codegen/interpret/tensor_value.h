#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// The elements of a tensor, row by row: floats in `f`, rounded to the type; integers and bool in `i`.
struct TensorValue {
    DType type;
    Shape shape;
    std::vector<double> f = {};
    std::vector<int64_t> i = {};

    TensorValue() = default;
    TensorValue(DType type, Shape shape);  ///< zeros
    size_t elements() const { return type.is_float() ? f.size() : i.size(); }
};

/// The elements that memory holds, and the memory that holds them.
TensorValue decode(DType type, Shape shape, std::span<const uint8_t> bytes);
void encode(const TensorValue& value, std::span<uint8_t> bytes);

}  // namespace strata::codegen
