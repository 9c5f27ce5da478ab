#pragma once
#include <optional>
#include <span>
#include <string_view>

#include "strata/asm/isa/arch.h"

namespace strata::isa {

/// A row of names.def.
struct ImmediateName {
    FamilySet families;
    uint32_t number;
    std::string_view name;
};
std::span<const ImmediateName> message_names();
std::span<const ImmediateName> hardware_register_names();

/// The name of a number, empty when the family has none.
std::string_view name_of(std::span<const ImmediateName> names, Family family, uint32_t number);

/// Names by number; a number without one has an empty name.
using NameList = std::span<const std::string_view>;
std::string_view name_at(NameList names, uint32_t number);
std::optional<uint8_t> number_of(NameList names, std::string_view name);

// CDNA3 ISA, "SDWA", "Buffer Resource Descriptor", "S_SENDMSG Messages", "S_SET_GPR_IDX_ON".
inline constexpr std::string_view kSdwaSelects[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                                    "WORD_0", "WORD_1", "DWORD"};
inline constexpr std::string_view kSdwaUnused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
inline constexpr std::string_view kDataFormats[] = {
    "INVALID",    "8",          "16",      "8_8",   "32",          "16_16",    "10_11_11",    "11_11_10",
    "10_10_10_2", "2_10_10_10", "8_8_8_8", "32_32", "16_16_16_16", "32_32_32", "32_32_32_32", "RESERVED_15"};
inline constexpr std::string_view kNumberFormats[] = {"UNORM", "SNORM", "USCALED",    "SSCALED",
                                                      "UINT",  "SINT",  "RESERVED_6", "FLOAT"};
inline constexpr std::string_view kGsOperations[] = {"GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"};
inline constexpr std::string_view kSystemOperations[] = {"", "SYSMSG_OP_ECC_ERR_INTERRUPT", "SYSMSG_OP_REG_RD", "",
                                                         "SYSMSG_OP_TTRACE_PC"};
inline constexpr std::string_view kIndexedOperands[] = {"SRC0", "SRC1", "SRC2", "DST"};
// RDNA3 ISA, "S_DELAY_ALU".
inline constexpr std::string_view kDelays[] = {
    "NO_DEP",        "VALU_DEP_1",    "VALU_DEP_2",        "VALU_DEP_3",   "VALU_DEP_4",   "TRANS32_DEP_1",
    "TRANS32_DEP_2", "TRANS32_DEP_3", "FMA_ACCUM_CYCLE_1", "SALU_CYCLE_1", "SALU_CYCLE_2", "SALU_CYCLE_3"};
inline constexpr std::string_view kDelaySkips[] = {"SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"};

/// A counter of s_waitcnt_depctr and s_wait_alu (LLVM's names); all bits set means no wait.
struct CounterField {
    std::string_view name;
    uint32_t shift, bits;
};
inline constexpr CounterField kDepctrCounters[] = {
    {"depctr_hold_cnt", 7, 1}, {"depctr_sa_sdst", 0, 1}, {"depctr_va_vdst", 12, 4}, {"depctr_va_sdst", 9, 3},
    {"depctr_va_ssrc", 8, 1},  {"depctr_va_vcc", 1, 1},  {"depctr_vm_vsrc", 2, 3}};

/// LLVM's spellings in s_version: versions in the low byte, then flags.
struct VersionName {
    uint32_t number;
    std::string_view name;
    bool is_flag() const { return number > 0xff; }
};
inline constexpr VersionName kVersions[] = {{0, "UC_VERSION_GFX7"},         {4, "UC_VERSION_GFX10"},
                                            {6, "UC_VERSION_GFX11"},        {9, "UC_VERSION_GFX12"},
                                            {0x2000, "UC_VERSION_W64_BIT"}, {0x4000, "UC_VERSION_W32_BIT"},
                                            {0x8000, "UC_VERSION_MDP_BIT"}};

}  // namespace strata::isa
