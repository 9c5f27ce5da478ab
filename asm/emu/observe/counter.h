#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include "strata/asm/emu/observe/instrumented.h"

namespace strata::emu {

/// Counts how often instructions run, in any number of workgroups at once.
class Counter final : public Observer {
  public:
    Wants before(Wave& wave, const Site& site) override;
    void clear();
    /// How often each instruction of a chunk ran since then, by Op::index. A hint without an op counts as often as its
    /// neighbours allow.
    std::vector<uint64_t> counts(const Chunk& chunk) const;

  private:
    using Counts = std::vector<std::atomic<uint64_t>>;  ///< by op
    PerChunk<Counts> counts_;
};

}  // namespace strata::emu
