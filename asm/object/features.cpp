#include "strata/asm/object/features.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "strata/asm/object/amdgpu_elf_p.h"

namespace strata::isa {

std::span<const GenericTarget> generic_targets() {
    static constexpr GenericTarget kRows[] = {
#define GENERIC(name, mach, arch) {name, mach, Arch::arch},
#include "strata/asm/object/generics.def"
    };
    return kRows;
}

namespace {

uint32_t flags_of(const CodeObject& object) {
    Elf64_Ehdr header{};
    if (object.image.size() < sizeof header) return 0;
    memcpy(&header, object.image.data(), sizeof header);
    return header.e_flags;
}

}  // namespace

bool is_generic(const CodeObject& object) {
    return std::ranges::find(generic_targets(), flags_of(object) & elf::kMachMask, &GenericTarget::elf_mach) !=
           generic_targets().end();
}

bool runs_on(const CodeObject& object, Arch arch) {
    if (object.arch == arch) return true;
    const uint32_t mach = flags_of(object) & elf::kMachMask;
    return std::ranges::any_of(generic_targets(),
                               [&](const GenericTarget& row) { return row.elf_mach == mach && row.arch == arch; });
}

/// EF_AMDGPU_FEATURE_XNACK_V4 of e_flags (AMDGPUUsage, "ELF Header").
bool faults_replay(const CodeObject& object) {
    constexpr uint32_t kMask = 0x300, kAny = 0x100, kOn = 0x300;
    const uint32_t says = flags_of(object) & kMask;
    return says == kAny || says == kOn;
}

}  // namespace strata::isa
