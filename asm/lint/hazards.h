#pragma once
#include <cstdint>
#include <vector>

#include "strata/asm/lint/access.h"
#include "strata/asm/lint/finding.h"

// Distances that code must keep by itself: hazards.def, a row a rule, with its source.
namespace strata::lint {

/// The instructions behind a place of the code that a rule may still look at. One path's, or with join() the nearest of
/// several paths'.
class Recent {
  public:
    Recent(isa::Arch arch, int wave_size) : arch_(arch), wave_size_(wave_size) {}
    /// The instruction runs: finds rules that it breaks with those before it.
    void step(const Step& step, Findings& found);
    bool join(const Recent& other);
    bool operator==(const Recent&) const = default;

  private:
    isa::Arch arch_;
    int wave_size_;
};

}  // namespace strata::lint
