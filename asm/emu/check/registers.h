#pragma once
#include <bitset>
#include <vector>

#include "strata/asm/emu/check/launch_checks.h"
#include "strata/asm/emu/check/moment.h"

namespace strata::emu {

/// Which registers of a wave hold what was written, and not what happened to be there. Moves, selects and spills pass on
/// what they find; anything else that uses it is a finding, after which the register counts as written.
class Registers {
  public:
    void start(const Wave& wave, const GivenRegisters& given);
    /// Looks at what the instruction reads, and notes what it writes.
    void step(const Moment& moment);
    /// Lanes whose dword of a row is written.
    uint64_t written(int row) const {
        return row < static_cast<int>(rows_.size()) ? rows_[static_cast<size_t>(row)] : ~0ull;
    }
    /// A load brought what nothing has written into some lanes of a row.
    void take_unwritten(int row, uint64_t lanes, uint64_t pc);

  private:
    uint64_t lanes_of(const lint::Registers& registers, uint16_t dword) const;
    void set(uint16_t reg, uint64_t lanes, uint64_t written);
    void use(const Moment& moment, const lint::Read& read);
    uint64_t copied(const Moment& moment, uint16_t dword) const;

    std::vector<uint64_t> rows_;    ///< lanes, by row
    std::vector<uint64_t> loaded_;  ///< by row: pc + 1 of the load that brought what is not written; 0: none did
    std::bitset<lint::kMode + 1> scalars_;
    uint64_t all_ = ~0ull;  ///< lanes of the wave
};

}  // namespace strata::emu
