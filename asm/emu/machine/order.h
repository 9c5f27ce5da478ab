#pragma once
#include <cstdint>

namespace strata::emu {

/// True if the order in which workgroups come to an instruction can decide what is in memory at the end.
enum class Order : uint8_t {
    free,            ///< no
    decides_floats,  ///< through atomics of floats only: sums round differently
    decides          ///< through others that give the value before, or do not commute
};

}  // namespace strata::emu
