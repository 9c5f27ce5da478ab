// Which ranges nodes depend on, against paths through the graph.
#include "strata/core/uop/scopes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "strata/core/uop/kernel.h"
#include "strata/core/uop/verify.h"

namespace strata {
namespace {

/// By definition: there is a path from the node to the range on which nothing closes it.
bool reaches(UOp u, UOp range, UOpMap<bool>& known) {
    if (u == range) return true;
    if (closes(u, range)) return false;
    if (const auto found = known.find(u); found != known.end()) return found->second;
    return known[u] = std::ranges::any_of(u.src(), [&](UOp s) { return reaches(s, range, known); });
}

/// Sums and reductions over some of eight ranges; the steps of some ranges depend on another one.
UOp random_graph(std::mt19937& random) {
    const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    std::vector<UOp> ranges, values;
    for (int i = 0; i < 8; ++i) {
        const UOp steps = i > 0 && below(3) == 0 ? values[below(values.size())] : UOp();
        ranges.push_back(uop::range(4, 7 - i, Axis::loop, steps));
        values.push_back(ranges.back() + static_cast<int64_t>(below(3)));
    }
    for (int i = 0; i < 24; ++i) {
        const UOp a = values[below(values.size())], b = values[below(values.size())];
        values.push_back(below(3) ? a + b
                                  : make(Op::reduce, dtypes::index, {a, ranges[below(8)]}, ReduceArg{Op::add, {}}));
    }
    UOp all = values[0];
    for (UOp v : values) all = all * v;
    return all;
}

TEST(Scopes, AreWhatPathsThatNothingClosesReach) {
    std::mt19937 random(5);
    for (int turn = 0; turn < 20; ++turn) {
        GraphScope scope;
        const Scopes scopes(random_graph(random));
        ASSERT_EQ(scopes.ranges().size(), 8u);
        ASSERT_TRUE(std::ranges::is_sorted(scopes.ranges(), {}, [](UOp r) { return range_arg(r).id; }));
        for (UOp r : scopes.ranges()) {
            UOpMap<bool> known;
            for (UOp u : scopes.order())
                EXPECT_EQ((scopes.free(u) & scopes.bit(r)) != 0, reaches(u, r, known)) << tree(u) << to_string(r);
        }
    }
}

TEST(Scopes, InsideOfLoopsIsWhatDependsOnARangeBeforeItsEnd) {
    GraphScope scope;
    const UOp step = uop::range(4, 0, Axis::loop), inner = uop::range(3, 1, Axis::loop),
              out = uop::buffer(0, dtypes::float32, 12);
    const UOp value = cast(inner, dtypes::float32), store = uop::store(uop::at(out, step * 3 + inner), value),
              end = uop::end(store, {inner}), later = uop::store(uop::at(uop::after(out, {end}), step), 1);
    const UOpMap<bool> inside = inside_of_loops(toposort(later));  // the body of a loop over step
    for (UOp u : {inner, value, store}) EXPECT_TRUE(inside.contains(u)) << to_string(u);
    for (UOp u : {step, end, later}) EXPECT_FALSE(inside.contains(u)) << to_string(u);
    for (UOp u : {step, store, later}) EXPECT_TRUE(inside_of_loops(toposort(uop::end(later, {step}))).contains(u));
}

TEST(Scopes, AKernelHasAtMostSoManyRanges) {
    for (const size_t count : {kMaxRanges, kMaxRanges + 1}) {
        GraphScope scope;
        std::vector<UOp> ranges;
        UOp place = index_const(0);
        for (size_t i = 0; i < count; ++i) {
            ranges.push_back(uop::range(2, static_cast<int>(i), Axis::loop));
            place = place + ranges.back();
        }
        const UOp out = uop::buffer(0, dtypes::float32, 4096);
        const Result<void> valid = verify_kernel(uop::sink(uop::end(uop::store(uop::at(out, place), 1), ranges)));
        EXPECT_EQ(bool(valid), count == kMaxRanges);
        if (!valid) EXPECT_EQ(valid.error().message, "65 ranges; the most is 64");
    }
}

}  // namespace
}  // namespace strata
