#include "strata/codegen/target/warpgroup_products.h"

#include <gtest/gtest.h>

#include <vector>

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

TEST(GroupProducts, APlaceOfATileIsOneOfItsOwn) {
    const SwizzledTile tile{true, 16};
    EXPECT_EQ(place_in(tile, dtypes::bfloat16, 0, 63), 63);
    EXPECT_EQ(place_in(tile, dtypes::bfloat16, 3, 0), 3 * 64 + 3 * 8) << "the first chunk is where the fourth would be";
    EXPECT_EQ(place_in(tile, dtypes::bfloat16, 8, 9), 8 * 64 + 9);
    EXPECT_EQ(place_in(tile, dtypes::bfloat16, 0, 64), 16 * 64) << "the second block of all rows";
    std::vector<bool> taken(16 * 128);
    for (int64_t row = 0; row < 16; ++row)
        for (int64_t x = 0; x < 128; ++x) {
            const auto at = static_cast<size_t>(place_in(tile, dtypes::float16, row, x));
            ASSERT_FALSE(taken.at(at)) << row << " " << x;
            taken[at] = true;
        }
}

}  // namespace
}  // namespace strata::codegen
