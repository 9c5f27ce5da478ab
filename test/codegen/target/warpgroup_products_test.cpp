#include "strata/codegen/target/warpgroup_products.h"

#include <gtest/gtest.h>

#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

TEST(GroupProducts, TheNameOfAWmmaSaysHowItsTilesLie) {
    GraphScope scope;
    const WarpgroupProduct product{4, {true, 128}, {false, 64}};
    const std::string name = name_of("wgmma_f32_16x256x16_bf16", product);
    EXPECT_EQ(name, "wgmma_f32_16x256x16_bf16<4, 1, 128, 0, 64>") << "a call in HIP text";
    const UOp c = constant(dtypes::float32, 0), u = uop::wmma(name, c, c, c);
    const std::optional<WarpgroupProduct> read = warpgroup_product(u);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->steps, 4);
    EXPECT_EQ(read->a, product.a);
    EXPECT_EQ(read->b, product.b);
    EXPECT_FALSE(warpgroup_product(uop::wmma("wgmma_f32_16x256x16_bf16", c, c, c)))
        << "before its tiles are in local memory";
    EXPECT_FALSE(warpgroup_product(c));
}

}  // namespace
}  // namespace strata::codegen
