#include "strata/codegen/cost/cost_model.h"

#include <gtest/gtest.h>

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
