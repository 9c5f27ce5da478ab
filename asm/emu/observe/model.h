#pragma once
#include "strata/asm/isa/arch.h"
#include "strata/asm/isa/card.h"

namespace strata::emu {

inline constexpr double kMiB = 1048576;

/// The card that the timing model is of.
using Model = isa::Card;

inline const isa::ArchInfo& arch_of(const Model& model) { return isa::info(isa::parse_arch(model.arch).value()); }

}  // namespace strata::emu
