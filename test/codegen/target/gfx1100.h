#pragma once
#include "strata/codegen/target/target.h"

namespace strata::codegen {

inline const Target gfx1100 = target_of(isa::Arch::gfx1100);

}  // namespace strata::codegen
