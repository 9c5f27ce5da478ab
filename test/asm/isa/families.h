#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "strata/asm/isa/inst.h"

namespace strata::isa {

/// The first architecture that has every row of its family's table.
inline Arch with_all_rows(Family family) {
    const auto has_all = [&](const ArchInfo& arch) {
        return arch.family == family &&
               std::ranges::all_of(rows(family), [&](const Row& row) { return has_row(arch.arch, row); });
    };
    return std::ranges::find_if(archs(), has_all)->arch;
}
/// An architecture of each of some families, with all rows.
inline auto archs_of(FamilySet set) {
    std::vector<Arch> found;
    for (const ArchInfo& row : first_archs())
        if (set.has(row.family)) found.push_back(with_all_rows(row.family));
    return testing::ValuesIn(found);
}
/// The architectures whose instruction tables, decoders, encoders and printers are tested against LLVM.
inline auto tested_archs() { return archs_of(families::all); }
/// Those of them whose words llvm-mc survives with --show-encoding.
inline auto shown_archs() { return archs_of(families::rdna); }
/// The wave size in which a row is an instruction of the arch.
inline int wave_size(Arch arch, const Row& row) { return row.flags & kWave64 ? 64 : info(arch).wave_size; }
inline std::string arch_name(const testing::TestParamInfo<Arch>& which) { return std::string(info(which.param).name); }

}  // namespace strata::isa
