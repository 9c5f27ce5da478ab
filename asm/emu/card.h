#pragma once
#include <string_view>

#include "strata/asm/isa/arch.h"

namespace strata::emu {

/// What a modelled card can do at most: of its row of observe/models.def.
struct Card {
    std::string_view name;
    double dram_gb_per_s;
    double launch_us, next_launch_us;  ///< from an empty queue; after another kernel
    double simd_clocks_per_s;          ///< clocks of all SIMDs together
};

/// The named card, or the default of the arch for an empty name. The error lists the known ones.
Result<Card> find_card(isa::Arch arch, std::string_view name = {});

}  // namespace strata::emu
