#include "strata/core/uop/walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "strata/core/uop/kernel.h"

namespace strata {
namespace {

UOp number(int64_t value) { return index_const(value); }

TEST(Rebuild, GivesEachNodeItsNewSourcesOnce) {
    UOp r = uop::range(8, 0, Axis::loop), twice = r + r, sum = twice * twice + number(1);
    std::vector<UOp> seen;
    UOp out = rebuild(sum, [&](UOp u, std::vector<UOp>& sources) {
        seen.push_back(u);
        return u.is_const() ? number(5) : u.with_src(sources);
    });
    EXPECT_EQ(out, twice * twice + number(5));
    EXPECT_EQ(seen, toposort(sum));
    EXPECT_EQ(rebuild(sum, [](UOp u, std::span<const UOp> sources) { return u.with_src(sources); }), sum);
}

/// Sources before users, by the definition: a node is listed when all its sources are.
std::vector<UOp> listed_by_recursion(UOp root) {
    std::vector<UOp> order;
    const auto list = [&](const auto& self, UOp u) -> void {
        if (std::ranges::find(order, u) != order.end()) return;
        for (UOp s : u.src()) self(self, s);
        order.push_back(u);
    };
    list(list, root);
    return order;
}

TEST(Toposort, ListsSourcesFirstWhateverWasWalkedBefore) {
    UOp deep = number(0);
    for (int64_t i = 1; i < 70000; ++i) deep = make(Op::add, dtypes::index, {deep, number(i * 1000003)});
    const UOp r = uop::range(8, 0, Axis::loop), small = (r + 1) * (r + 1) + r % 3;
    const std::vector<UOp> order = listed_by_recursion(small);
    for (int round = 0; round < 3; ++round) {
        EXPECT_EQ(toposort(small), order);
        EXPECT_EQ(toposort(deep).size(), 2u * 70000 - 1);
    }
    std::thread([&] { EXPECT_EQ(toposort(small), order); }).join();
}

TEST(Toposort, StopsWhereItIsToldThoughTellingWalksToo) {
    const UOp r = uop::range(8, 0, Axis::loop), below = r % 3, sum = below * below + r / 2;
    const std::vector<UOp> order = toposort(sum, [](UOp u) { return u.is(Op::mod) && toposort(u).size() == 3; });
    EXPECT_EQ(std::ranges::count(order, below), 1);
    EXPECT_EQ(std::ranges::count(order, number(3)), 0);
    EXPECT_EQ(std::ranges::count(order, r), 1);
    EXPECT_EQ(order.back(), sum);
}

TEST(Rebuild, SaysWhatBecameOfNodesBelow) {
    UOp r = uop::range(8, 0, Axis::loop), sum = (r + 1) * 2;
    UOpMap<UOp> rebuilt;
    UOp out = rebuild(toposort(sum), rebuilt, [&](UOp u, std::span<const UOp> sources) {
        return u.is(Op::mul) ? rebuilt.at(r) : u.is(Op::range) ? number(3) : u.with_src(sources);
    });
    EXPECT_EQ(out, number(3));
    EXPECT_EQ(rebuilt.at(r + 1), number(3) + 1);
}

TEST(Views, EndAtTheBufferAndPaddingIsNone) {
    UOp x = make(Op::buffer, dtypes::float32, {}, BufferArg{1, 12, 0});
    UOp rows = make(Op::reshape, dtypes::float32, {x}, ShapeArg{{3, 4}});
    UOp padded = make(Op::pad, dtypes::float32, {rows}, BoundsArg{{{0, 0}, {1, 0}}});
    UOp flipped = make(Op::flip, dtypes::float32, {padded}, AxesArg{{0}});
    EXPECT_EQ(below_views(rows), x);
    EXPECT_EQ(below_views(flipped), padded);
    EXPECT_EQ(buffer_under(flipped), x);
    EXPECT_THROW(buffer_under(rows + rows), Exception);
}

TEST(Ranges, AreListedById) {
    UOp a = uop::range(8, 2, Axis::loop), b = uop::range(4, 1, Axis::reduce);
    EXPECT_EQ(ranges(a + b), (std::vector<UOp>{b, a}));
    EXPECT_TRUE(closes_ranges(uop::end(uop::store(uop::at(uop::buffer(0, dtypes::index, 8), a), a), {a})));
}

TEST(Builders, PredicatesGiveLoadsAnotherValueAndNothingIsLeftOutForNothing) {
    UOp memory = uop::buffer(0, dtypes::float32, 8), r = uop::range(8, 0, Axis::loop);
    EXPECT_EQ(uop::load(uop::at(memory, r)).src().size(), 1u);
    EXPECT_EQ(uop::load(uop::at(memory, r, r < 4)).src(1), constant(dtypes::float32, 0));
    UOp store = uop::store(uop::at(memory, r), 1.0);
    EXPECT_EQ(uop::end(store, {}), store);
    EXPECT_EQ(uop::group(std::array{store}), store);
    EXPECT_EQ(uop::both(UOp(), r < 4), r < 4);
}

}  // namespace
}  // namespace strata
