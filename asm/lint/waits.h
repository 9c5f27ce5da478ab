#pragma once
#include <cstdint>
#include <vector>

#include "strata/asm/lint/access.h"
#include "strata/asm/lint/finding.h"

// Which operations of a wave may still be under way, and which registers they fill or read.
namespace strata::lint {

/// What may be outstanding at a place of the code. One path's, or with join() what any of several paths left.
class Outstanding {
  public:
    Outstanding(isa::Arch arch, int wave_size) : arch_(arch), wave_size_(wave_size) {}
    /// The instruction runs: finds uses of what is under way, lets waits end what they cover, adds what it starts.
    void step(const Step& step, Findings& found);
    /// Adds what another path left; whether anything was new. Counters take the path that waited less.
    bool join(const Outstanding& other);
    bool operator==(const Outstanding&) const = default;

  private:
    isa::Arch arch_;
    int wave_size_;
};

}  // namespace strata::lint
