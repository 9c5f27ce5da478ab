#include "run_schedule.h"
#include "strata/codegen/schedule/plan_p.h"

// Products of 8-bit floats: by bfloat16 where the chip has no matrix instructions of their type.
namespace strata::codegen {
namespace {

using namespace test;

/// The product of (m, k) by (k, n) in float32, of operands of these types.
UOp product(int64_t m, int64_t k, int64_t n, DType left, DType right) {
    const auto factor = [&](Shape shape, Shape wide, DType type) {
        const UOp narrow = make(Op::cast, type, {filled({shape[0] * shape[1]})});
        const UOp view = make(Op::reshape, type, {narrow}, ShapeArg{wide});
        return make(Op::cast, dtypes::float32, {expand(view, {m, n, k})});
    };
    return sum(factor({m, k}, {m, 1, k}, left) * factor({n, k}, {1, n, k}, right), {2});
}

UOp widened(UOp sum, isa::Arch arch) { return widen_bytes(std::vector{sum}, {.costs = CostModel(Chip(arch))})[0]; }

int casts_to(UOp root, DType type) {
    int count = 0;
    for (UOp u : toposort(root)) count += u.is(Op::cast) && u.dtype() == type;
    return count;
}

TEST(ByteOperands, AreBfloat16WhereTheChipMultipliesThose) {
    GraphScope scope;
    for (DType type : {dtypes::fp8e4m3, dtypes::fp8e5m2, dtypes::fp8e4m3fnuz, dtypes::fp8e5m2fnuz}) {
        const UOp sum = widened(product(128, 256, 128, type, type), isa::Arch::gfx1100);
        EXPECT_EQ(casts_to(sum, dtypes::bfloat16), 2);
        EXPECT_TRUE(matrix_product_of(sum, costs()));
        const std::vector<UOp> roots{product(32, 256, 32, type, type)};
        expect_same_values(roots, scheduled(roots));
    }
}

TEST(ByteOperands, StayWhereTheChipMultipliesThem) {
    GraphScope scope;
    const auto count = [](DType left, DType right, isa::Arch arch) {
        return casts_to(widened(product(128, 256, 128, left, right), arch), dtypes::bfloat16);
    };
    EXPECT_EQ(count(dtypes::fp8e4m3, dtypes::fp8e4m3, isa::Arch::gfx1201), 0);
    EXPECT_EQ(count(dtypes::fp8e4m3fnuz, dtypes::fp8e4m3fnuz, isa::Arch::gfx942), 0);
    EXPECT_EQ(count(dtypes::fp8e4m3, dtypes::fp8e4m3, isa::Arch::gfx942), 2) << "its instructions have the other zero";
    EXPECT_EQ(count(dtypes::fp8e4m3, dtypes::bfloat16, isa::Arch::gfx1201), 2)
        << "its cast, and the one that was there";
}

TEST(ByteOperands, OfSmallProductsAndOtherSumsStay) {
    GraphScope scope;
    EXPECT_EQ(casts_to(widened(product(4, 4096, 1024, dtypes::fp8e4m3, dtypes::fp8e4m3), isa::Arch::gfx1100),
                       dtypes::bfloat16),
              0);
    EXPECT_EQ(casts_to(widened(product(128, 256, 128, dtypes::fp8e4m3, dtypes::float32), isa::Arch::gfx1100),
                       dtypes::bfloat16),
              0);
}

}  // namespace
}  // namespace strata::codegen
