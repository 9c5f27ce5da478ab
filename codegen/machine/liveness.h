#pragma once
#include <span>
#include <vector>

#include "strata/codegen/machine/machine.h"

// Where each dword of each virtual register is live.
namespace strata::codegen {

/// Instruction k of the function (counted through all blocks) reads at position 2k and writes at 2k + 1.
constexpr uint32_t read_position(uint32_t instruction) { return 2 * instruction; }
constexpr uint32_t write_position(uint32_t instruction) { return 2 * instruction + 1; }

/// Positions from begin up to, but not including, end.
struct Segment {
    uint32_t begin = 0, end = 0;
};

/// Live segments by unit: a unit is a dword of a virtual register. Where a dword is not live its place is free for
/// others. A dword that is written and never read is live for one position.
class Liveness {
  public:
    explicit Liveness(const MachineFunction& function);

    uint32_t unit(Place place) const { return base_[place.reg] + place.first; }
    uint32_t unit(uint32_t reg, uint32_t dword) const { return base_[reg] + dword; }
    uint32_t units() const { return base_.back(); }
    /// In ascending order, with a gap between each and the next.
    std::span<const Segment> segments(uint32_t unit) const {
        return {segments_.data() + first_[unit], segments_.data() + first_[unit + 1]};
    }
    bool live_at(uint32_t unit, uint32_t position) const;
    /// Where VCC itself is in use, as the operand that instructions name or imply.
    std::span<const Segment> vcc() const { return vcc_; }
    /// Positions [begin, end) of a block.
    Segment block(uint32_t i) const { return {2 * starts_[i], 2 * starts_[i + 1]}; }
    uint32_t instructions() const { return starts_.back(); }

  private:
    std::vector<uint32_t> base_;   // first unit of each register
    std::vector<uint32_t> first_;  // into segments_, of each unit
    std::vector<Segment> segments_;
    std::vector<Segment> vcc_;
    std::vector<uint32_t> starts_;  // first instruction of each block
};

}  // namespace strata::codegen
