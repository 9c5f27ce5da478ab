#include "strata/asm/emu/check/recent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>

namespace strata::emu {
namespace {

constexpr int kLanes = 32;
constexpr Touch kNow = 5 << kWhen | 2 << 2, kOtherWave = 5 << kWhen | 3 << 2, kLater = 6 << kWhen | 2 << 2;

/// Accesses of one wave, whose address register is all that they read.
class RecentAccessesTest : public ::testing::Test {
  protected:
    /// An access of `bytes` bytes of each lane at place(lane); its op, by which it is found.
    const Op* add(bool writes, int bytes, const std::function<uint32_t(int)>& place, Touch now = kNow,
                  int32_t apart = 0) {
        MemoryFields fields;
        fields.space = Space::local;
        fields.address = Wave::vector_place(0, kLanes);
        fields.bytes = static_cast<uint8_t>(bytes);
        const Op& op = ops_.emplace_back(nullptr, fields);
        for (int lane = 0; lane < kLanes; ++lane) rows_.row[lane] = place(lane);
        recent_.add(&op, Places(rows_.wave, op), apart, writes, now);
        return &op;
    }
    void SetUp() override {
        rows_.wave.lanes = kLanes;
        rows_.wave.s[126] = ~0u;
    }

    RecentAccesses recent_;

  private:
    struct Rows {
        Wave wave;
        uint32_t row[kLanes];
    };
    Rows rows_{};
    std::deque<Op> ops_;
};

uint32_t side_by_side(int lane) { return 64 + 4 * static_cast<uint32_t>(lane); }
uint32_t far_apart(int lane) { return 16 * static_cast<uint32_t>(lane); }

TEST_F(RecentAccessesTest, FindTheAccessOfAByteByItsKindAndItsWave) {
    const Op* store = add(true, 4, side_by_side);
    const Op* load = add(false, 4, side_by_side);
    EXPECT_EQ(recent_.find(64, true, kNow), store);
    EXPECT_EQ(recent_.find(64 + 127, true, kNow), store);
    EXPECT_EQ(recent_.find(64, false, kNow), load);
    EXPECT_EQ(recent_.find(63, true, kNow), nullptr);
    EXPECT_EQ(recent_.find(64 + 128, true, kNow), nullptr);
    EXPECT_EQ(recent_.find(64, true, kOtherWave), nullptr);
    EXPECT_EQ(recent_.find(64, true, kLater), nullptr);
    EXPECT_EQ(recent_.find(64, true, kNow | kSeveral | kAtomic), store) << "flags are no part of when it was";
}

TEST_F(RecentAccessesTest, KnowWhereEachLaneStoresAndOfLoadsTheStretchAlone) {
    const Op* store = add(true, 4, far_apart);
    const Op* load = add(false, 4, far_apart);
    EXPECT_EQ(recent_.find(16 * 7 + 3, true, kNow), store);
    EXPECT_EQ(recent_.find(16 * 7 + 4, true, kNow), nullptr) << "between two lanes' items";
    EXPECT_EQ(recent_.find(16 * 7 + 4, false, kNow), load);
}

TEST_F(RecentAccessesTest, NameNoneWhereSeveralMayBeIt) {
    const Op* first = add(false, 4, far_apart);
    EXPECT_EQ(recent_.find(20, false, kNow), first);
    add(false, 4, far_apart);
    EXPECT_EQ(recent_.find(20, false, kNow), nullptr);
    const Op* sure = add(false, 4, side_by_side);
    EXPECT_EQ(recent_.find(70, false, kNow), sure) << "the last one surely read it: those before do not matter";
}

TEST_F(RecentAccessesTest, TakeTheLastOfTwoThatSurelyWroteAByte) {
    add(true, 4, side_by_side);
    const Op* last = add(true, 4, side_by_side);
    EXPECT_EQ(recent_.find(64, true, kNow), last);
}

TEST_F(RecentAccessesTest, KnowTheSecondItemOfAnAccessOfTwo) {
    const Op* two = add(true, 4, far_apart, kNow, 1024);
    EXPECT_EQ(recent_.find(16 * 3, true, kNow), two);
    EXPECT_EQ(recent_.find(1024 + 16 * 3, true, kNow), two);
    EXPECT_EQ(recent_.find(1024 + 16 * 3 + 4, true, kNow), nullptr);
}

TEST_F(RecentAccessesTest, ForgetTheOldestAndAllOnClear) {
    const Op* oldest = add(true, 4, [](int) { return 4096u; });
    for (int i = 0; i < 127; ++i) add(true, 4, side_by_side);
    EXPECT_EQ(recent_.find(4096, true, kNow), oldest);
    const Op* last = add(true, 4, side_by_side);
    EXPECT_EQ(recent_.find(4096, true, kNow), nullptr) << "there are 128 at most";
    EXPECT_EQ(recent_.find(64, true, kNow), last);
    recent_.clear();
    EXPECT_EQ(recent_.find(64, true, kNow), nullptr);
}

}  // namespace
}  // namespace strata::emu
