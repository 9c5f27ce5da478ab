#include "strata/core/uop/scratch.h"

#include <gtest/gtest.h>

#include <thread>

#include "strata/core/uop/uop.h"

namespace strata {
namespace {

UOp integer(int64_t value) { return constant_int(dtypes::int32, value); }
UOp sum_of(int64_t count) {
    UOp sum = integer(0);
    for (int64_t i = 1; i < count; ++i) sum = make(Op::add, dtypes::int32, {sum, integer(i * 1000003)});
    return sum;
}

TEST(ScratchNodes, AreOneWhereTheyAreEqual) {
    const GraphScope scope;
    const ScratchNodes own;
    EXPECT_EQ(sum_of(500), sum_of(500));
    EXPECT_NE(sum_of(500), sum_of(499));
    EXPECT_TRUE(sum_of(500).node()->of_scratch);
}

TEST(ScratchNodes, ShareWhatIsThereForAll) {
    const GraphScope scope;
    const UOp there = sum_of(40);
    const ScratchNodes own;
    EXPECT_EQ(sum_of(40), there);
    const UOp above = make(Op::mul, dtypes::int32, {there, integer(5)});
    EXPECT_EQ(above.src(0), there);
    EXPECT_FALSE(there.node()->of_scratch);
}

TEST(ScratchNodes, AreGoneAtTheEndAndCountForNobody) {
    const GraphScope scope;
    const UOp there = sum_of(3);
    const size_t live = live_nodes();
    const uint32_t users = there.node()->users;
    for (int round = 0; round < 3; ++round) {
        const ScratchNodes own;
        {
            const ScratchNodes within;
            (void)make(Op::mul, dtypes::int32, {there, there});
        }
        EXPECT_GT(toposort(sum_of(5000)).size(), 5000u);  // with a block of memory more
    }
    EXPECT_EQ(live_nodes(), live);
    EXPECT_EQ(there.node()->users, users);
    EXPECT_FALSE(make(Op::mul, dtypes::int32, {there, there}).node()->of_scratch);
}

TEST(ScratchNodes, AreNotSeenByOtherThreads) {
    const GraphScope scope;
    const ScratchNodes own;
    const UOp mine = sum_of(77);
    UOp other;
    bool of_scratch = true;
    std::thread([&] {
        const GraphScope theirs;
        other = sum_of(77);
        of_scratch = other.node()->of_scratch;
    }).join();
    EXPECT_NE(mine, other);
    EXPECT_FALSE(of_scratch);
    EXPECT_EQ(sum_of(77), mine);
}

TEST(ScratchNodes, OfOneThreadAreNothingToTheNextThatGetsTheirMemory) {
    const auto in_a_thread = [](int64_t count) {
        std::thread([count] {
            const GraphScope scope;
            const ScratchNodes own;
            const UOp sum = sum_of(count);
            EXPECT_EQ(sum_of(count), sum);
            EXPECT_TRUE(sum.node()->of_scratch);
            EXPECT_EQ(toposort(sum).size(), static_cast<size_t>(2 * count - 1));
            const std::vector<UOp> many(20000, sum);  // more than a block of memory holds
            const UOp wide = make(Op::group, dtypes::none, many);
            EXPECT_EQ(wide.src().size(), many.size());
            EXPECT_EQ(wide.src().back(), sum);
            EXPECT_EQ(make(Op::group, dtypes::none, many), wide);
        }).join();
    };
    for (const int64_t count : {40000, 90, 700, 5000}) in_a_thread(count);
}

TEST(ScratchNodes, HaveNoRoot) {
    const GraphScope scope;
    const UOp there = sum_of(3);
    const ScratchNodes own;
    EXPECT_THROW(Root(make(Op::mul, dtypes::int32, {there, integer(33)})), Exception);
    EXPECT_EQ(Root(there).get(), there);
}

}  // namespace
}  // namespace strata
