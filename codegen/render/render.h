#pragma once
#include "strata/codegen/linear/linear.h"
#include "strata/codegen/render/hip_source.h"
#include "strata/codegen/target/target.h"

namespace strata::codegen {

/// The program as HIP text a person can read, for the small prelude of codegen/toolchain (freestanding).
/// Unsupported error naming op, dtype and arch where no spelling exists.
Result<HipSource> render_hip(const LinearProgram& program, const Target& target);

/// Bytes of local memory that such text does not declare, so that the launch has to give them.
uint32_t dynamic_lds(const LinearProgram& program, const Target& target);

}  // namespace strata::codegen
