#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "strata/core/dtype/dtype.h"

namespace strata::codegen {

/// A parameter as C++ declares it.
struct Declared {
    std::string type;  ///< without qualifiers; of a pointer, with what it points to
    std::string name;  ///< "" = none
    bool pointer = false;
    bool points_to_const = false;
};

/// The parameters of a demangled signature, "void scale<float>(float*, float const*, int)".
std::vector<Declared> parameters_of_signature(std::string_view signature);
/// Those of the __global__ function `name` in C++ text; none when it is not found.
std::vector<Declared> parameters_in_text(std::string_view text, std::string_view name);

/// The element type that a C++ type is; looks for typedefs, using and #define in the text.
std::optional<DType> number_type(std::string_view type, std::string_view text);

}  // namespace strata::codegen
