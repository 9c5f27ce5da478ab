#include "strata/codegen/kernel/build.h"

#include "build_helpers.h"

namespace strata::codegen {
namespace {

using namespace test;

TEST(BuildKernel, ElementwiseWorkBecomesOneStoreOverTheOutput) {
    GraphScope scope;
    Kernel k = expect_built(filled({6, 5}) * filled({6, 5}) + number(1));
    EXPECT_EQ(nodes(k, Op::store).size(), 1u);
    EXPECT_EQ(nodes(k, Op::range).size(), 1u) << "both axes are one";
    EXPECT_EQ(nodes(k, Op::load).size(), 2u);
}

TEST(BuildKernel, AScalarNeedsNoRange) {
    GraphScope scope;
    Kernel k = expect_built(reshape(filled({1}), {}) * number(3));
    EXPECT_TRUE(nodes(k, Op::range).empty());
    expect_built(number(4));
    expect_built(reshape(sum(filled({7}), {0}), {}));
}

TEST(BuildKernel, ABufferReadTwiceIsOneParameterAndOneLoad) {
    GraphScope scope;
    UOp x = filled({6, 5});
    Kernel k = expect_built(x * x);
    EXPECT_EQ(nodes(k, Op::param).size(), 2u);
    EXPECT_EQ(nodes(k, Op::load).size(), 1u);
    k = expect_built(reshape(x, {5, 6}) - permute(x, {1, 0}));
    EXPECT_EQ(nodes(k, Op::param).size(), 2u);
    EXPECT_EQ(nodes(k, Op::load).size(), 2u);
}

TEST(BuildKernel, PaddingIsPredicatedAndReadsNothingOutside) {
    GraphScope scope;
    UOp x = filled({4, 3});
    Kernel k = expect_built(pad(x, {{1, 2}, {0, 3}}));
    ASSERT_EQ(nodes(k, Op::load).size(), 1u);
    EXPECT_EQ(nodes(k, Op::load)[0].src(0).src().size(), 3u);
    EXPECT_TRUE(nodes(k, Op::where).empty()) << "the load gives the zero itself";
    expect_built(pad(pad(x, {{1, 0}, {0, 1}}), {{0, 2}, {2, 0}}));
    expect_built(pad(flip(pad(x, {{2, 0}, {0, 0}}), {0}), {{1, 1}, {1, 1}}));
    expect_built(pad(x + number(5), {{0, 1}, {1, 0}}));
    expect_built(pad(sum(x + number(5), {1}), {{1, 1}, {1, 1}}));
}

TEST(BuildKernel, PaddingThatIsCutOffAgainNeedsNoPredicate) {
    GraphScope scope;
    Kernel k = expect_built(shrink(pad(filled({8}), {{3, 3}}), {{3, 11}}));
    EXPECT_EQ(nodes(k, Op::load).at(0).src(0).src().size(), 2u);
    k = expect_built(shrink(pad(filled({8}), {{3, 3}}), {{0, 2}}));
    EXPECT_TRUE(nodes(k, Op::load).empty()) << "nothing but padding is left";
}

TEST(BuildKernel, PaddingOfNothingIsZero) {
    GraphScope scope;
    expect_built(pad(shrink(filled({4}), {{2, 2}}), {{2, 1}}));
}

TEST(BuildKernel, PaddedIntegersAndBooleans) {
    GraphScope scope;
    expect_built(pad(filled({5}, dtypes::int16), {{1, 1}}));
    expect_built(pad(filled({5}, dtypes::boolean), {{1, 1}}));
    expect_built(pad(filled({5}, dtypes::uint64), {{0, 4}}));
}

TEST(BuildKernel, TakeReadsAtComputedPlaces) {
    GraphScope scope;
    UOp x = filled({4, 5}), rows = integers({3, 0, 3, 2, 1, 1});
    expect_built(take(x, rows, 0));
    expect_built(take(x, rows, 1));
    expect_built(take(x, reshape(rows, {2, 3}), 1));
    expect_built(take(x, reshape(shrink(rows, {{0, 1}}), {}), 0));
    expect_built(take(take(x, rows, 0), integers({4, 0}, dtypes::int64), 1));
    expect_built(pad(take(x, rows, 0), {{1, 1}, {0, 1}}));
}

TEST(BuildKernel, IotaIsTheCoordinate) {
    GraphScope scope;
    EXPECT_TRUE(nodes(expect_built(iota(9)), Op::load).empty());
    expect_built(flip(iota(9, dtypes::int64), {0}));
    UOp rows = expand(reshape(iota(4), {4, 1}), {4, 4}), columns = expand(reshape(iota(4), {1, 4}), {4, 4});
    expect_built(cast(alu(Op::cmpeq, {rows, columns}), dtypes::float32));
}

TEST(BuildKernel, ReductionsOfEveryKind) {
    GraphScope scope;
    UOp x = filled({3, 4, 5});
    for (Op op : {Op::add, Op::max, Op::min})
        for (std::vector<int> axes : {std::vector{0}, {1}, {2}, {0, 2}, {0, 1, 2}}) expect_built(reduce(x, op, axes));
    expect_built(reduce(filled({3, 4}, dtypes::int32), Op::mul, {1}));
    expect_built(reduce(filled({3, 1}), Op::add, {1}));
}

TEST(BuildKernel, AReductionOfNothingIsWhatItStartsFrom) {
    GraphScope scope;
    UOp nothing = shrink(filled({3, 4}), {{0, 3}, {1, 1}});
    for (Op op : {Op::add, Op::mul, Op::max, Op::min}) expect_built(reduce(nothing, op, {1}));
}

TEST(BuildKernel, ReductionsSideBySideShareTheirRanges) {
    GraphScope scope;
    UOp x = filled({6, 5}), y = filled({6, 5});
    Kernel k = expect_built(sum(x, {1}) + reduce(y, Op::max, {1}) * number(2));
    EXPECT_EQ(nodes(k, Op::reduce).size(), 2u);
    EXPECT_EQ(nodes(k, Op::range).size(), 2u);
    k = expect_built(sum(x, {1}) + shrink(sum(filled({6, 4}), {1}), {{0, 6}, {0, 1}}));
    EXPECT_EQ(nodes(k, Op::range).size(), 3u) << "sizes differ";
}

TEST(BuildKernel, AMatrixProductReadsEachSideOnce) {
    GraphScope scope;
    Kernel k = expect_built(matmul(filled({3, 4}), filled({4, 5})));
    EXPECT_EQ(nodes(k, Op::load).size(), 2u);
    EXPECT_EQ(nodes(k, Op::range).size(), 3u);
}

TEST(BuildKernel, NamesTellTheFormAndTheSizes) {
    GraphScope scope;
    EXPECT_EQ(built(filled({6, 5}) + number(1)).kernel.name, "e_30");
    EXPECT_EQ(built(permute(filled({6, 5}), {1, 0})).kernel.name, "e_5_6");
    EXPECT_EQ(built(sum(filled({6, 5}), {1})).kernel.name, "r_6_5");
    EXPECT_EQ(built(number(1)).kernel.name, "e_1");
}

TEST(BuildKernel, RandomGraphsKeepTheirValues) {
    GraphScope scope;
    for (unsigned seed = 0; seed < 400; ++seed) {
        expect_built(RandomGraph(seed + 1000).make_graph(6));
        if (HasFailure()) FAIL() << "seed " << seed;
    }
}

}  // namespace
}  // namespace strata::codegen
