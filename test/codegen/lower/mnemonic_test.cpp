// Names of instructions that the compiler looks up: every one of a family's table is found, and none that is misspelt.
#include "strata/codegen/machine/mnemonic.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "strata/asm/isa/row.h"
#include "strata/codegen/machine/builder.h"

namespace strata::codegen {
namespace {

using mnemonic_names::known;

static_assert(known("v_add_nc_u32") && known("s_mul_u64"));
static_assert(!known("v_add_nc_u23") && !known(""));
static_assert(!known("s_load_dword"), "RDNA3 has it as s_load_b32");

constexpr isa::Family kFamilies[] = {isa::Family::rdna3, isa::Family::rdna4, isa::Family::cdna3, isa::Family::cdna2};
static_assert(std::size(kFamilies) == isa::kFamilyCount);

std::set<std::string> all_names() {
    std::set<std::string> out;
    for (const isa::Family family : kFamilies)
        for (const isa::Row& row : isa::rows(family)) out.emplace(row.mnemonic);
    return out;
}

TEST(Mnemonic, IsUnknownWhereALetterIsWrong) {
    const std::set<std::string> names = all_names();
    for (const std::string& name : names)
        for (size_t i = 0; i < name.size(); i += 3) {
            std::string wrong = name;
            wrong[i] = wrong[i] == 'q' ? 'z' : 'q';
            EXPECT_EQ(known(wrong), names.contains(wrong)) << wrong;
        }
}

TEST(Mnemonic, ReachesEveryInstructionOfEveryFamily) {
    const std::set<std::string> names = all_names();
    for (const isa::Family family : kFamilies) {
        std::set<std::string_view> reached;
        for (const std::string& name : names)
            if (const isa::Row* row = known(name) ? row_of(family, name) : nullptr) reached.insert(row->mnemonic);
        for (const isa::Row& row : isa::rows(family)) EXPECT_TRUE(reached.contains(row.mnemonic)) << row.mnemonic;
    }
}

}  // namespace
}  // namespace strata::codegen
