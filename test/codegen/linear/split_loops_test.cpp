#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "../target/gfx1100.h"
#include "interpreter.h"
#include "kernels.h"
#include "strata/codegen/linear/linear.h"

// Loops whose masks take out nothing at first go without them as far as that (their values: tighten_bounds_test.cpp).
namespace strata::codegen {
namespace {

constexpr int64_t kHeight = 64, kWidth = 64;

/// Sums of rows over columns, of which `mask` says those that count; eight rows a block.
LinearProgram sums(const std::function<UOp(UOp row, UOp column)>& mask) {
    const UOp block = range(0, kHeight / 8, Axis::global), beside = range(1, 8, Axis::local),
              column = range(2, kWidth, Axis::reduce), row = block * 8 + beside,
              value = load(at(param(1, kHeight * kWidth), row * kWidth + column));
    const UOp sum = reduce(Op::add, alu(Op::where, {mask(row, column), value, constant(dtypes::float32, 0)}), {column});
    auto program = linearize(kernel("sums", end(store(at(param(0, kHeight), row), sum), {block, beside})), gfx1100);
    EXPECT_TRUE(program) << program.error().message;
    return *std::move(program);
}

/// Number of comparisons in each loop, in order.
std::vector<int64_t> comparisons(const LinearProgram& program) {
    std::vector<int64_t> found;
    for (auto at = program.ops.begin();; ++at) {
        at = std::find_if(at, program.ops.end(), [](UOp u) { return u.is(Op::range); });
        if (at == program.ops.end()) return found;
        const auto end = std::find_if(at, program.ops.end(), [](UOp u) { return u.is(Op::end); });
        found.push_back(std::count_if(at, end, [](UOp u) { return u.is(Op::cmplt); }));
    }
}

using Loops = std::vector<int64_t>;

TEST(SplitLoops, StepsThatAMaskLeavesWholeInAllThreadsHaveNone) {
    GraphScope scope;
    EXPECT_EQ(comparisons(sums([](UOp row, UOp column) { return column < row + 1; })), (Loops{0, 1}));
    EXPECT_EQ(comparisons(sums(
                  [](UOp row, UOp column) { return alu(Op::bit_and, {column < row + 1, column * 2 < row + 40}); })),
              (Loops{0, 2}))
        << "up to the first of both";
    EXPECT_EQ(comparisons(sums(
                  [](UOp row, UOp column) { return alu(Op::bit_and, {column < row + 1, (column * 5) % 3 < row}); })),
              (Loops{1, 2}))
        << "what is not known stays";
}

TEST(SplitLoops, WhatIsMaskedAtOnceOrByNumbersThatBlocksDoNotTellApartIsOneLoop) {
    GraphScope scope;
    EXPECT_EQ(comparisons(sums([](UOp row, UOp column) { return column % 7 < row; })), Loops{1});
    EXPECT_EQ(comparisons(sums([](UOp, UOp column) { return column < index_const(40); })).size(), 1u);
    EXPECT_EQ(comparisons(sums([](UOp row, UOp column) { return column < row - kHeight; })).size(), 1u);
}

}  // namespace
}  // namespace strata::codegen
