#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "strata/asm/object/code_object.h"
#include "strata/executable/parameter.h"

namespace strata::codegen {

/// The explicit parameters, in order. A parameter that the metadata lacks comes from the symbol where it is mangled,
/// else from the declaration in the text. "" = there is no text.
std::vector<executable::Parameter> parameters_of(const isa::KernelInfo& kernel, std::string_view text);

/// The prefix of the symbols that are added to a user's source.
inline constexpr std::string_view kOwnSymbols = "__strata_";

/// A symbol as C++ writes it; `symbol` itself where it is not mangled.
std::string demangled(const std::string& symbol);

}  // namespace strata::codegen
