#include "strata/codegen/linear/async_products.h"

#include <gtest/gtest.h>

#include <array>

#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

/// The terms that a warpgroup adds to a register, one element of it.
struct Added {
    UOp sums, product, part, store;
};
Added added(int slot, UOp behind) {
    const UOp sums = uop::placeholder(1, dtypes::float32, Space::reg, slot);
    const UOp a = constant(dtypes::bfloat16, 1), c = constant(dtypes::float32, slot);
    const UOp product = uop::wmma("wgmma_f32_16x64x16_bf16<4, 1, 0, 0, 64>", a, a, uop::vec(std::array{c, c}));
    const UOp part = uop::lane(product, 0);
    return {sums, product, part, uop::store(uop::at(uop::after(sums, {behind}), 0), part)};
}
UOp read(const Added& x) { return uop::load(uop::at(x.sums, 0)); }

TEST(AsyncProducts, EndWhereTheirSumsAreReadThoseBeforeThemToo) {
    GraphScope scope;
    const UOp loop = uop::range(4, 0, Axis::reduce);
    const Added first = added(0, loop), second = added(1, loop);
    AsyncProducts products({});
    products.begin(first.product);
    products.begin(second.product);
    for (const Added& x : {first, second}) {
        EXPECT_TRUE(products.placed_by(x.part));
        products.placed_by(x.store)->sums = x.sums;
    }
    EXPECT_FALSE(products.placed_by(read(first)));
    EXPECT_EQ(products.ending_before(loop), 0u);
    EXPECT_EQ(products.ending_before(read(first)), 1u);
    EXPECT_EQ(products.ending_before(read(second)), 2u);
    EXPECT_EQ(products.ending_before(uop::barrier(second.store)), 2u);
    EXPECT_EQ(products.take(1)[0].value, first.product);
    EXPECT_EQ(products.ending_before(read(first)), 0u);
    EXPECT_EQ(products.ending_before(read(second)), 1u);
}

TEST(AsyncProducts, GoOnIntoTheNextStepWhereNothingBehindThemNeedsTheirSums) {
    GraphScope scope;
    const UOp loop = uop::range(4, 0, Axis::reduce);
    const Added first = added(0, loop), second = added(1, loop);
    const UOp end = uop::end(second.store, {loop});
    const auto at_start = [&](std::vector<UOp> ops) {
        ops.insert(ops.begin(), loop), ops.push_back(end);
        AsyncProducts products(ops);
        products.begin_loop(loop);
        return products;
    };
    const UOp barrier = uop::barrier(second.store);
    const std::vector<UOp> both{first.product, first.part, first.store, second.product, second.part, second.store};
    const auto with = [&](UOp u) {
        std::vector<UOp> ops = both;
        ops.push_back(u);
        return ops;
    };
    EXPECT_EQ(at_start(both).size(), 2u);
    EXPECT_EQ(at_start(with(read(first))).size(), 1u) << "the second one";
    EXPECT_TRUE(at_start(with(read(second))).empty());
    EXPECT_TRUE(at_start(with(barrier)).empty());
    AsyncProducts second_alone = at_start(with(read(first)));
    EXPECT_EQ(second_alone.ending_before(read(second)), 1u);
    EXPECT_EQ(second_alone.ending_before(barrier), 1u);
    EXPECT_EQ(second_alone.ending_before(end), 0u);
}

}  // namespace
}  // namespace strata::codegen
