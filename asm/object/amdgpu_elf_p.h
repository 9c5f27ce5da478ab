#pragma once
#include <elf.h>

#include <cstdint>
#include <string_view>

// AMDGPU's additions to <elf.h> (LLVM AMDGPUUsage, "ELF Code Object").
namespace strata::isa::elf {

constexpr uint8_t kOsAbiHsa = 64;
constexpr uint8_t kAbiVersionV4 = 2, kAbiVersionV6 = 4;  ///< e_ident[EI_ABIVERSION]; metadata version = this + 2
constexpr uint32_t kMachMask = 0xff;                     ///< EF_AMDGPU_MACH bits of e_flags
constexpr uint32_t kNoteMetadata = 32;                   ///< NT_AMDGPU_METADATA
constexpr std::string_view kNoteOwner = "AMDGPU";
constexpr uint64_t kCodeAlign = 256;  ///< the entry address is programmed in units of 256 bytes
constexpr std::string_view kDescriptorSuffix = ".kd";

enum Reloc : uint32_t {
    kRelocNone = 0,
    kRelocAbs32Lo = 1,
    kRelocAbs32Hi = 2,
    kRelocAbs64 = 3,
    kRelocRel32 = 4,
    kRelocRel64 = 5,
    kRelocAbs32 = 6,
    kRelocGotPcRel = 7,
    kRelocGotPcRelLo = 8,
    kRelocGotPcRelHi = 9,
    kRelocRel32Lo = 10,
    kRelocRel32Hi = 11,
    kRelocRelative64 = 13,
    kRelocRel16 = 14,
};

}  // namespace strata::isa::elf
