#pragma once
#include <cstdint>

#include "strata/asm/lint/access.h"

// Instructions by which workgroups agree on memory.
namespace strata::emu {

/// A column of hand_over.def.
enum class HandOver : uint8_t { none, releases, acquires, listens };
HandOver hand_over_of(isa::Family family, const isa::Inst& inst);

/// True if an access to global memory is one that others may make at the same time.
enum class Atomic : uint8_t {
    no,
    load,    ///< at the device's scope
    update,  ///< a read-modify-write, or a store at the device's scope
    maybe,   ///< a store of a family whose instructions do not tell
};
Atomic atomic_of(isa::Family family, const isa::Inst& inst);

}  // namespace strata::emu
