#include "run_schedule.h"

namespace strata::codegen {
namespace {

using namespace test;

TEST(SplitReductions, ALargeSumHasTwoStages) {
    GraphScope scope;
    EXPECT_EQ(stored(sum(filled({1 << 18}), {0})), (std::vector<int64_t>{256, 1}));
    EXPECT_EQ(stored(sum(filled({1 << 15}), {0})), (std::vector<int64_t>{32, 1}));
    EXPECT_EQ(stored(sum(filled({1 << 17, 2}), {0})), (std::vector<int64_t>{16384, 2})) << "of columns";
}

TEST(SplitReductions, APartialResultIsWorthAtLeastSixteenElements) {
    GraphScope scope;
    for (int64_t n : {1 << 15, 36000, 40009, 50000}) {
        std::vector<int64_t> sizes = stored(sum(filled({n}), {0}));
        ASSERT_EQ(sizes.size(), 2u);
        EXPECT_GE(n / sizes[0], 15) << n;
    }
}

TEST(SplitReductions, ABlockSharesAPowerOfTwoOrWholeStepsOfItsThreads) {
    GraphScope scope;
    EXPECT_EQ(stored(sum(filled({1 << 24}), {0})), (std::vector<int64_t>{512, 1}));
    EXPECT_EQ(stored(sum(filled({10'000'019}), {0})), (std::vector<int64_t>{(10'000'019 + 12287) / 12288, 1}));
    EXPECT_EQ(stored(sum(filled({50'000'000}), {0})), (std::vector<int64_t>{(50'000'000 + 16383) / 16384, 1}));
}

TEST(SplitReductions, ASmallSumHasOne) {
    GraphScope scope;
    EXPECT_EQ(stored(sum(filled({(1 << 15) - 1}), {0})), (std::vector<int64_t>{1}));
}

TEST(SplitReductions, ManyResultsFillTheMachineUnsplit) {
    GraphScope scope;
    EXPECT_EQ(stored(sum(filled({2, 1 << 15}), {1})).size(), 2u);
    UOp narrow = expand(filled({1, 32}), {1153, 32});
    UOp wide = reshape(expand(reshape(narrow, {1153, 1, 32}), {1153, 1024, 32}), {1153, 1 << 15});
    Schedule schedule = scheduled({sum(wide + expand(filled({1153, 1}), {1153, 1 << 15}), {1})});
    EXPECT_EQ(schedule.items.size(), 1u);
}

TEST(SplitReductions, ASumOverAPrimeNumberOfElementsIsPadded) {
    GraphScope scope;
    std::vector<int64_t> sizes = stored(sum(filled({40009}), {0}));
    ASSERT_EQ(sizes.size(), 2u);
    EXPECT_EQ(sizes[0], (40009 + 1023) / 1024);
    EXPECT_EQ(stored(sum(filled({3, 32771}), {1})).size(), 2u);
}

TEST(SplitReductions, PaddingNeverShowsInAnyReduction) {
    GraphScope scope;
    UOp negative = alu(Op::neg, {alu(Op::abs, {filled({40009})}) + number(1)});
    EXPECT_EQ(stored(reduce(negative, Op::max, {0})).size(), 2u);
    EXPECT_EQ(stored(reduce(alu(Op::neg, {negative}), Op::min, {0})).size(), 2u);
    UOp signs = alu(Op::where, {filled({40009}) < number(0), number(-1), number(1)});
    EXPECT_EQ(stored(reduce(signs, Op::mul, {0})).size(), 2u);
    EXPECT_EQ(stored(reduce(filled({3, 32771}, dtypes::int8) - constant_int(dtypes::int8, 20), Op::max, {1})).size(),
              2u);
}

TEST(SplitReductions, AnyAxesMayBeReduced) {
    GraphScope scope;
    EXPECT_EQ(stored(sum(filled({40000, 3}), {0})).size(), 2u);
    EXPECT_EQ(stored(sum(filled({200, 3, 200}), {0, 2})).size(), 2u);
    EXPECT_EQ(stored(sum(filled({2, 33000, 2}, dtypes::int32), {1})).size(), 2u);
    EXPECT_EQ(stored(reduce(filled({3, 36000}, dtypes::int64), Op::min, {1})).size(), 2u);
}

/// The partial results of a sum of zeros but for these elements.
Array partial_of(const Shape& shape, std::initializer_list<std::pair<size_t, double>> elements) {
    UOp x = filled({1 << 18});
    Schedule schedule = scheduled({sum(reshape(x, shape), {0})});
    Memory memory = contents();
    Array& content = memory.at(buffer_id(x));
    std::fill(content.f.begin(), content.f.end(), 0.0);
    for (auto [at, value] : elements) content.f[at] = value;
    return evaluate(schedule.items[0].body, memory);
}

TEST(SplitReductions, APartialResultIsOfElementsThatFollowOneAnother) {
    GraphScope scope;
    const Array partial = partial_of({1 << 18}, {{5, 1}, {1023, 2}, {1024 + 5, 4}});
    ASSERT_EQ(partial.numel(), 256u);
    EXPECT_EQ(partial.f[0], 3);
    EXPECT_EQ(partial.f[1], 4);
}

TEST(SplitReductions, NeighbouringPartialResultsOfColumnsReadNeighbouringElements) {
    GraphScope scope;
    const Array partial = partial_of({1 << 17, 2}, {{2 * 5, 1}, {2 * 6, 2}, {2 * (8192 + 5), 4}, {2 * 5 + 1, 8}});
    ASSERT_EQ(partial.numel(), 16384u);
    EXPECT_EQ(partial.f[5], 5);
    EXPECT_EQ(partial.f[6], 2);
    EXPECT_EQ(partial.f[8192 + 5], 8);
}

TEST(SplitReductions, WhatFollowsTheSumIsFusedIntoTheSecondStage) {
    GraphScope scope;
    EXPECT_EQ(stored(reshape(sum(filled({1 << 16}), {0}), {}) * number(0.5)).size(), 2u);
}

}  // namespace
}  // namespace strata::codegen
