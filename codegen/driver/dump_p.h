#pragma once
#include "strata/codegen/kernel/kernel.h"
#include "strata/codegen/linear/linear.h"
#include "strata/codegen/target/target.h"
#include "strata/core/support/result.h"
#include "strata/executable/code.h"

namespace strata::codegen {

/// Writes a kernel's stages as numbered files into a folder of its own, below the folder of the setting `dump`. The
/// graph comes first, as it was and after each pass; then HIP text, or instructions after each pass. Assembly comes
/// last, of the same bytes. A stage that fails ends the files with its error.
/// Error (Usage): nothing can be written.
Result<void> dump_kernel(const Kernel& kernel, const Target& target, const Result<LinearProgram>& program,
                         const Result<executable::Code>& compiled);

}  // namespace strata::codegen
