#pragma once
#include <cstdint>
#include <vector>

#include "strata/asm/emu/check/moment.h"

namespace strata::emu {

class Registers;

/// Which bytes of a wave's scratch hold what was written.
class PrivateMemory {
  public:
    void start(uint32_t bytes, int lanes) { written_.assign(bytes, 0), lanes_ = lanes; }
    /// A memory instruction about to run.
    void step(const Moment& moment, Registers& registers);

  private:
    std::vector<uint64_t> written_;  ///< lanes, by byte
    int lanes_ = 0;
};

}  // namespace strata::emu
