#include "strata/codegen/schedule/two_stage_p.h"

#include "run_schedule.h"

namespace strata::codegen {
namespace {

using namespace test;

Array computed(UOp u) { return evaluate(u, contents()); }

UOp ones_of(const Shape& shape) { return expand(reshape(number(1), Shape(shape.size(), 1)), shape); }

/// Reductions that are divided: into whole pieces or others, of rows, of columns and of axes that are no neighbours.
std::vector<UOp> divided_sums() {
    return {sum(filled({1 << 17}), {0}),        sum(filled({40009}), {0}),    sum(filled({3, 36001}), {1}),
            sum(filled({1 << 15, 4}), {0}),     sum(filled({33333, 3}), {0}), sum(filled({200, 3, 200}), {0, 2}),
            sum(filled({2, 40000, 2}), {1, 2}), sum(filled({8200, 40}), {0})};
}

TEST(TwoStage, AreOfLongRowsThatLeaveFewResults) {
    GraphScope scope;
    EXPECT_TRUE(is_two_stage(sum(filled({1 << 15}), {0}), costs()));
    EXPECT_FALSE(is_two_stage(sum(filled({(1 << 15) - 1}), {0}), costs()));
    EXPECT_FALSE(is_two_stage(sum(expand(filled({1, 1 << 15}), {1153, 1 << 15}), {1}), costs()))
        << "results fill the machine";
    EXPECT_TRUE(is_two_stage(sum(expand(filled({1, 1 << 15}), {1152, 1 << 15}), {1}), costs()));
    EXPECT_FALSE(is_two_stage(sum(filled({0, 1 << 15}), {1}), costs())) << "no results";
    EXPECT_FALSE(is_two_stage(sum(filled({0}), {0}), costs())) << "no elements";
}

TEST(TwoStage, AreOfColumnsThatNoBlockHoldsWhereTheseWouldBeReadTwice) {
    GraphScope scope;
    const auto columns = [](int64_t n, int64_t count) { return sum(expand(filled({n, 1}), {n, count}), {0}); };
    EXPECT_FALSE(is_two_stage(columns(16384, 4096), costs()));
    EXPECT_TRUE(is_two_stage_where_read_twice(columns(16384, 4096), costs()));
    EXPECT_FALSE(is_two_stage_where_read_twice(columns(8192, 4096), costs())) << "a block holds them";
    EXPECT_FALSE(is_two_stage_where_read_twice(sum(expand(filled({1, 16384}), {4096, 16384}), {1}), costs())) << "rows";
    const TwoStage pieces = two_stage_of(columns(16384, 4096), costs());
    EXPECT_TRUE(pieces.across);
    EXPECT_EQ(pieces.length, 512);
}

TEST(TwoStage, AreOfColumnsThatFewBlocksWouldReadForMuchLonger) {
    GraphScope scope;
    const CostModel mi300x(Chip::parse("gfx942").value());
    const auto columns = [](int64_t n, int64_t count) { return sum(expand(filled({n, 1}), {n, count}), {0}); };
    EXPECT_TRUE(leaves_card_idle(columns(4096, 768), mi300x));
    EXPECT_FALSE(leaves_card_idle(columns(64, 768), mi300x)) << "little to read";
    EXPECT_FALSE(leaves_card_idle(columns(4096, 32768), mi300x)) << "blocks for all units";
    EXPECT_FALSE(leaves_card_idle(sum(filled({768, 4096}), {1}), mi300x)) << "rows";
    for (UOp u : {columns(4096, 768), columns(999, 300)}) {
        const TwoStage pieces = stages_of_columns(u, mi300x);
        EXPECT_TRUE(pieces.across);
        const UOp merged = pieces.merged(pieces.reduced(pieces.of(u.src(0), number(0)), Op::add), Op::add);
        EXPECT_EQ(difference(computed(reshaped(merged, u.shape())), computed(u)), "") << tree(u);
    }
}

TEST(TwoStage, HaveEachElementOnceAndTheFillerBehindThem) {
    GraphScope scope;
    for (UOp u : divided_sums()) {
        const TwoStage pieces = two_stage_of(u, costs());
        const Array got = computed(pieces.of(u.src(0), number(1000))), x = computed(u.src(0));
        double total = 0, wanted = 0;
        int64_t filled_up = 0;
        for (double v : got.f) v == 1000 ? void(++filled_up) : void(total += v);
        for (double v : x.f) wanted += v;
        EXPECT_EQ(total, wanted) << tree(u);
        EXPECT_EQ(filled_up, (pieces.count * pieces.length - pieces.elements) * pieces.results) << tree(u);
        EXPECT_EQ(filled_up == 0, pieces.are_whole());
        EXPECT_EQ(got.shape, pieces.shape());
    }
}

TEST(TwoStage, ReducedAndMergedAreTheReduction) {
    GraphScope scope;
    for (UOp u : divided_sums())
        for (Op op : {Op::add, Op::max, Op::min}) {
            const UOp whole = reduce(u.src(0), op, u.as<ReduceArg>().axes);
            const TwoStage pieces = two_stage_of(whole, costs());
            const UOp merged = pieces.merged(pieces.reduced(pieces.of(u.src(0), identity(op, u.dtype())), op), op);
            EXPECT_EQ(difference(computed(reshaped(merged, whole.shape())), computed(whole)), "") << tree(whole);
        }
}

TEST(TwoStage, KnowHowManyElementsEachHas) {
    GraphScope scope;
    for (UOp u : divided_sums()) {
        const TwoStage pieces = two_stage_of(u, costs());
        const UOp ones = pieces.of(ones_of(u.src(0).shape()), number(0));
        const Array counted = computed(pieces.reduced(ones, Op::add)), told = computed(pieces.lengths(dtypes::float32));
        for (size_t k = 0; k < counted.numel(); ++k)
            ASSERT_EQ(told.f[told.numel() == 1 ? 0 : k % told.numel()], counted.f[k]) << tree(u);
    }
}

TEST(TwoStage, TellElementsFromFiller) {
    GraphScope scope;
    for (UOp u : divided_sums()) {
        const TwoStage pieces = two_stage_of(u, costs());
        const UOp real = pieces.are_real();
        ASSERT_EQ(!real, pieces.are_whole());
        if (!real) continue;
        const Array told = computed(real), got = computed(pieces.of(u.src(0), number(1000)));
        for (size_t k = 0; k < got.numel(); ++k) ASSERT_EQ(told.i[k] == 0, got.f[k] == 1000) << tree(u);
    }
}

TEST(TwoStage, OfAPairFitTheRegistersOfABlock) {
    GraphScope scope;
    for (int64_t n : {1 << 15, 40009, 1 << 20, 10'000'019, 1 << 24}) {
        const UOp u = sum(filled({n}), {0});
        const TwoStage once = two_stage_of(u, costs()), twice = two_stage_of(u, 1 << 13, costs());
        EXPECT_LE(twice.length, 1 << 13) << n;
        EXPECT_LE(twice.length, once.length) << n;
        EXPECT_GE(twice.count * twice.length, n);
        EXPECT_LT((twice.count - 1) * twice.length, n) << "no piece is filler only";
    }
}

TEST(TwoStage, ValuesOfPiecesAndOfResultsGoToWhereTheyBelong) {
    GraphScope scope;
    for (UOp u : {sum(filled({3, 1 << 15}), {1}), sum(filled({1 << 15, 4}), {0})}) {
        const TwoStage pieces = two_stage_of(u, costs());
        const Array whole = computed(u);
        const Array repeated = computed(pieces.merged(pieces.to_pieces(u), Op::max));
        EXPECT_EQ(difference(repeated, whole), "");
        const UOp tops = pieces.reduced(pieces.of(u.src(0), number(0)), Op::max);
        EXPECT_EQ(difference(computed(pieces.reduced(pieces.along(tops), Op::min)), computed(tops)), "");
    }
}

}  // namespace
}  // namespace strata::codegen
