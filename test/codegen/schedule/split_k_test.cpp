#include "run_schedule.h"

namespace strata::codegen {
namespace {

using namespace test;

/// Elements of what the product of (m, k) by (k, n) stores.
std::vector<int64_t> of_product(int64_t m, int64_t k, int64_t n, Fusion fusion = Fusion::cost) {
    HostStorage storage;
    const UOp product = matmul(filled({m, k}), filled({k, n}));
    const Schedule made = make_schedule(std::vector<UOp>{product}, storage, fusion);
    HostStorage whole;
    const Schedule unsplit = make_schedule(std::vector<UOp>{product}, whole, Fusion::more);
    EXPECT_EQ(difference(run(made)[0], run(unsplit)[0]), "");
    std::vector<int64_t> sizes;
    for (const ScheduleItem& item : made.items) sizes.push_back(item.output.numel());
    return sizes;
}

TEST(SplitProducts, FewTilesWithALongInnerDimensionArePartsAndTheirSum) {
    GraphScope scope;
    const std::vector<int64_t> sizes = of_product(32, 4096, 32);
    ASSERT_EQ(sizes.size(), 2u);
    EXPECT_GE(sizes[0], 8 * sizes[1]);
    EXPECT_EQ(sizes[1], 32 * 32);
}

TEST(SplitProducts, AreOverAxesThatFollowEachOtherToo) {
    GraphScope scope;
    const Shape all{4, 1024, 32, 32};
    const UOp a = reshape(filled({4, 1024, 32}), {4, 1024, 32, 1}),
              b = reshape(filled({4, 1024, 32}, dtypes::float32, 2), {4, 1024, 1, 32});
    const std::vector<UOp> roots{sum(expand(a, all) * expand(b, all), {0, 1})};
    HostStorage storage, whole;
    const Schedule made = make_schedule(roots, storage), unsplit = make_schedule(roots, whole, Fusion::more);
    EXPECT_EQ(made.items.size(), 2u);
    EXPECT_EQ(unsplit.items.size(), 1u);
    EXPECT_EQ(difference(run(made)[0], run(unsplit)[0]), "");
}

TEST(SplitProducts, AShortInnerDimensionAndAPrimeOneStayWhole) {
    GraphScope scope;
    EXPECT_EQ(of_product(32, 512, 32).size(), 1u);
    EXPECT_EQ(of_product(32, 1031, 32).size(), 1u);
}

TEST(SplitProducts, NarrowTilesArePartsOnlyWhereTheInnerDimensionIsVeryLong) {
    GraphScope scope;
    HostStorage storage;
    const auto kernels = [&](int64_t rows, int64_t steps, int64_t columns) {
        const UOp product = matmul(filled({rows, steps}), filled({steps, columns}));
        return make_schedule(std::vector<UOp>{product}, storage).items.size();
    };
    EXPECT_EQ(kernels(16, 4096, 512), 1u);
    EXPECT_EQ(kernels(31, 1 << 14, 64), 1u);
    EXPECT_EQ(kernels(16, 1 << 15, 64), 2u);
}

TEST(SplitProducts, TilesThatFillACardStayWhole) {
    GraphScope scope;
    HostStorage storage;
    const UOp product = matmul(filled({1024, 1024}), filled({1024, 1024}));
    EXPECT_EQ(make_schedule(std::vector<UOp>{product}, storage).items.size(), 1u);
}

TEST(SplitProducts, FusionSaysWhetherTheyAre) {
    GraphScope scope;
    EXPECT_EQ(of_product(32, 512, 32, Fusion::less).size(), 2u);
    EXPECT_EQ(of_product(32, 4096, 32, Fusion::more).size(), 1u);
    for (Fusion f : {Fusion::cost, Fusion::more, Fusion::less}) EXPECT_EQ(parse_fusion(to_string(f)), f);
    EXPECT_FALSE(parse_fusion("all"));
}

}  // namespace
}  // namespace strata::codegen
