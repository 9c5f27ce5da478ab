#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "strata/asm/isa/inst.h"

namespace strata::isa {
namespace {

struct Spelling {
    FamilySet families;
    std::string_view there, rdna3;
};
constexpr Spelling kSpellings[] = {
#define SPELLING(which, there, rdna3) {families::which, #there, #rdna3},
#include "strata/asm/isa/spellings.def"
#undef SPELLING
};

/// So that selection finds one instruction by RDNA3's name, and never another one that a family has under it.
TEST(Spellings, OfAFamilyOneInstructionHasAnotherName) {
    for (size_t i = 0; i < kFamilyCount; ++i) {
        const Family family = static_cast<Family>(i);
        std::set<std::string_view> seen;
        for (const Spelling& s : kSpellings) {
            if (!s.families.has(family)) continue;
            EXPECT_FALSE(find_row(family, s.rdna3)) << "family " << i << " has " << s.rdna3 << " itself";
            EXPECT_TRUE(seen.insert(s.rdna3).second) << "family " << i << " has two names for " << s.rdna3;
        }
    }
}

TEST(Spellings, SomeFamilyHasEachInstruction) {
    for (const Spelling& s : kSpellings) {
        bool found = false;
        for (size_t i = 0; i < kFamilyCount; ++i)
            found = found || (s.families.has(static_cast<Family>(i)) && find_row(static_cast<Family>(i), s.there));
        EXPECT_TRUE(found) << s.there;
    }
}

}  // namespace
}  // namespace strata::isa
