#include <algorithm>

#include "run_schedule.h"
#include "strata/codegen/schedule/schedule.h"

// Values of the same loops over the same memory are one kernel with several outputs.
namespace strata::codegen {
namespace {

using namespace test;

UOp wide(UOp results, UOp x) { return expand(results, x.shape()); }

/// Checks the values, and gives how many outputs each kernel has.
std::vector<size_t> outputs(const std::vector<UOp>& roots) {
    const Schedule schedule = scheduled(roots);
    expect_same_values(roots, schedule);
    std::vector<size_t> counts;
    for (const ScheduleItem& item : stages(schedule)) counts.push_back(item.outputs().size());
    return counts;
}
using Counts = std::vector<size_t>;

TEST(JoinSteps, ReductionsOfTheSameRowsAreOne) {
    GraphScope scope;
    UOp x = filled({6, 5});
    EXPECT_EQ(outputs({reduce(x, Op::max, {1}), reduce(x, Op::min, {1}), sum(x * x, {1})}), Counts{3});
    EXPECT_EQ(outputs({sum(x, {1}), sum(x, {0})}), (Counts{1, 1})) << "other loops";
}

TEST(JoinSteps, WhatIsMadeOfResultsOfARowIsComputedWithThem) {
    GraphScope scope;
    UOp x = filled({6, 4}), mean = sum(x, {1}) * number(0.25), off = x - wide(mean, x);
    EXPECT_EQ(outputs({mean, sum(off * off, {1})}), Counts{2});
    UOp total = sum(x, {1});
    EXPECT_EQ(outputs({total + total, total * total}), Counts{2}) << "the total is not stored any more";
    EXPECT_EQ(outputs({total, total + total, total * total}), Counts{3});
}

TEST(JoinSteps, ResultsOfRowsThatOneStepAloneReadsAreComputedThere) {
    GraphScope scope;
    UOp x = filled({6, 5}), total = sum(x, {1}), off = x - wide(total, x);
    EXPECT_EQ(outputs({off * number(3), off * number(2)}), Counts{2});
    EXPECT_EQ(outputs({off * number(3), sum(off, {0})}), (Counts{2, 1}));
    UOp seed = filled({6, 1}), slope = seed / number(7);
    EXPECT_EQ(outputs({wide(slope, x) * off}), Counts{1}) << "a quotient of each row";
    EXPECT_EQ(outputs({x - wide(contiguous(total), x)}), (Counts{1, 1})) << "it needs memory of its own";
    EXPECT_EQ(outputs({off, total}), (Counts{1, 1})) << "it is a result that was asked for";
    EXPECT_EQ(outputs({x - wide(flip(total, {0}), x)}), (Counts{1, 1})) << "of other rows";
}

TEST(JoinSteps, WhatTakesLessThanItsLaunchIsOneEvenOfOtherMemory) {
    GraphScope scope;
    for (const Shape& shape : {Shape{30}, Shape{6, 5}}) {
        std::vector<UOp> steps;
        for (size_t i = 0; i < 20; ++i) steps.push_back(filled(shape) * number(3));
        for (size_t count : outputs(steps)) EXPECT_LE(count, 12u) << "registers hold the addresses of all buffers";
        EXPECT_LE(outputs(steps).size(), 2u);
    }
    EXPECT_EQ(outputs({sum(filled({6, 5}), {1}), sum(filled({6, 5}), {1})}), Counts{2});
    EXPECT_EQ(outputs({sum(filled({6, 5}), {1}), sum(filled({5, 6}), {0})}), (Counts{1, 1})) << "other loops";
    const auto large = [](uint64_t id) {
        return reshape(make(Op::buffer, dtypes::float32, {}, BufferArg{id << 40, 1 << 24, 0}), {1 << 24}) * number(2);
    };
    EXPECT_EQ(scheduled({large(5), large(6)}).items.size(), 2u) << "memory takes longer than a launch";
}

TEST(JoinSteps, TwoScansAreOneEvenOfOtherMemory) {
    GraphScope scope;
    const auto running = [](UOp x) { return make(Op::scan, x.dtype(), {x}, ReduceArg{Op::add, {1}}); };
    EXPECT_EQ(outputs({running(filled({6, 5})), running(filled({6, 5}))}), Counts{2});
    EXPECT_EQ(outputs({running(filled({6, 5})), running(filled({6, 4}))}), (Counts{1, 1})) << "other loops";
}

TEST(JoinSteps, ElementwiseResultsOfTheSameInputsAreOne) {
    GraphScope scope;
    UOp x = filled({30}), y = filled({30}), a = x * y, b = a + x;
    EXPECT_EQ(outputs({a, b, x - y}), Counts{3});
    EXPECT_EQ(outputs({a, reshape(x - y, {5, 6})}), (Counts{1, 1})) << "other coordinates";
    EXPECT_EQ(outputs({a, reshape(x - y, {1, 30})}), Counts{2});
    EXPECT_EQ(outputs({a, flip(a, {0}) + x}), (Counts{1, 1})) << "other elements of what is computed beside it";
}

TEST(JoinSteps, ProductsOfOneOperandAreOneAsLongAsRegistersHoldTheirTiles) {
    GraphScope scope;
    UOp x = filled({9, 8});
    EXPECT_EQ(outputs({matmul(x, filled({8, 7})), matmul(x, filled({8, 7})), matmul(x, filled({8, 7}))}), Counts{3});
    EXPECT_EQ(outputs({matmul(x, filled({8, 7})), matmul(x, filled({8, 5}))}), (Counts{1, 1})) << "other columns";
    const auto buffer = [](int64_t id, Shape shape) {
        return reshape(
            make(Op::buffer, dtypes::float32, {}, BufferArg{static_cast<uint64_t>(id) << 40, shape[0] * shape[1], 0}),
            shape);
    };
    const auto kernels_of = [&](int64_t size, int64_t count) {
        UOp x = buffer(1, {size, size});
        std::vector<UOp> roots;
        for (int64_t i = 0; i < count; ++i) roots.push_back(matmul(x, buffer(2 + i, {size, size})));
        return stages(scheduled(roots)).size();
    };
    EXPECT_EQ(kernels_of(512, 3), 1u);
    EXPECT_EQ(kernels_of(1024, 3), 2u) << "large tiles";
    EXPECT_EQ(kernels_of(1024, 2), 1u);
}

TEST(JoinSteps, ProductsOfMatrixInstructionsAreOneWhereTheyAreLittle) {
    GraphScope scope;
    const auto kernels_of = [](int64_t rows, int64_t depth, int64_t columns) {
        UOp half = filled({rows, depth}, dtypes::float16);
        const auto narrow = [&] { return matmul(half, filled({depth, columns}, dtypes::float16)); };
        return scheduled({narrow(), narrow()}).items.size();
    };
    EXPECT_EQ(kernels_of(16, 16, 16), 1u);
    EXPECT_EQ(kernels_of(64, 64, 64), 1u);
    EXPECT_EQ(kernels_of(8, 128, 128), 1u);
    EXPECT_EQ(kernels_of(64, 128, 128), 2u) << "they have one result each";
    EXPECT_EQ(kernels_of(512, 128, 64), 2u);
}

TEST(JoinSteps, NothingIsComputedBeforeWhatItReads) {
    GraphScope scope;
    UOp x = filled({6, 5}), first = contiguous(sum(x, {1})), between = contiguous(flip(first, {0}));
    const std::vector<UOp> roots{first, between, sum(x * x, {1}), between + first};
    const Schedule schedule = scheduled(roots);
    expect_same_values(roots, schedule);
    EXPECT_EQ(stages(schedule)[0].outputs().size(), 2u) << "the sum of squares reads what is there";
}

TEST(JoinSteps, KernelsStayOfLimitedSize) {
    GraphScope scope;
    UOp x = filled({30});
    std::vector<UOp> many;
    for (int i = 0; i < 20; ++i) many.push_back(x * number(i + 2));
    for (size_t n : outputs(many)) EXPECT_LE(n, 12u);
    EXPECT_EQ(outputs(many).size(), 2u);
    std::vector<UOp> chain{x + number(1)};
    for (int i = 0; i < 300; ++i) chain.push_back(chain.back() + x);
    EXPECT_LE(outputs(chain).size(), 40u);
}

}  // namespace
}  // namespace strata::codegen
