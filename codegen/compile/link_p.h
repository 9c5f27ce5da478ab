#pragma once
#include <string>
#include <string_view>

#include "strata/asm/object/code_object.h"
#include "strata/codegen/compile/toolchain_p.h"

namespace strata::codegen {

/// Links clang's relocatable object into a loadable code object.
Result<isa::Bytes> link_object(const Toolchain& tools, std::string_view object);

}  // namespace strata::codegen
