#pragma once
#include <span>
#include <string_view>

namespace strata::codegen {

/// A function of the device math library (OCML) that rendered text calls by its name in C: __ocml_<name>_f32 and _f64.
struct LibraryFunction {
    std::string_view name;
    int arity;
};
/// Those that a row of ops.def names; the prelude declares them.
std::span<const LibraryFunction> math_library();

}  // namespace strata::codegen
