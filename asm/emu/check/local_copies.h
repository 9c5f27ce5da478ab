#pragma once
#include <vector>

#include "strata/asm/emu/check/moment.h"

namespace strata::emu {

/// Loads to local memory and no register that no wait has ended, of a workgroup. A lane's dword is beside that of the
/// lane before it.
class LocalCopies {
  public:
    struct Copy {
        uint32_t wave;
        uint64_t pc, lanes;
        std::string_view name;
        uint32_t first;        ///< byte of lane 0
        uint16_t counter;      ///< an isa::counter bit
        uint32_t younger = 0;  ///< operations of that counter that the wave began after it
    };
    bool any() const { return !copies_.empty(); }
    void clear() { copies_.clear(); }
    void add(const Moment& moment, uint32_t first);
    /// The wave is at an instruction: the copies that end here, where it is a wait.
    std::vector<Copy> step(const Moment& moment);
    /// A copy to one of these bytes; nullptr: none.
    const Copy* to(uint32_t first, uint32_t bytes) const;

  private:
    std::vector<Copy> copies_;
};

}  // namespace strata::emu
