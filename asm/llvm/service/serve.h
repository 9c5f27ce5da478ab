#pragma once
#include <string_view>

namespace strata::isa {

/// Answers requests on a socket until the other end closes it or nothing comes for a while. `folders` as llvm() has
/// them.
void serve(int socket, std::string_view folders);

}  // namespace strata::isa
