#pragma once
#include <string_view>

#include "strata/asm/isa/arch.h"

namespace strata::emu {

/// A GPU of the timing model: one row of models.def.
struct Model {
    std::string_view name;
    isa::Arch arch;
    int cus;
    double mhz, dram_gib, dram_gbs, llc_mib, llc_gbs, l2_mib, l2_gbs, l2_ns, dram_ns, launch_us;

    static constexpr int kSimdsPerCu = 2, kWavesPerSimd = 16, kRegistersPerSimd = 1536;  // registers of wave32
    double cycles(double nanoseconds) const { return nanoseconds * mhz / 1000; }
};

/// The named GPU, or the default of the arch for an empty name. The error lists the known ones.
Result<const Model*> find_model(isa::Arch arch, std::string_view name);

}  // namespace strata::emu
