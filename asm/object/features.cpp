#include "strata/asm/object/features.h"

#include <elf.h>

#include <cstring>

namespace strata::isa {

std::span<const GenericTarget> generic_targets() {
    static constexpr GenericTarget kRows[] = {
#define GENERIC(name, mach, arch) {name, mach, Arch::arch},
#include "strata/asm/object/generics.def"
    };
    return kRows;
}

/// EF_AMDGPU_FEATURE_XNACK_V4 of e_flags (AMDGPUUsage, "ELF Header").
bool faults_replay(const CodeObject& object) {
    constexpr uint32_t kMask = 0x300, kAny = 0x100, kOn = 0x300;
    Elf64_Ehdr header{};
    if (object.image.size() < sizeof header) return false;
    memcpy(&header, object.image.data(), sizeof header);
    const uint32_t says = header.e_flags & kMask;
    return says == kAny || says == kOn;
}

}  // namespace strata::isa
