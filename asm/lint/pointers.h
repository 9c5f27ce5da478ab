#pragma once
#include <cstdint>
#include <unordered_map>

#include "strata/asm/object/code_object.h"

namespace strata::lint {

/// A memory instruction whose address is computed from the pointer that an argument of the kernel is.
struct PointerUse {
    uint16_t argument = 0;  ///< in KernelInfo::args
    bool reads = false, writes = false;
};
using PointerUses = std::unordered_map<uint64_t, PointerUse>;  ///< by pc

/// Without the instructions whose address may come from several pointers, or from one that no argument is.
PointerUses pointers_of(const isa::CodeObject& object, const isa::KernelInfo& kernel);

}  // namespace strata::lint
