#pragma once
#include <optional>

#include "strata/asm/emu/machine/wave.h"

namespace strata::emu {

/// The op of an image load, store or sample; none: not RDNA's.
std::optional<Op> choose_image(const Decoded& decoded);

}  // namespace strata::emu
