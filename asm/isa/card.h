#pragma once
#include <span>
#include <string_view>

#include "strata/core/support/result.h"

namespace strata::isa {

/// The unit that shares local memory on cards of an architecture: a row UNIT of cards.def.
struct Unit {
    std::string_view arch;
    int cus;          ///< CUs of a unit
    int waves;        ///< that a SIMD holds
    int registers;    ///< of a SIMD, rows of 32 lanes
    double issue;     ///< clocks of a vector instruction of a wave
    double products;  ///< 16-bit multiply-adds of a SIMD's matrix core in a clock; 0: its instruction table tells

    static constexpr int kSimds = 4;  ///< of a unit
};

/// A GPU: a row CARD of cards.def.
struct Card {
    std::string_view name, arch;
    int cus;
    double mhz, l0_kib, l0_bytes, l0_clocks;  ///< l0: of a CU, bytes a clock, clocks until they are there
    double lds_clocks, scalar_clocks;         ///< until LDS answers, and a scalar load that hits
    double dram_gib, dram_gbs, llc_mib, llc_gbs, l2_mib, l2_gbs, l2_ns, llc_ns, dram_ns, launch_us,
        next_launch_us;  ///< launch: from an empty queue; next: after another kernel
    int dies;            ///< each with an equal part of the L2, which only its CUs use
    int engines;         ///< shader engines: each starts a wave in a clock

    const Unit& unit() const;  ///< of its architecture
    double units() const { return 1.0 * cus / unit().cus; }
    double cycles(double nanoseconds) const { return nanoseconds * mhz / 1000; }
    double simd_clocks_per_s() const { return units() * Unit::kSimds * mhz * 1e6; }
};

std::span<const Card> cards();

/// The named card of an architecture ("gfx1100", "sm_90"), or its default for an empty name. The error lists the known
/// ones.
Result<const Card*> find_card(std::string_view arch, std::string_view name = {});

}  // namespace strata::isa
