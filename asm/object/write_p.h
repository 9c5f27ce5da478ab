#pragma once
#include "strata/asm/object/link_p.h"

// The parts of the code object writer.
namespace strata::isa {

inline bool is_rdna(const ArchInfo& arch) { return !is_cdna(arch.family); }

/// Error (Usage) when the device cannot run what the spec asks for.
Result<void> check_kernel(const ArchInfo& arch, const KernelSpec& spec);
/// The descriptor of a kernel, its entry left open.
KernelDescriptor describe_kernel(const ArchInfo& arch, const KernelSpec& spec);

/// Code that was placed in .text, with its lines.
struct PlacedLines {
    const CodeLines* lines = nullptr;
    int symbol = 0;  ///< of the code's first byte
    uint32_t words = 0;
};
/// Adds a .debug_line section (DWARF 5), one sequence for each code that has lines; none when no code has.
void add_line_table(LinkInput& input, std::span<const PlacedLines> codes);

}  // namespace strata::isa
