#include "strata/asm/emu/observe/caches.h"

#include <gtest/gtest.h>

namespace strata::emu {
namespace {

/// 1 MiB of L2 in two dies, and 8 MiB of the next cache.
class CachesOfTwoDies : public ::testing::Test {
  protected:
    CachesOfTwoDies() {
        model_.l2_mib = 1;
        model_.llc_mib = 8;
        model_.dies = 2;
    }
    static Use used(uint64_t low, double mib, bool written = false) {
        const double bytes = mib * kMiB;
        return {low, low, low + static_cast<uint64_t>(bytes), bytes, bytes, written};
    }
    void launch(std::initializer_list<Use> uses) { caches_.use({uses.begin(), uses.size()}); }

    Model model_ = *isa::find_card("gfx942").value();
    Caches caches_{model_};
};

TEST_F(CachesOfTwoDies, HoldNothingOfWhatNobodyUsed) {
    EXPECT_EQ(caches_.held(1).llc, 0);
    launch({used(1, 0.5)});
    EXPECT_EQ(caches_.held(2).l2, 0);
    EXPECT_EQ(caches_.held(2).llc, 0);
}

TEST_F(CachesOfTwoDies, HoldWhatWasUsedSinceNotMoreThanFits) {
    launch({used(1, 0.5)});
    EXPECT_EQ(caches_.held(1).l2, 1);
    EXPECT_EQ(caches_.held(1).begin, 1u);
    launch({used(2, 0.75)});
    EXPECT_EQ(caches_.held(2).l2, 1);
    EXPECT_EQ(caches_.held(1).l2, 0.75) << "a quarter more than fits came since";
    EXPECT_EQ(caches_.held(1).llc, 1);
    launch({used(3, 6)});
    EXPECT_EQ(caches_.held(3).l2, 0);
    EXPECT_EQ(caches_.held(3).llc, 1);
    EXPECT_EQ(caches_.held(1).llc, 1);
    launch({used(4, 16)});
    for (uint64_t low : {1, 2, 3, 4}) EXPECT_EQ(caches_.held(low).llc, 0) << low;
}

TEST_F(CachesOfTwoDies, CountAllThatTheSameLaunchUsed) {
    launch({used(1, 0.5), used(2, 0.5)});
    for (uint64_t low : {1, 2}) EXPECT_EQ(caches_.held(low).l2, 1) << low;
    launch({used(1, 0.75), used(2, 0.75)});
    for (uint64_t low : {1, 2}) EXPECT_EQ(caches_.held(low).l2, 0.5) << low;
}

TEST_F(CachesOfTwoDies, KeepAnAllocationThatIsUsedAgain) {
    launch({used(1, 4)});
    launch({used(2, 8)});
    launch({used(1, 4)});
    launch({used(3, 4)});
    EXPECT_EQ(caches_.held(1).llc, 1);
    EXPECT_EQ(caches_.held(2).llc, 0);
}

TEST_F(CachesOfTwoDies, HaveAWrittenLineInTheL2OfOneDie) {
    launch({used(1, 0.5, true)});
    EXPECT_EQ(caches_.held(1).l2, 0.5);
    EXPECT_EQ(caches_.held(1).llc, 1);
}

TEST_F(CachesOfTwoDies, HoldInL2AtLeastWithoutALastLevelCache) {
    model_.llc_mib = 0;
    launch({used(1, 0.5)});
    EXPECT_EQ(caches_.held(1).llc, 1);
    launch({used(2, 1.5)});
    EXPECT_EQ(caches_.held(2).llc, 0.5);
    EXPECT_EQ(caches_.held(1).llc, 0);
}

}  // namespace
}  // namespace strata::emu
