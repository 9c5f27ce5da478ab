#include "run_schedule.h"
#include "strata/codegen/schedule/plan_p.h"

// Products by matrix instructions: which are recognised, and that each has a kernel.
namespace strata::codegen {
namespace {

using namespace test;

/// Terms of the product of (m, k) by (k, n) in float32, of operands of this type.
UOp terms(int64_t m, int64_t k, int64_t n, DType type = dtypes::float16) {
    const auto factor = [&](Shape shape, Shape wide) {
        const UOp narrow = make(Op::cast, type, {filled({shape[0] * shape[1]})});
        const UOp view = make(Op::reshape, type, {narrow}, ShapeArg{wide});
        return make(Op::cast, dtypes::float32, {expand(view, {m, n, k})});
    };
    return factor({m, k}, {m, 1, k}) * factor({n, k}, {1, n, k});
}

TEST(MatrixProducts, NarrowTypesOfSidesThatTilesHaveAreRecognised) {
    GraphScope scope;
    for (DType type : {dtypes::float16, dtypes::bfloat16}) {
        const MatrixProduct product = matrix_product_of(sum(terms(64, 256, 128, type), {2}), costs());
        ASSERT_TRUE(product);
        EXPECT_EQ(product.left.dtype(), type);
        EXPECT_EQ(product.left.numel(), 64 * 256);
        EXPECT_EQ(product.right.numel(), 128 * 256);
        EXPECT_EQ(product.columns, 128);
        EXPECT_EQ(product.rows, 64);
    }
    EXPECT_FALSE(matrix_product_of(sum(terms(64, 256, 128, dtypes::float32), {2}), costs()))
        << "few cards multiply these";
    EXPECT_FALSE(matrix_product_of(sum(terms(4, 4096, 1024), {2}), costs())) << "few rows";
    EXPECT_FALSE(matrix_product_of(sum(terms(64, 64, 64), {2}), costs())) << "a launch takes longer";
    EXPECT_FALSE(matrix_product_of(reduce(terms(64, 256, 128), Op::max, {2}), costs())) << "no sum";
}

TEST(MatrixProducts, OperandsThatOneTileOfRowsReadsAreComputedThere) {
    const int64_t weights = 4096 * 4096;
    for (isa::Arch arch : {isa::Arch::gfx942, isa::Arch::gfx1100}) {
        const CostModel of_card(arch);
        EXPECT_FALSE(is_worth_storing(16, 16 * weights, of_card)) << isa::info(arch).name;
        EXPECT_TRUE(is_worth_storing(4096, 4096 * weights, of_card)) << isa::info(arch).name;
    }
}

TEST(MatrixProducts, ASumOfSeveralIsTheSumOfEach) {
    GraphScope scope;
    const UOp a = terms(32, 256, 32), b = terms(32, 256, 32), c = terms(32, 256, 32);
    EXPECT_EQ(matrix_products_in(sum(a + b + c, {2}), costs()).size(), 3u);
    EXPECT_TRUE(matrix_products_in(sum(a, {2}), costs()).empty());
    EXPECT_TRUE(matrix_products_in(sum(a + number(1), {2}), costs()).empty()) << "a number has no product";
    EXPECT_TRUE(matrix_products_in(sum(a + filled({32, 32, 256}), {2}), costs()).empty());
    const std::vector<UOp> roots{sum(a + b, {2}) * sum(c, {2})};
    const Schedule schedule = scheduled(roots);
    expect_same_values(roots, schedule);
    EXPECT_EQ(schedule.items.size(), 3u);
}

}  // namespace
}  // namespace strata::codegen
