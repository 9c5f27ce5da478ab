#include "strata/codegen/target/async_copy.h"

#include <gtest/gtest.h>

#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

UOp thread(int dim, int64_t size) { return make(Op::special, dtypes::index, {}, SpecialArg{true, dim, size}); }

TEST(AsyncCopy, ChipsHaveTheWidthsOfTheirDocuments) {
    const auto widths = [](std::string_view chip) {
        std::vector<int> found;
        for (const int bits : {8, 16, 32, 64, 128})
            if (has_async_copy(target_of(Chip::parse(chip).value()), bits)) found.push_back(bits);
        return found;
    };
    for (const char* chip : {"gfx942", "gfx90a"}) EXPECT_EQ(widths(chip), std::vector{32}) << chip;
    for (const char* chip : {"sm_80", "sm_90"}) EXPECT_EQ(widths(chip), (std::vector{32, 64, 128})) << chip;
    for (const char* chip : {"gfx1100", "gfx1201", "sm_70", "sm_75"}) EXPECT_TRUE(widths(chip).empty()) << chip;
}

TEST(FillsByLanes, NeighboursHaveNeighbouringDwordsInAnyWaveAndAnyStepOfALoop) {
    GraphScope scope;
    const UOp t = thread(0, 256), r = uop::range(8, 0, Axis::loop);
    EXPECT_TRUE(fills_by_lanes(t, 4, 64));
    EXPECT_TRUE(fills_by_lanes(t * 2, 2, 64)) << "two halves each";
    EXPECT_TRUE(fills_by_lanes(t * 4 + 512, 1, 64));
    EXPECT_TRUE(fills_by_lanes(t + r * 256, 4, 64));
    EXPECT_TRUE(fills_by_lanes(t % 64 + (t / 64) * 80, 4, 64)) << "a gap between waves";
    EXPECT_TRUE(fills_by_lanes(t % 16 + (t / 16) * 16, 4, 64)) << "rows of 16 without a gap";
}

TEST(FillsByLanes, RefusesEveryOtherOrder) {
    GraphScope scope;
    const UOp t = thread(0, 256);
    EXPECT_FALSE(fills_by_lanes(t, 2, 64)) << "half a dword each";
    EXPECT_FALSE(fills_by_lanes(t * 2, 4, 64));
    EXPECT_FALSE(fills_by_lanes(t, 8, 64)) << "two dwords each";
    EXPECT_FALSE(fills_by_lanes(t % 16 + (t / 16) * 20, 4, 64)) << "rows of 16 with a gap";
    EXPECT_FALSE(fills_by_lanes((t / 8) + t % 8 * 8, 4, 64)) << "columns";
    EXPECT_FALSE(fills_by_lanes(index_const(3), 4, 64)) << "one place for all";
    EXPECT_FALSE(fills_by_lanes(alu(Op::bit_xor, {t, index_const(1)}), 4, 64)) << "pairs turned round";
    EXPECT_FALSE(fills_by_lanes(thread(0, 16) + thread(1, 8) * 16, 4, 64)) << "waves of several rows of threads";
    EXPECT_TRUE(fills_by_lanes(thread(0, 64) + thread(1, 4) * 64, 4, 64));
}

}  // namespace
}  // namespace strata::codegen
