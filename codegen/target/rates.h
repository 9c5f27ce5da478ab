#pragma once
#include "strata/asm/isa/card.h"
#include "strata/codegen/target/target.h"

namespace strata::codegen {

/// The usual card of a chip: the first of its rows in asm/isa/cards.def.
const isa::Card& card_of(Chip chip);

/// Rates of that card in a clock, by which schedules are compared.
struct Rates {
    int units, cus;                                    ///< units that share local memory, CUs of one
    int waves;                                         ///< that a SIMD holds
    int registers;                                     ///< of a SIMD, rows of 32 lanes
    double issue;                                      ///< clocks of a vector instruction of a wave
    double l0_bytes, l2_bytes, llc_bytes, dram_bytes;  ///< a clock, L0's of a CU
    double l0_bytes_held, l2_mib, llc_mib;             ///< L0: of a CU
    double memory_clocks;                              ///< until a load from memory is there
    double waves_started;                              ///< in a clock
    int dies;  ///< each with its part of L2, to which all that its CUs read comes

    static constexpr int kSimds = isa::Unit::kSimds;
};

const Rates& rates_of(Chip chip);

/// Clocks in which L2, the last-level cache and DRAM bring what workgroups ask for: the slowest of them. wanted: bytes
/// of lines that they ask L2 for; first: those that are asked for the first time; of_l2: those that go over L2's
/// bandwidth.
double memory_clocks(const Rates& rates, double wanted, double first, double of_l2);

/// Clocks that a matrix instruction of a wave keeps its SIMD's matrix core busy, by the instruction table. For NVIDIA's
/// chips they follow from the products of a core in a clock.
double clocks_of(const MatrixShape& shape, const Target& target);

}  // namespace strata::codegen
