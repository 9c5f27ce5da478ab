#pragma once
#include <string>

#include "strata/asm/object/code_object.h"
#include "strata/codegen/render/hip_source.h"
#include "strata/core/support/result.h"

namespace strata::codegen {

/// The symbol of the kernel that `source.kernel` names in a code object made from the source; empty for an empty name.
Result<std::string> find_entry(const isa::CodeObject& object, const HipSource& source);

}  // namespace strata::codegen
