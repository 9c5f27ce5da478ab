#include "run_schedule.h"

// Steps that are little beside a launch are done by the last block of the one before.
namespace strata::codegen {
namespace {

using namespace test;

Schedule with(const std::vector<UOp>& roots, Fusion fusion) {
    HostStorage storage;
    const Schedule schedule = make_schedule(roots, storage, fusion);
    expect_same_values(roots, schedule);
    return schedule;
}

size_t launches(const std::vector<UOp>& roots, Fusion fusion = Fusion::cost) {
    return with(roots, fusion).items.size();
}

TEST(FinishSteps, AReductionOverPartialResultsIsDoneByTheLastBlock) {
    GraphScope scope;
    const Schedule schedule = with({sum(filled({1 << 18}), {0})}, Fusion::cost);
    ASSERT_EQ(schedule.items.size(), 1u);
    const ScheduleItem& item = schedule.items[0];
    ASSERT_EQ(item.finish.size(), 1u);
    EXPECT_EQ(item.output.numel(), 256);
    EXPECT_EQ(item.finish[0].output.numel(), 1);
    EXPECT_EQ(item.outputs(), (std::vector<UOp>{item.output, item.finish[0].output}));
    EXPECT_EQ(launches({sum(filled({3, 36001}), {1}) * number(0.5)}), 1u) << "with what follows";
    EXPECT_EQ(launches({reduce(filled({1 << 17, 2}), Op::max, {0})}), 1u) << "of columns";
}

TEST(FinishSteps, WhoFusesLessHasTwoKernels) {
    GraphScope scope;
    EXPECT_EQ(launches({sum(filled({1 << 18}), {0})}, Fusion::less), 2u);
    EXPECT_EQ(launches({sum(filled({1 << 18}), {0})}, Fusion::more), 1u);
}

TEST(FinishSteps, WhatOneBlockWouldTakeLongForIsAKernelOfItsOwn) {
    GraphScope scope;
    const auto columns = [](int64_t count) {
        const Shape shape{1 << 15, count};
        return sum(expand(filled({1 << 15, 1}), shape) + expand(filled({1, count}), shape), {0});
    };
    EXPECT_EQ(with({columns(64)}, Fusion::cost).items.size(), 1u) << "64 x 256 partial results";
    EXPECT_EQ(with({columns(512)}, Fusion::cost).items.size(), 2u) << "512 x 256 of them";
}

TEST(FinishSteps, AStepHasOneFinishAndNoneOfWhatItDoesNotMake) {
    GraphScope scope;
    UOp x = filled({1 << 16}), y = filled({1 << 16}), total = sum(x, {0});
    EXPECT_EQ(launches({total, sum(y, {0})}), 1u) << "of the same loops";
    EXPECT_EQ(launches({total, sum(filled({1 << 15}), {0})}), 2u) << "each its own";
    const Schedule chain = with({total, sum(y - expand(contiguous(total), {1 << 16}), {0})}, Fusion::cost);
    ASSERT_EQ(chain.items.size(), 2u);
    for (const ScheduleItem& item : chain.items) EXPECT_EQ(item.finish.size(), 1u);
}

TEST(FinishSteps, LittleThatIsMovedAfterASumIsDoneByTheLastBlock) {
    GraphScope scope;
    const auto turned = [](int64_t rows) {
        const UOp s = sum(expand(filled({1, 64}), {rows, 64}) * filled({rows, 64}), {1});
        const UOp halves = reshape(contiguous(s), {rows / 8, 8});
        const UOp swapped = flip(halves, {1});
        return swapped * number(2) - halves * expand(filled({1, 8}), {rows / 8, 8});
    };
    EXPECT_EQ(launches({turned(512)}), 1u);
    EXPECT_EQ(launches({turned(1 << 16)}), 2u) << "much for a block";
    EXPECT_EQ(launches({turned(512)}, Fusion::less), 2u);
}

TEST(FinishSteps, WhatIsReadMustBeThereBeforeTheStepBegins) {
    GraphScope scope;
    UOp x = filled({1 << 16}), y = filled({1 << 16});
    const Schedule schedule = with({sum(x, {0}) * sum(y, {0})}, Fusion::cost);
    std::unordered_set<UOp, UOpHash> made;
    for (const ScheduleItem& item : schedule.items) {
        const std::vector<UOp> own = item.outputs();
        made.insert(own.begin(), own.end());
        for (UOp u : in_order(item.bodies()))
            EXPECT_TRUE(!u.is(Op::buffer) || buffer_id(u) < 1'000'000 || made.contains(u)) << to_string(u);
    }
}

}  // namespace
}  // namespace strata::codegen
