#pragma once
#include <string>

#include "strata/asm/isa/inst.h"

namespace strata::isa {

/// The instruction in LLVM's assembly syntax, wave32 names: "v_add_f32_e32 v0, s2, v1". For messages and listings.
std::string print(const Inst& inst, Arch arch);

}  // namespace strata::isa
