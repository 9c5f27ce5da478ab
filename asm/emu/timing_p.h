#pragma once
#include "strata/asm/emu/wave_p.h"

namespace strata::emu {

/// Measures one workgroup: its waves run ops whose handlers account for the instruction first.
class GroupTiming {
  public:
    const Op* measured(const Op* plain) const { return plain; }
    const Op* plain(const Op* measured) const { return measured; }
};

}  // namespace strata::emu
