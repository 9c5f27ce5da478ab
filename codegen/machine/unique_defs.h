#pragma once
#include <cstdint>
#include <vector>

#include "strata/codegen/machine/machine.h"

// Facts for passes that move computations.
namespace strata::codegen {

/// Registers by dword: those with one writer, which stands in front of all readers. The text's order is that of
/// execution and every loop runs at least once. Such a dword therefore has the value that its writer last gave it
/// wherever it is read.
class UniqueDefs {
  public:
    explicit UniqueDefs(const MachineFunction& function);

    uint32_t unit(Place place, int dword = 0) const {
        return base_[place.reg] + place.first + static_cast<uint32_t>(dword);
    }
    uint32_t units() const { return base_.back(); }
    bool holds(Place place) const;
    /// The block of a unit's only writer; kBefore for what the machine gives.
    static constexpr uint32_t kBefore = UINT32_MAX;
    uint32_t block(uint32_t unit) const { return block_[unit]; }
    void moved(Place place, uint32_t block);

  private:
    std::vector<uint32_t> base_;   // first unit of each register
    std::vector<uint32_t> block_;  // of each unit's writer
    std::vector<bool> single_;     // each unit
};

/// True if an instruction computes from its sources alone (and SCC), for all lanes, and only fills its destinations
/// (and SCC). It may run wherever the sources are known.
bool is_pure(const MachineFunction& function, const Instruction& instruction);

}  // namespace strata::codegen
