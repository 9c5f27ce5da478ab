#pragma once
#include <string>
#include <string_view>

#include "strata/codegen/render/hip_source.h"
#include "strata/core/support/result.h"

namespace strata::codegen {

/// An Error (Compile) from clang's log: its first error as the message, with file, line and column of the user's text.
/// `otherwise` is said when the log holds no error of the usual form.
Error compile_error(const HipSource& source, std::string log, std::string_view otherwise);

/// The option that makes clang say which functions it leaves out as the GPU has no instruction that they were compiled
/// for.
inline constexpr std::string_view kSayLeftOut = "-Rpass=amdgpu-remove-incompatible-functions";

/// An Error (Compile) when the log says so: calls of such a function are left out too, and what they gave is undefined.
Result<void> check_nothing_left_out(const HipSource& source, const std::string& log, std::string_view arch);

}  // namespace strata::codegen
