#pragma once
#include <string_view>

#include "strata/asm/isa/arch.h"

namespace strata::emu {

inline constexpr double kMiB = 1048576;

/// A GPU of the timing model: one row of models.def.
struct Model {
    std::string_view name;
    isa::Arch arch;
    int cus;
    double mhz, l0_kib, l0_bytes, l0_clocks;  ///< l0: of a CU, bytes a clock, clocks until they are there
    double lds_clocks, scalar_clocks;         ///< until LDS answers, and a scalar load that hits
    double dram_gib, dram_gbs, llc_mib, llc_gbs, l2_mib, l2_gbs, l2_ns, llc_ns, dram_ns, launch_us,
        next_launch_us;  ///< launch: from an empty queue; next: after another kernel
    int dies;            ///< each with an equal part of the L2, which only its CUs use

    /// What shares local memory: RDNA's WGP of two CUs with two SIMDs each, CDNA's CU of four SIMDs.
    bool cdna() const { return is_cdna(isa::info(arch).family); }
    static constexpr int kSimdsPerUnit = 4;
    int cus_per_unit() const { return cdna() ? 1 : 2; }
    int waves_per_simd() const { return cdna() ? 8 : 16; }
    int registers_per_simd() const { return cdna() ? 1024 : 1536; }  ///< rows of 32 lanes
    double cycles(double nanoseconds) const { return nanoseconds * mhz / 1000; }
};

/// The named GPU, or the default of the arch for an empty name. The error lists the known ones.
Result<const Model*> find_model(isa::Arch arch, std::string_view name);

}  // namespace strata::emu
