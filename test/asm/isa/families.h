#pragma once
#include <gtest/gtest.h>

#include <string>

#include "strata/asm/isa/arch.h"

namespace strata::isa {

/// The architectures whose instruction tables, decoders, encoders and printers are tested against LLVM.
inline auto tested_archs() { return testing::Values(Arch::gfx1100, Arch::gfx1201, Arch::gfx942, Arch::gfx90a); }
/// Those of them whose words llvm-mc survives with --show-encoding.
inline auto shown_archs() { return testing::Values(Arch::gfx1100, Arch::gfx1201); }
inline std::string arch_name(const testing::TestParamInfo<Arch>& which) { return std::string(info(which.param).name); }

}  // namespace strata::isa
