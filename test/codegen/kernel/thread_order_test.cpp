#include "strata/codegen/kernel/thread_order.h"

#include <gtest/gtest.h>

#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"
#include "strata/core/uop/root.h"

namespace strata::codegen {
namespace {

constexpr int kWave = 32;

struct Made {
    UOp offset;
    double times;
    int bytes = 4;
};
/// Ids of the threads' ranges, the fastest first.
std::vector<int> order_of(std::vector<UOp> ranges, const std::vector<Made>& made) {
    std::vector<Visit> visits;
    for (const Made& one : made) visits.push_back({OffsetOfRanges(one.offset, ranges), one.bytes, one.times});
    std::vector<int> ids;
    for (const size_t r : thread_order(ranges, visits, kWave)) ids.push_back(range_arg(ranges[r]).id);
    return ids;
}

UOp row(int64_t n) { return uop::range(n, 0, Axis::local); }
UOp column(int64_t n) { return uop::range(n, 1, Axis::local); }

TEST(ThreadOrder, NeighboursInMemoryAreNeighbouringLanes) {
    GraphScope scope;
    const UOp r = row(32), c = column(32);
    EXPECT_EQ(order_of({r, c}, {{r * 1024 + c, 1}}), (std::vector{1, 0}));
    EXPECT_EQ(order_of({r, c}, {{c * 1024 + r, 1}}), (std::vector{0, 1}));
}

TEST(ThreadOrder, WhatAThreadDoesMostOftenCountsMost) {
    GraphScope scope;
    const UOp r = row(32), c = column(32), along = r * 1024 + c, across = c * 1024 + r;
    EXPECT_EQ(order_of({r, c}, {{along, 1}, {across, 64}}), (std::vector{0, 1}));
    EXPECT_EQ(order_of({r, c}, {{along, 64}, {across, 1}}), (std::vector{1, 0}));
}

/// A tile of 64 rows and 16 steps of a product, of which 8 threads have rows and 16 columns. Both factors are read by
/// lines of four threads, whichever range they belong to.
TEST(ThreadOrder, LinesOfAWholeWaveDecide) {
    GraphScope scope;
    const UOp r = row(8), c = column(16);
    const UOp left = c * 4096 + r, right = c * 1024 + r * 4;
    EXPECT_EQ(order_of({r, c}, {{left, 16}, {right, 8}, {r * 4096 + c * 8, 1}}), (std::vector{0, 1}));
}

TEST(ThreadOrder, NarrowColumnsAreReadALineAtATime) {
    GraphScope scope;
    const UOp beside = row(4), along = uop::range(64, 1, Axis::group);
    EXPECT_EQ(order_of({beside, along}, {{along * 4 + beside, 128}, {beside, 1}}), (std::vector{0, 1}));
    EXPECT_EQ(order_of({beside, along}, {{beside * 64 + along, 128}, {beside, 1}}), (std::vector{1, 0}));
}

TEST(ThreadOrder, AmongEqualOnesTheLastMadeIsTheFastest) {
    GraphScope scope;
    const UOp r = row(8), c = column(8);
    EXPECT_EQ(order_of({r, c}, {{index_const(0), 1}}), (std::vector{1, 0}));
    EXPECT_EQ(order_of({r, c}, {}), (std::vector{1, 0}));
}

TEST(ThreadOrder, LanesOfMatricesComeFirstAndRangesThatAreNoThreadsNotAtAll) {
    GraphScope scope;
    const UOp lane = uop::range(32, 0, Axis::lane), c = column(4), block = uop::range(9, 2, Axis::global),
              one = uop::range(1, 3, Axis::local);
    EXPECT_EQ(order_of({lane, c, block, one}, {{c + lane * 4096 + block, 1}}), (std::vector{0, 1}));
    const UOp outer = uop::range(8, 4, Axis::lane), inner = uop::range(4, 5, Axis::lane);
    EXPECT_EQ(order_of({c, outer, inner}, {{outer + inner * 64 + c * 2, 1}}), (std::vector{5, 4, 1}));
}

TEST(ThreadOrder, ManyRangesTakeNoTime) {
    GraphScope scope;
    std::vector<UOp> ranges;
    UOp offset = index_const(0);
    for (int i = 0; i < 10; ++i) {
        ranges.push_back(uop::range(2, i, Axis::local));
        offset = offset + ranges.back() * (int64_t{1} << i);
    }
    std::vector<int> order = order_of(ranges, {{offset, 1}});
    order.resize(5);  // of a wave
    EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace strata::codegen
