#pragma once
#include <gtest/gtest.h>

#include <string>

#include "strata/asm/isa/inst.h"

namespace strata::isa {

/// The architectures whose instruction tables, decoders, encoders and printers are tested against LLVM.
inline auto tested_archs() { return testing::Values(Arch::gfx1100, Arch::gfx1201, Arch::gfx942, Arch::gfx90a); }
/// Those of them whose words llvm-mc survives with --show-encoding.
inline auto shown_archs() { return testing::Values(Arch::gfx1100, Arch::gfx1201); }
/// The wave size in which a row is an instruction of the arch.
inline int wave_size(Arch arch, const Row& row) { return row.flags & kWave64 ? 64 : info(arch).wave_size; }
inline std::string arch_name(const testing::TestParamInfo<Arch>& which) { return std::string(info(which.param).name); }

}  // namespace strata::isa
