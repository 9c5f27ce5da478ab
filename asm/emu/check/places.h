#pragma once
#include "strata/asm/emu/machine/wave.h"

namespace strata::emu {

/// By lane: the byte of local memory at which the item of an access begins. Inactive lanes have that of the first
/// active lane.
struct Places {
    Places(Wave& wave, const Op& op);
    /// All begin in one place, or each one where the one before ends.
    bool are_together() const { return !differ || (is_solid && !apart); }
    bool are_within(int32_t least, int32_t most) const { return lowest >= least && highest <= most; }
    /// No item is in several dwords.
    bool are_in_dwords() const { return bytes <= 4 && !(low_bits & static_cast<uint32_t>(bytes - 1)); }
    /// All items are whole dwords.
    bool are_dwords() const { return !(bytes % 4) && !(low_bits & 3); }
    /// Most items have nothing to do with their neighbours.
    bool are_scattered() const;

    int32_t firsts[64], bytes;
    int count = 0;            ///< of firsts; 0: no lane is active
    bool is_solid = false;    ///< the active lanes are side by side
    int32_t lowest, highest;  ///< of firsts
    uint32_t differ, apart;   ///< bits by which they are not in one place; not one after the other
    uint32_t low_bits;        ///< that any of them has
};

}  // namespace strata::emu
