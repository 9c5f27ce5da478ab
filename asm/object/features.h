#pragma once
#include "strata/asm/object/code_object.h"

// The features in an object's target id: "gfx90a:xnack-", and ids of several processors.
namespace strata::isa {

/// A row of generics.def.
struct GenericTarget {
    std::string_view name;
    uint32_t elf_mach;
    Arch arch;
};
std::span<const GenericTarget> generic_targets();

/// True if the object's code is of a generic target.
bool is_generic(const CodeObject& object);
/// True if the object's code is the arch's, or of a generic target that the arch is one of.
bool runs_on(const CodeObject& object, Arch arch);

/// True if memory instructions of the object's code may run again after a page fault (XNACK). Its target is then
/// machines with XNACK, or any.
bool faults_replay(const CodeObject& object);

}  // namespace strata::isa
