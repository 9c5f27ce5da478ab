#pragma once
#include "strata/codegen/target/chip.h"

namespace strata::codegen {

/// What a card of an arch does in a clock: its row of rates.def.
struct Rates {
    std::string_view arch;
    int units, cus;                                    ///< units that share local memory, CUs of one
    int waves;                                         ///< that a SIMD holds
    int registers;                                     ///< of a SIMD, rows of 32 lanes
    double issue;                                      ///< clocks of a vector instruction of a wave
    double products;                                   ///< of a SIMD's matrix core, a clock
    double l0_bytes, l2_bytes, llc_bytes, dram_bytes;  ///< a clock, L0's of a CU
    double l2_mib, llc_mib;
    double memory_clocks;  ///< until a load from memory is there

    static constexpr int kSimds = 4;  ///< of a unit
};

const Rates& rates_of(Chip arch);

}  // namespace strata::codegen
