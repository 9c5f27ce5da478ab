#include "strata/asm/emu/observe/line_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace strata::emu {
namespace {

TEST(LineSet, TellsWhetherALineIsNewAsASetDoes) {
    std::mt19937_64 random(5);
    LineSet lines;
    std::set<uint64_t> known;
    for (int i = 0; i < 100000; ++i) {
        const uint64_t allocation = random() % 3, line = allocation << 40 | random() % (i % 7 ? 300 : 60000);
        ASSERT_EQ(lines.insert(line), known.insert(line).second) << i;
    }
}

}  // namespace
}  // namespace strata::emu
