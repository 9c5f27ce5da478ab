#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "strata/asm/emu/check/moment.h"

namespace strata::emu {

class Registers;

/// Lanes that take part in an access to memory, and where.
struct LaneAddresses {
    LaneAddresses(Wave& wave, const Op& op);
    uint64_t addresses[64], active;
};

/// Which bits of a wave's scratch come from what was written.
class PrivateMemory {
  public:
    void start(uint32_t bytes, int lanes);
    /// A memory instruction about to run.
    void step(const Moment& moment, Registers& registers);
    /// The same of one whose data is known: false if it loads what is not, and nothing was noted.
    bool pass(const Wave& wave, const Op& op, const LaneAddresses& lanes);

  private:
    struct Part;
    struct Dwords {
        uint32_t first, end;
    };
    std::optional<Dwords> common_dwords(const Wave& wave, const Op& op, const LaneAddresses& lanes) const;
    uint32_t bits(const Part& part, int lane) const;
    void put(const Part& part, int lane, uint32_t bits);
    void load(const Moment& moment, Registers& registers, uint16_t reg, uint32_t dword, uint64_t lanes);
    void store(const Registers& registers, int reg, uint32_t dword, uint64_t lanes);
    void step_lane(const Moment& moment, Registers& registers, int data, int lane, uint32_t first);

    int lanes_ = 32;
    std::vector<uint64_t> whole_;   ///< by dword: lanes of which all bits come from what was written
    std::vector<uint64_t> partly_;  ///< and those of which known_ tells more, if they are not among them
    std::vector<uint32_t> known_;   ///< bits of a dword, by dword and lane
};

/// True if an address of a lane leads to private memory.
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
