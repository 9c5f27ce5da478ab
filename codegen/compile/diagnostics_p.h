#pragma once
#include <string>
#include <string_view>

#include "strata/codegen/render/hip_source.h"
#include "strata/core/support/result.h"

namespace strata::codegen {

/// An Error (Compile) from clang's log: its first error as the message, with file, line and column of the user's text.
/// `otherwise` is said when the log holds no error of the usual form.
Error compile_error(const HipSource& source, std::string log, std::string_view otherwise);

}  // namespace strata::codegen
