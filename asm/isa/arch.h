#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "strata/asm/isa/family.h"
#include "strata/core/support/result.h"

namespace strata::isa {

struct Row;

enum class Arch : uint8_t {
#define ARCH(arch, ...) arch,
#include "strata/asm/isa/archs.def"
#undef ARCH
};

/// Facts of an architecture for the rest of Strata: one row of archs.def.
struct ArchInfo {
    Arch arch;
    Family family;
    std::string_view name;  ///< "gfx1100"
    uint32_t elf_mach;      ///< EF_AMDGPU_MACH value of e_flags
    int wave_size;          ///< lanes of the default wave
    bool has_wave64;
    int max_vgprs;                       ///< addressable by one wave
    int vgpr_granule32, vgpr_granule64;  ///< allocation granule by wave size
    int sgprs;                           ///< general scalar registers
    int lds_bytes;                       ///< limit of one workgroup
    int wave_scratch;                    ///< bytes, limit of one wave
    int max_block;                       ///< work-items of one workgroup
    uint32_t extra_rows;                 ///< RowFlag bits of rows beyond those of the family's first arch
};

std::span<const ArchInfo> archs();
/// The first of each family: what the family decides is the same for all of its archs.
std::vector<ArchInfo> first_archs();
const ArchInfo& info(Arch arch);

/// True if the arch has a row of its family's table.
bool has_row(Arch arch, const Row& row);

/// Looks an arch up by name ("gfx1100"); the error lists the known ones.
Result<Arch> parse_arch(std::string_view name);

}  // namespace strata::isa
