#pragma once
#include <string>
#include <string_view>

#include "strata/codegen/linear/linear.h"
#include "strata/core/uop/uop_map.h"

// The kernel's head in HIP text, and names of the prelude.
namespace strata::codegen {

/// Threads of a block, and how many waves or registers the kernel asks for.
std::string launch_bounds(const LinearProgram& program, const Target& target);
/// The text up to the kernel's body, and the name of its symbol.
struct KernelHead {
    std::string text, entry;
};
KernelHead kernel_head(const LinearProgram& program, const Target& target, const UOpMap<bool>& written);
std::string parameter_name(UOp parameter, bool written);
/// A value that is equal in all lanes of a wave, as a scalar where there are such registers.
std::string first_lane(const std::string& text, const Target& target);
/// The prelude's name of a memory scope.
std::string_view scope_name(MemoryScope scope);

}  // namespace strata::codegen
