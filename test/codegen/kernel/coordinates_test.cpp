#include "strata/codegen/kernel/coordinates.h"

#include <gtest/gtest.h>

#include "strata/core/uop/reference.h"
#include "tensors.h"

namespace strata::codegen {
namespace {

using namespace test;

/// Value of an index expression where each range stands for a number.
int64_t value(UOp u, const UOpMap<int64_t>& at) {
    if (u.is_const()) return u.as<ConstArg>().i;
    if (u.is(Op::range)) return at.at(u);
    std::vector<ConstArg> sources;
    for (UOp s : u.src()) sources.push_back({value(s, at), 0});
    return reference(u.op(), u.dtype(), u.src().back().dtype(), sources)->i;
}

/// Where every element of a movement's result comes from, against the host's own arithmetic.
void expect_coordinates(UOp movement) {
    const Shape &from = movement.src(0).shape(), &to = movement.shape();
    Coordinates ranges;
    for (size_t i = 0; i < to.size(); ++i)
        ranges.push_back(make(Op::range, dtypes::index, {}, RangeArg{static_cast<int>(i), to[i], Axis::loop}));
    Coordinates got = source_coordinates(movement, ranges);
    ASSERT_EQ(got.size(), from.size());
    UOp place = flatten(got, from);
    host::each_position(to, [&](const std::vector<int64_t>& at) {
        UOpMap<int64_t> values;
        for (size_t i = 0; i < to.size(); ++i) values[ranges[i]] = at[i];
        std::vector<int64_t> source;
        size_t wanted = host::offset(to, at);  // a reshape keeps the row-major order
        if (!movement.is(Op::reshape)) {
            ASSERT_TRUE(host::source_position(movement, from, at, source));
            wanted = host::offset(from, source);
        }
        for (size_t i = 0; i < from.size(); ++i) {
            int64_t c = value(got[i], values);
            ASSERT_TRUE(c >= 0 && c < from[i]) << to_string(movement) << ", axis " << i << ": " << c;
        }
        ASSERT_EQ(value(place, values), static_cast<int64_t>(wanted)) << to_string(movement);
    });
}

TEST(SourceCoordinates, OfAPermutation) {
    GraphScope scope;
    for (std::vector<int> axes : {std::vector{0, 1, 2}, {2, 0, 1}, {1, 2, 0}, {2, 1, 0}})
        expect_coordinates(permute(filled({2, 3, 4}), axes));
}

TEST(SourceCoordinates, OfAnExpansion) {
    GraphScope scope;
    expect_coordinates(expand(filled({1, 3, 1}), {4, 3, 2}));
    expect_coordinates(expand(filled({1, 1}), {1, 5}));
}

TEST(SourceCoordinates, OfAShrink) {
    GraphScope scope;
    expect_coordinates(shrink(filled({6, 5}), {{2, 6}, {0, 5}}));
    expect_coordinates(shrink(filled({6, 5}), {{1, 3}, {4, 5}}));
}

TEST(SourceCoordinates, OfAFlip) {
    GraphScope scope;
    expect_coordinates(flip(filled({3, 4}), {1}));
    expect_coordinates(flip(filled({3, 4}), {0, 1}));
}

TEST(SourceCoordinates, OfReshapesThatSplitJoinAndMixAxes) {
    GraphScope scope;
    std::vector<Shape> shapes = {{24},    {4, 6},    {6, 4},       {2, 3, 4}, {4, 3, 2},      {1, 24},
                                 {24, 1}, {2, 2, 6}, {3, 1, 8, 1}, {8, 3},    {2, 2, 2, 3, 1}};
    for (const Shape& from : shapes)
        for (const Shape& to : shapes) expect_coordinates(reshape(filled(from), to));
}

TEST(SourceCoordinates, AReshapeOfOneAxisLeavesTheOthersAlone) {
    GraphScope scope;
    UOp r0 = make(Op::range, dtypes::index, {}, RangeArg{0, 4, Axis::loop});
    UOp r1 = make(Op::range, dtypes::index, {}, RangeArg{1, 6, Axis::loop});
    Coordinates got = source_coordinates(reshape(filled({2, 2, 6}), {4, 6}), {r0, r1});
    EXPECT_EQ(got[2], r1);
    for (UOp u : toposort(got[0])) EXPECT_NE(u, r1);
}

TEST(SourceCoordinates, OfAScalarBecomeZero) {
    GraphScope scope;
    EXPECT_TRUE(source_coordinates(reshape(filled({1, 1}), {}), {})[0].is_const(0));
    EXPECT_TRUE(
        source_coordinates(reshape(reshape(filled({1}), {}), {1, 1}), {index_const(0), index_const(0)}).empty());
}

}  // namespace
}  // namespace strata::codegen
