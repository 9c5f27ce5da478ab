#pragma once
#include <string>
#include <string_view>

#include "strata/asm/object/code_object.h"
#include "strata/codegen/render/hip_source.h"
#include "strata/core/support/result.h"

namespace strata::codegen {

/// How messages name the text of entry_request().
inline constexpr std::string_view kEntryFile = "<kernel name>";

/// Text after a source whose kernel is a template's, "scale<float, 4>": it makes clang instantiate the kernel and say
/// which one is meant. Empty for another name.
std::string entry_request(const HipSource& source);

/// The symbol of the kernel that `source.kernel` names in a code object made from the source; empty for an empty name.
Result<std::string> find_entry(const isa::CodeObject& object, const HipSource& source);

/// The same among the kernels of the object, by name alone: the symbol, or the one kernel whose name in C++ it is.
Result<std::string> find_entry_by_name(const isa::CodeObject& object, const HipSource& source);

}  // namespace strata::codegen
