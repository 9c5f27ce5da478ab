#include "strata/core/layout/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "strata/core/layout/composed.h"
#include "strata/core/layout/layout_error.h"

namespace strata::layout {
namespace {

TEST(Layout, IsCompactAndColexicographicByDefault) {
    EXPECT_EQ(to_string(Layout(IntTuple{4, {2, 1, 3}})), "(4,(2,1,3)):(1,(4,0,8))");
    EXPECT_EQ(to_string(Layout(IntTuple(7))), "7:1");
    EXPECT_EQ(to_string(Layout(IntTuple(std::vector<IntTuple>()))), "():()");
}

TEST(Layout, TakesIntegersFlatAndNestedCoordinates) {
    const Layout layout = layout_of("(4,(2,4)):(8,(1,2))");
    EXPECT_EQ(layout(5), 9);
    EXPECT_EQ(layout({1, 1}), 9);
    EXPECT_EQ(layout({1, {1, 0}}), 9);
    EXPECT_EQ(layout(4 * 8), 8) << "the last mode goes on";
}

TEST(Layout, OfBasisElementsGivesCoordinates) {
    const Layout identity = make_identity_layout({4, {2, 3}});
    EXPECT_EQ(to_string(identity), "(4,(2,3)):(1E0,(1E1E0,1E1E1))");
    EXPECT_EQ(identity(13), IntTuple({1, {1, 1}}));
    EXPECT_EQ(coshape(identity), IntTuple({4, {2, 3}}));
    EXPECT_TRUE(cosize(identity).is(24));
}

TEST(Layout, RefusesWhatIsNone) {
    EXPECT_THROW(Layout(IntTuple{4, 0}), LayoutError);
    EXPECT_THROW(Layout(IntTuple{4, -1}), LayoutError);
    EXPECT_THROW(Layout(IntTuple{4, {2, 2}}, IntTuple{1, 4}), LayoutError);
    EXPECT_THROW(Layout(IntTuple{4, IntTuple::none()}), LayoutError);
    EXPECT_THROW(Layout(IntTuple{4, 2})({1, 2, 3}), LayoutError);
    EXPECT_THROW(Layout(IntTuple{INT64_MAX, 3}).size(), LayoutError);
}

TEST(Layout, OrdersModes) {
    EXPECT_EQ(to_string(make_ordered_layout({2, 3, 4}, {2, 0, 1})), "(2,3,4):(12,1,3)");
    EXPECT_EQ(to_string(make_ordered_layout({{2, 3}, 4}, {1, 0})), "((2,3),4):((4,8),1)");
    EXPECT_EQ(to_string(make_layout_like(layout_of("(4,8,2):(16,0,1)"))), "(4,8,2):(2,0,1)");
    EXPECT_EQ(to_string(make_fragment_layout(layout_of("((2,4),8,2):((7,1),0,90)"))), "((2,4),8,2):((1,2),0,8)");
}

TEST(Layout, GivesCoordinatesOfIndices) {
    EXPECT_EQ(idx2crd(Int(5), layout_of("(4,8):(8,1)")), IntTuple({0, 5}));
    EXPECT_EQ(flat_coord(Int(19), layout_of("((2,2),8):((16,8),1)")), IntTuple({1, 3}));
    EXPECT_TRUE(linear_coord(Int(5), layout_of("(4,8):(8,1)")).is(20));
    EXPECT_EQ(idx2crd(Int(5), layout_of("(2,2):(2,3)")), IntTuple({1, 1}));
    EXPECT_EQ(idx2crd(Int(-3), layout_of("4:-1")), IntTuple(3));
    EXPECT_THROW(idx2crd(Int(1), layout_of("(2,2):(2,3)")), LayoutError);
    EXPECT_EQ(idx2crd(IntTuple(100), IntTuple({4, 8})), IntTuple({0, 25})) << "the last mode goes on";
    EXPECT_EQ(crd2crd(IntTuple({1, 2}), {4, 8}, {8, 4}), IntTuple({1, 1}));
}

TEST(Layout, KnowsWhetherIndicesMeet) {
    EXPECT_TRUE(is_injective(layout_of("(2,2):(2,3)")));
    EXPECT_FALSE(is_injective(layout_of("(4,2):(1,3)")));
    EXPECT_FALSE(is_injective(layout_of("(4,2):(1,0)")));
    EXPECT_TRUE(is_injective(layout_of("(4,1):(1,0)")));
    EXPECT_TRUE(is_injective(layout_of("(1048576,1048576):(1048577,1048576)")));
    EXPECT_FALSE(is_injective(layout_of("(1048577,1048578):(1048577,1048576)")));
    EXPECT_TRUE(is_injective(make_identity_layout({4, 4})));
}

TEST(Layout, FindsTheCoordinateOfEveryIndexThatHasOne) {
    std::mt19937 random(1);
    const auto pick = [&](int64_t low, int64_t high) {
        return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    for (int round = 0; round < 300; ++round) {
        std::vector<IntTuple> shape, stride;
        for (int64_t n = pick(1, 4); n > 0; --n) {
            shape.emplace_back(pick(1, 5));
            stride.emplace_back(pick(-9, 9));
        }
        const Layout layout(shape, stride);
        std::map<int64_t, int> indices;
        for (int64_t c = 0; c < layout.size().value(); ++c) ++indices[layout(IntTuple(c)).known()];
        const bool once = std::ranges::all_of(indices, [](const auto& index) { return index.second == 1; });
        ASSERT_EQ(is_injective(layout), once) << to_string(layout);
        for (int64_t i = -60; i <= 60; ++i) {
            if (indices.contains(i))
                ASSERT_EQ(layout(idx2crd(Int(i), layout)), i) << to_string(layout);
            else
                ASSERT_THROW(idx2crd(Int(i), layout), LayoutError) << to_string(layout);
        }
    }
}

TEST(LayoutError, NamesOperationModeAndOperands) {
    try {
        make_ordered_layout({2, 3}, {0, {1, 2}});
        FAIL();
    } catch (const LayoutError& error) {
        EXPECT_EQ(error.operation(), "make_ordered_layout");
        EXPECT_EQ(error.operands(), (std::vector<std::string>{"(2,3)", "(0,(1,2))"}));
    }
}

}  // namespace
}  // namespace strata::layout
