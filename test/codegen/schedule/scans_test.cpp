#include "run_schedule.h"

// Scans are one kernel with what is done to their rows before and after, long ones a kernel for the totals of their
// blocks more.
namespace strata::codegen {
namespace {

using namespace test;

UOp cumsum(UOp x, int axis) { return scan(x, Op::add, axis); }

TEST(Scans, TakeInWhatIsDoneBeforeAndAfter) {
    GraphScope scope;
    UOp x = filled({6, 5});
    for (int axis : {0, 1}) {
        EXPECT_EQ(kernels(cumsum(x, axis)), 1u);
        EXPECT_EQ(kernels(cumsum(x * number(2), axis) + x), 1u);
        EXPECT_EQ(kernels(scan(cumsum(x, axis) - x, Op::max, axis)), 1u) << "two along one axis";
    }
    EXPECT_EQ(kernels(cumsum(permute(x, {1, 0}), 1)), 1u);
}

TEST(Scans, ShareRowsWithReductions) {
    GraphScope scope;
    UOp x = filled({6, 5}), top = expand(reduce(x, Op::max, {1}), {6, 5});
    EXPECT_EQ(kernels(cumsum(x - top, 1)), 1u);
    EXPECT_EQ(kernels(cumsum(x, 1) - top), 1u);
    EXPECT_EQ(kernels(cumsum(x - top, 0)), 2u) << "of other rows";
}

TEST(Scans, AreStoredForWhatMovesOrReducesThemOrGoesAlongAnotherAxis) {
    GraphScope scope;
    UOp x = filled({6, 5}), s = cumsum(x, 1);
    EXPECT_EQ(kernels(cumsum(s, 0)), 2u);
    EXPECT_EQ(kernels(sum(s, {1})), 2u);
    EXPECT_EQ(kernels(sum(s, {0})), 2u);
    EXPECT_EQ(kernels(s - expand(sum(s, {1}), {6, 5})), 2u);
    EXPECT_EQ(kernels(permute(s, {1, 0}) + number(1)), 2u);
    EXPECT_EQ(kernels(reshape(s, {30}) + number(1)), 2u);
    EXPECT_EQ(kernels(flip(s, {1}) + s), 2u);
    EXPECT_EQ(kernels(take(s, integers({4, 0}), 1) * number(2)), 2u);
    EXPECT_EQ(kernels(reshape(s, {5, 6})), 1u) << "the same memory";
}

TEST(Scans, ThatTwoKernelsReadAreComputedOnce) {
    GraphScope scope;
    UOp x = filled({6, 5}), s = cumsum(x, 1);
    EXPECT_EQ(scheduled({s + number(1), sum(s, {0})}).items.size(), 2u);
}

TEST(Scans, OfManyRowsOrShortOnesAreNotSplit) {
    GraphScope scope;
    EXPECT_EQ(stored(cumsum(filled({(1 << 15) - 1}), 0)).size(), 1u);
    UOp narrow = expand(filled({1, 32}), {1024, 32});
    UOp wide = reshape(expand(reshape(narrow, {1024, 1, 32}), {1024, 1024, 32}), {1024, 1 << 15});
    EXPECT_EQ(scheduled({cumsum(wide, 1)}).items.size(), 1u);
}

TEST(Scans, ThatAreLongAndFewGoInBlocks) {
    GraphScope scope;
    EXPECT_EQ(stored(cumsum(filled({1 << 15}), 0)), (std::vector<int64_t>{32, 32, 1 << 15}));
    EXPECT_EQ(stored(cumsum(filled({2, 36000}), 1)).size(), 3u);
    EXPECT_EQ(stored(cumsum(filled({36000, 2}), 0)).size(), 3u);
    EXPECT_EQ(stored(cumsum(filled({2, 36000, 2}), 1)).size(), 3u);
}

TEST(Scans, BlocksOfAPrimeNumberOfElementsArePadded) {
    GraphScope scope;
    UOp x = filled({40009}), small = alu(Op::min, {alu(Op::abs, {x}), number(1)}) + number(1);
    EXPECT_EQ(stored(cumsum(x, 0)).back(), 40009);
    UOp signs = alu(Op::where, {x < number(0), number(-1), number(1)});
    (void)stored(scan(signs, Op::mul, 0));
    (void)stored(scan(alu(Op::neg, {small}), Op::max, 0));
    (void)stored(scan(small, Op::min, 0));
}

TEST(Scans, RandomGraphsWithThemKeepTheirValues) {
    GraphScope scope;
    for (unsigned seed = 0; seed < 300 && !testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE(seed);
        (void)kernels(RandomGraph(seed + 900, true).make_graph(8));
    }
}

}  // namespace
}  // namespace strata::codegen
