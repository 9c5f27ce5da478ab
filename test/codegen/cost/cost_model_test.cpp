#include "strata/codegen/cost/cost_model.h"

#include <gtest/gtest.h>

#include <cmath>

namespace strata::codegen {
namespace {

constexpr int64_t kSides[] = {16, 100, 512, 2048, 8192};

/// On each chip, products of all sides by each other: matrix instructions or none, 16 and 32 bits.
template <class F>
void for_each_product(const F& check) {
    for (Chip chip : chips())
        for (int64_t rows : kSides)
            for (int64_t depth : kSides)
                for (int bytes : {2, 4})
                    for (bool by_matrix : {false, true})
                        check(
                            chip,
                            ProductShape{
                                .rows = rows, .columns = 2048, .depth = depth, .bytes = bytes, .by_matrix = by_matrix});
}

TEST(CostModel, NoProductIsFasterThanItsBytes) {
    for_each_product([](Chip chip, const ProductShape& shape) {
        const CostModel costs(chip);
        const auto bytes = static_cast<double>((shape.rows + shape.columns) * shape.depth * shape.bytes);
        EXPECT_GE(costs.product(shape), costs.memory(bytes)) << chip.name();
    });
}

TEST(CostModel, MoreToDoTakesNoLessTime) {
    for_each_product([](Chip chip, const ProductShape& shape) {
        const CostModel costs(chip);
        for (int64_t ProductShape::* grown : {&ProductShape::rows, &ProductShape::depth, &ProductShape::batch}) {
            ProductShape more = shape;
            more.*grown *= 4;
            EXPECT_GE(costs.product(more), costs.product(shape)) << chip.name();
        }
    });
}

TEST(CostModel, PartsHelpWhereFewTilesHaveLongSumsAndNotWhereTheCardIsFull) {
    for (Chip chip : chips()) {
        const CostModel costs(chip);
        const ProductShape few{.rows = 32, .columns = 32, .depth = 8192},
            full{.rows = 8192, .columns = 8192, .depth = 8192};
        EXPECT_LT(costs.product(few, 16) + costs.stored(16 * 32 * 32 * 4), costs.product(few)) << chip.name();
        EXPECT_GT(costs.product(full, 16) + costs.stored(16.0 * 8192 * 8192 * 4), costs.product(full)) << chip.name();
    }
}

TEST(CostModel, PartsFillTheUnitsOfAProductByWarpgroups) {
    const CostModel hopper(*Chip::parse("sm_90"));
    const auto best = [&](const ProductShape& shape) {
        int64_t parts = 1;
        const auto us = [&](int64_t n) {
            return hopper.by_warpgroups(shape, n) +
                   (n > 1 ? hopper.stored(static_cast<double>(4 * n * shape.rows * shape.columns)) : 0);
        };
        for (int64_t n : {2, 4, 8, 16})
            if (us(n) < us(parts)) parts = n;
        return parts;
    };
    const ProductShape few{.rows = 512, .columns = 512, .depth = 16384, .bytes = 2},
        full{.rows = 4096, .columns = 4096, .depth = 4096, .bytes = 2};
    EXPECT_GE(best(few), 4);
    EXPECT_EQ(best(full), 1);
    for (const ProductShape& other : {ProductShape{.rows = 16, .columns = 4096, .depth = 4096, .bytes = 2},
                                      ProductShape{.rows = 512, .columns = 512, .depth = 512, .bytes = 4}})
        EXPECT_TRUE(std::isinf(hopper.by_warpgroups(other, 1))) << "no tile of theirs";
    for (Chip chip : chips())
        if (chip.is_amd()) EXPECT_TRUE(std::isinf(CostModel(chip).by_warpgroups(few, 1))) << chip.name();
}

TEST(CostModel, AStoredValueCostsItsLaunchAndItsBytesTwice) {
    for (Chip chip : chips()) {
        const CostModel costs(chip);
        EXPECT_DOUBLE_EQ(costs.stored(0), costs.launch());
        EXPECT_DOUBLE_EQ(costs.stored(1e9) - costs.launch(), costs.memory(2e9)) << chip.name();
        EXPECT_GT(costs.resident_groups(64), costs.resident_groups(1024)) << chip.name();
    }
}

}  // namespace
}  // namespace strata::codegen
