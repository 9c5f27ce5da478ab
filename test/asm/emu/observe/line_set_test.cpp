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
        ASSERT_EQ(lines.insert(line, i) < 0, known.insert(line).second) << i;
    }
}

TEST(LineSet, TellsWhenALineOfASweepWasUsedLast) {
    LineSet lines;
    double now = 0;
    for (int sweep = 0; sweep < 5; ++sweep)
        for (uint64_t line = 100; line < 400; ++line, ++now) {
            const double last = lines.insert(line, now);
            if (sweep > 0) EXPECT_NEAR(now - last, 300, 64) << line;
        }
    EXPECT_LT(lines.use(99, now), 0);
    EXPECT_LT(lines.insert(99, now), 0) << "use() does not insert";
    EXPECT_EQ(lines.use(99, now + 5), now);
    EXPECT_EQ(lines.use(99, now + 9), now + 5);
}

}  // namespace
}  // namespace strata::emu
