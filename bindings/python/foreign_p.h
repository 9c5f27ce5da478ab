#pragma once
#include <span>

#include "convert_p.h"

namespace strata::python {

/// An element type that NumPy has not, as others have it: a row of foreign_types.def.
struct Foreign {
    DType type;
    std::string_view name;  ///< in the package ml_dtypes
    int dlpack;             ///< its code
};

std::span<const Foreign> foreign_types();
const Foreign* foreign(DType type);          ///< null: NumPy has it
DType named_dtype(const std::string& name);  ///< Strata's, NumPy's or ml_dtypes' name
/// numpy.dtype, of ml_dtypes where NumPy has none. DTypeError where that package is not installed.
py::object numpy_dtype(DType type);
/// The NumPy type that holds its bits: itself, or an unsigned integer.
std::string bits_dtype(DType type);

}  // namespace strata::python
