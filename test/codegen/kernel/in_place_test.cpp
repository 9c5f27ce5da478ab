#include "strata/codegen/kernel/in_place.h"

#include <utility>

#include "build_helpers.h"
#include "strata/codegen/kernel/last_block.h"

// An output takes the memory of an input where each thread reads the element before it writes it, and no other does.
namespace strata::codegen {
namespace {

using namespace test;

/// (output, input) slots of the kernel of a body, which are in the order that it reads its buffers.
std::vector<std::pair<int, int>> pairs(const ScheduleItem& item) {
    std::vector<std::pair<int, int>> out;
    for (const executable::InPlace& one : in_place(build_kernel(item).kernel.sink))
        out.emplace_back(one.output, one.input);
    return out;
}
ScheduleItem item(UOp body, std::vector<ScheduleItem> beside = {}) {
    return {make(Op::buffer, body.dtype(), {}, BufferArg{3'000'000 + body.numel() + beside.size(), body.numel(), 0}),
            body, Reason::asked, std::move(beside)};
}
using Pairs = std::vector<std::pair<int, int>>;

TEST(InPlace, ElementwiseInputsOfTheSameSizeAreOutputs) {
    GraphScope scope;
    UOp x = filled({6, 5}), y = filled({6, 5});
    EXPECT_EQ(pairs(item(x + y)), (Pairs{{0, 1}, {0, 2}}));
    EXPECT_EQ(pairs(item(x + cast(filled({6, 5}, dtypes::float16), dtypes::float32))), (Pairs{{0, 1}}))
        << "another width";
    EXPECT_EQ(pairs(item(x + expand(filled({1, 5}), {6, 5}))), (Pairs{{0, 1}})) << "of another size";
}

TEST(InPlace, WhatIsReadElsewhereIsNone) {
    GraphScope scope;
    UOp x = filled({6, 6});
    EXPECT_EQ(pairs(item(flip(x, {0}))), Pairs{});
    EXPECT_EQ(pairs(item(x + permute(x, {1, 0}))), Pairs{});
    EXPECT_EQ(pairs(item(scan(x, Op::add, 1))), Pairs{});
}

TEST(InPlace, RowsAreAndOperandsOfProductsAreNot) {
    GraphScope scope;
    UOp x = filled({6, 5}), row = x - expand(reduce(x, Op::max, {1}), {6, 5});
    EXPECT_EQ(pairs(item(row)), (Pairs{{0, 1}}));
    UOp a = filled({6, 6}), b = filled({6, 6}), c = filled({6, 6});
    const BoundKernel bound = build_kernel(item(matmul(a, b) + c));
    const Pairs found = pairs(item(matmul(a, b) + c));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(bound.buffers[static_cast<size_t>(found[0].second)], whole_buffer(c));
    EXPECT_EQ(pairs(item(matmul(a, b) + a)), Pairs{});
}

TEST(InPlace, AFinishWalksItsRowsInsideOfItsOtherLoops) {
    GraphScope scope;
    const UOp x = filled({6, 5}), row = x - expand(reduce(x, Op::add, {1}), {6, 5});
    ScheduleItem first = item(row);
    const UOp y = reshape(first.output, {6, 5});
    first.finish = {item(y - expand(reduce(y, Op::add, {0}), {6, 5}))};
    const UOp finish = finish_of(build_kernel(first).kernel.sink);
    const std::vector<UOp> all = ranges(finish);  // in order of ids, that of nesting
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(range_arg(all[0]).axis, Axis::loop);
    EXPECT_EQ(range_arg(all[1]).axis, Axis::reduce);
}

TEST(InPlace, AValueThatAConditionMayLeaveOutIsNotWaitedFor) {
    GraphScope scope;
    const UOp x = filled({6, 5}), row = x - expand(reduce(x, Op::max, {1}), {6, 5});
    const UOp first =
        alu(Op::cmplt, {expand(reshape(iota(5, dtypes::int32), {1, 5}), {6, 5}), number(2, dtypes::int32)});
    EXPECT_EQ(pairs(item(alu(Op::where, {first, x, row}))), Pairs{}) << "a sum of what the first two overwrite";
    EXPECT_EQ(pairs(item(alu(Op::where, {first, x, x * number(2)}))), (Pairs{{0, 1}}));
}

TEST(InPlace, ASumOfARowIsNotStoredOverElementsThatAreReadBehindIt) {
    GraphScope scope;
    const UOp x = filled({6, 5}), sums = expand(reduce(x, Op::add, {1}), {6, 5});
    EXPECT_EQ(pairs(item(sums, {item(x * sums)})), (Pairs{{1, 2}}));
    EXPECT_EQ(pairs(item(x - sums, {item(x * sums)})), (Pairs{{0, 2}, {1, 2}}));
}

TEST(InPlace, OfSeveralOutputsOnlyThoseThatAreMadeOfAllThatIsRead) {
    GraphScope scope;
    UOp x = filled({30}), y = filled({30});
    const ScheduleItem second = item(x + y), both = item(x * number(2), {second});
    EXPECT_EQ(pairs(both), (Pairs{{0, 2}, {1, 2}, {1, 3}})) << "the first is not made of y";
}

}  // namespace
}  // namespace strata::codegen
