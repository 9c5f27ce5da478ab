#pragma once
#include <cstdint>
#include <vector>

#include "strata/asm/emu/check/moment.h"

namespace strata::emu {

class Registers;

/// Which bits of a wave's scratch come from what was written.
class PrivateMemory {
  public:
    void start(uint32_t bytes, int lanes) { known_.assign((size_t{bytes} + 3) / 4 * static_cast<size_t>(lanes), 0); }
    /// A memory instruction about to run.
    void step(const Moment& moment, Registers& registers);
    /// The same of one whose data is known: false if it loads what is not, and nothing was noted.
    bool pass(Wave& wave, const Op& op);

  private:
    std::vector<uint32_t> known_;  ///< bits of a dword, by dword and lane
};

/// Whether an address of a lane leads to private memory.
constexpr bool is_private(uint64_t address) {
    return address >> 32 == kPrivateAperture || address >> 47 == kScratchWindow >> 47;
}

/// Active lanes whose address leads elsewhere; of an op that is no memory instruction: all.
uint64_t lanes_elsewhere(Wave& wave, const Op* op);

/// The rows that a memory instruction fills, or takes its data from; -1: none.
struct DataRows {
    explicit DataRows(const Moment& moment);
    int loaded = -1, stored[2] = {-1, -1};
};

}  // namespace strata::emu
