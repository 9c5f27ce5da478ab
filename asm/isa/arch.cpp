#include "strata/asm/isa/arch.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "strata/asm/isa/row.h"

namespace strata::isa {
namespace {

constexpr ArchInfo kRows[] = {
#define ARCH(arch, family, mach, wave, wave64, vgprs, granule32, granule64, sgprs, lds_kib, scratch_kib, max_block, \
             extra, ...)                                                                                            \
    {Arch::arch,     Family::family,     #arch,     mach, wave, wave64, vgprs, granule32, granule64, sgprs,         \
     lds_kib * 1024, scratch_kib * 1024, max_block, extra},
#include "strata/asm/isa/archs.def"
#undef ARCH
};

}  // namespace

std::span<const ArchInfo> archs() { return kRows; }

std::vector<ArchInfo> first_archs() {
    std::vector<ArchInfo> first;
    for (const ArchInfo& row : kRows)
        if (std::ranges::find(first, row.family, &ArchInfo::family) == first.end()) first.push_back(row);
    return first;
}

bool has_row(Arch arch, const Row& row) { return !(row.flags & kRdna35 & ~info(arch).extra_rows); }

const ArchInfo& info(Arch arch) { return kRows[static_cast<size_t>(arch)]; }

Result<Arch> parse_arch(std::string_view name) {
    std::vector<std::string_view> known;
    for (const ArchInfo& row : kRows) {
        if (row.name == name) return row.arch;
        known.push_back(row.name);
    }
    return make_error(ErrorKind::Device, "unknown architecture '{}'; known: {}", name, fmt::join(known, ", "));
}

}  // namespace strata::isa
