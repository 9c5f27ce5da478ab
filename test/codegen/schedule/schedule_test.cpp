#include "strata/codegen/schedule/schedule.h"

#include "run_schedule.h"

namespace strata::codegen {
namespace {

using namespace test;

TEST(MakeSchedule, FusesElementwiseAndMovementIntoOneKernel) {
    GraphScope scope;
    UOp x = filled({6, 5}), y = filled({5, 6});
    UOp root = pad(permute(x, {1, 0}) + flip(y, {1}) * number(3), {{1, 0}, {0, 2}});
    EXPECT_EQ(kernels(root), 1u);
}

TEST(MakeSchedule, FusesWhatComesBeforeAndAfterAReduction) {
    GraphScope scope;
    UOp x = filled({6, 5});
    EXPECT_EQ(kernels(sum(x * x + number(1), {1}) - number(2)), 1u);
}

TEST(MakeSchedule, StoresWhatAnotherReductionReads) {
    GraphScope scope;
    UOp inner = sum(filled({6, 5, 4}), {2});
    Schedule schedule = scheduled({reduce(inner * number(2), Op::max, {0})});
    expect_same_values({reduce(inner * number(2), Op::max, {0})}, schedule);
    ASSERT_EQ(stages(schedule).size(), 2u);
    EXPECT_EQ(stages(schedule)[0].output.numel(), 30);
}

TEST(MakeSchedule, StoresAReductionThatIsExpanded) {
    GraphScope scope;
    UOp x = filled({6, 5, 4, 3});
    UOp centred = x - expand(reduce(x, Op::max, {0, 2}), {6, 5, 4, 3});
    Schedule schedule = scheduled({centred});
    expect_same_values({centred}, schedule);
    ASSERT_EQ(stages(schedule).size(), 2u);
    EXPECT_EQ(stages(schedule)[0].output.numel(), 15);
}

TEST(MakeSchedule, AnExpansionThatRepeatsNothingStoresNothing) {
    GraphScope scope;
    UOp total = sum(filled({6, 5}), {0});
    EXPECT_EQ(kernels(expand(total, {1, 5}) + number(1)), 1u);
}

TEST(MakeSchedule, AReductionWithTwoUsersIsComputedOnce) {
    GraphScope scope;
    UOp total = sum(filled({6, 5}), {1});
    std::vector<UOp> roots{total + number(1), flip(total, {0}) * number(2)};
    Schedule schedule = scheduled(roots);
    expect_same_values(roots, schedule);
    ASSERT_EQ(stages(schedule).size(), 2u);
    EXPECT_EQ(loops(stages(schedule)[0]).size(), 1u);
    EXPECT_EQ(stages(schedule)[0].outputs().size(), 2u) << "the total, and the value made of it in place";
    EXPECT_TRUE(loops(stages(schedule)[1]).empty());
}

TEST(MakeSchedule, AReductionWhoseUsersMeetAgainStaysInTheirKernel) {
    GraphScope scope;
    UOp total = sum(filled({6, 5}), {1});
    EXPECT_EQ(kernels(total * total), 1u);
    EXPECT_EQ(kernels(total * alu(Op::exp2, {total + number(1)}) - total), 1u);
    EXPECT_EQ(kernels(total * flip(total, {0})), 2u) << "one of them is moved";
}

TEST(MakeSchedule, ACheapValueWithTwoUsersIsComputedTwice) {
    GraphScope scope;
    UOp cheap = filled({6, 5}) + filled({6, 5});
    std::vector<UOp> roots{cheap + number(1), sum(cheap, {0})};
    Schedule schedule = scheduled(roots);
    expect_same_values(roots, schedule);
    EXPECT_EQ(stages(schedule).size(), 2u);
}

TEST(MakeSchedule, AHeavyValueWithTwoUsersIsComputedOnce) {
    GraphScope scope;
    UOp x = filled({30}), heavy = x;
    for (int i = 0; i < 12; ++i) heavy = alu(Op::sin, {heavy});
    std::vector<UOp> roots{heavy + number(1), flip(heavy, {0}) * number(2)};
    Schedule schedule = scheduled(roots);
    expect_same_values(roots, schedule);
    ASSERT_EQ(stages(schedule).size(), 2u);
    for (UOp u : toposort(stages(schedule)[1].body)) EXPECT_FALSE(u.is(Op::sin));
}

TEST(MakeSchedule, StoresADearValueThatIsRepeatedAndNotACheapOne) {
    GraphScope scope;
    UOp row = filled({1, 5});
    EXPECT_EQ(kernels(expand(alu(Op::exp2, {row}), {6, 5}) + filled({6, 5})), 2u);
    EXPECT_EQ(kernels(expand(row + number(1), {6, 5}) + filled({6, 5})), 1u);
}

TEST(MakeSchedule, StoresADearValueThatATakeReads) {
    GraphScope scope;
    UOp rows = integers({2, 0, 2, 3});
    EXPECT_EQ(kernels(take(alu(Op::exp2, {filled({4, 3})}), rows, 0)), 2u);
    EXPECT_EQ(kernels(take(filled({4, 3}) + number(1), rows, 0)), 1u);
    EXPECT_EQ(kernels(take(sum(filled({4, 3, 2}), {2}), rows, 0)), 2u);
}

TEST(MakeSchedule, ReductionsOverTheSameLoopsShareAKernel) {
    GraphScope scope;
    UOp x = filled({6, 5}), y = filled({6, 5});
    EXPECT_EQ(kernels(sum(x, {1}) + reduce(y, Op::max, {1})), 1u);
    EXPECT_EQ(kernels(sum(x, {1}) + permute(sum(filled({4, 6}), {0}), {1, 0})), 2u);
}

TEST(MakeSchedule, CutsAKernelThatReadsTooManyBuffers) {
    GraphScope scope;
    UOp total = filled({12});
    for (int i = 0; i < 60; ++i) total = total + filled({12});
    Schedule schedule = scheduled({total});
    expect_same_values({total}, schedule);
    EXPECT_GE(stages(schedule).size(), 3u);
    for (const ScheduleItem& item : stages(schedule)) {
        size_t buffers = 0;
        for (UOp u : toposort(item.body)) buffers += u.is(Op::buffer);
        EXPECT_LE(buffers, 26u);
    }
}

TEST(MakeSchedule, CutsAKernelThatDoesTooMuch) {
    GraphScope scope;
    UOp x = filled({12});
    for (int i = 0; i < 300; ++i) x = alu(Op::sqrt, {alu(Op::abs, {x})});
    EXPECT_EQ(kernels(x), 3u);
}

TEST(MakeSchedule, DoublingFortyTimesStaysSmall) {
    GraphScope scope;
    UOp x = filled({4}), root = x;
    for (int i = 0; i < 40; ++i) root = root + flip(root, {0});
    Schedule schedule = scheduled({root});
    EXPECT_LE(stages(schedule).size(), 20u);
    Array got = run(schedule)[0];
    double total = 0;
    for (double v : contents().at(buffer_id(x)).f) total += v;
    // After two steps every element is a multiple of x[i] + x[3 - i]; both halves then double each step.
    const std::vector<double>& v = contents().at(buffer_id(x)).f;
    EXPECT_EQ(got.f[0], std::ldexp(v[0] + v[3], 39));
    EXPECT_EQ(got.f[1], std::ldexp(v[1] + v[2], 39));
    EXPECT_EQ(got.f[0] + got.f[1], std::ldexp(total, 39));
}

TEST(MakeSchedule, RandomGraphsKeepTheirValues) {
    GraphScope scope;
    for (unsigned seed = 0; seed < 400; ++seed) {
        std::vector<UOp> roots{RandomGraph(seed).make_graph(12)};
        if (seed % 3 == 0) roots.push_back(sum(roots[0], {0}));
        expect_same_values(roots, scheduled(roots));
        if (HasFailure()) FAIL() << "seed " << seed << "\n" << tree(roots[0]);
    }
}

}  // namespace
}  // namespace strata::codegen
