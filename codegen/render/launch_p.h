#pragma once
#include <string>
#include <string_view>

#include "strata/codegen/linear/linear.h"

// The kernel's head in HIP text, and names of the prelude.
namespace strata::codegen {

/// Threads of a block, and how many waves or registers the kernel asks for.
std::string launch_bounds(const LinearProgram& program, const Target& target);
/// A value that is equal in all lanes of a wave, as a scalar where there are such registers.
std::string first_lane(const std::string& text, const Target& target);
/// The prelude's name of a memory scope.
std::string_view scope_name(MemoryScope scope);

}  // namespace strata::codegen
