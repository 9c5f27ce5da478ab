#include "strata/core/uop/uop.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>
#include <unordered_set>

namespace strata {
namespace {

UOp axis(int id, int64_t size = 16) { return make(Op::range, dtypes::index, {}, RangeArg{id, size, Axis::loop}); }

TEST(UOp, EqualNodesAreOne) {
    EXPECT_EQ(axis(0) + axis(1) * 3, axis(0) + axis(1) * 3);
    EXPECT_NE(axis(0) + axis(1), axis(1) + axis(0));
    EXPECT_NE(axis(0, 16), axis(0, 17));
    EXPECT_EQ(constant(dtypes::float32, 0.1), constant(dtypes::float32, static_cast<double>(0.1f)));
    EXPECT_NE(constant(dtypes::float32, 0.0), constant(dtypes::float32, -0.0));
    EXPECT_EQ(constant(dtypes::float32, std::nan("")), constant(dtypes::float32, std::nan("")));
    EXPECT_NE(constant_int(dtypes::int32, 1), constant_int(dtypes::int64, 1));
    EXPECT_EQ(constant_int(dtypes::int8, 257), constant_int(dtypes::int8, 1));
    EXPECT_EQ(make(Op::sink, dtypes::none, {}, SinkArg{"name"}), make(Op::sink, dtypes::none, {}, SinkArg{"name"}));
    EXPECT_NE(make(Op::sink, dtypes::none, {}, SinkArg{"name"}), make(Op::sink, dtypes::none, {}, SinkArg{"other"}));
}

TEST(UOp, WithSrcKeepsTheNodeWhenNothingChanged) {
    UOp sum = axis(0) + axis(1);
    EXPECT_EQ(sum.with_src(sum.src()), sum);
    std::vector<UOp> other{axis(1), axis(0)};
    EXPECT_EQ(sum.with_src(other), axis(1) + axis(0));
}

TEST(UOp, IllTypedNodesAreRefused) {
    EXPECT_THROW(axis(0) + constant_int(dtypes::int32, 1), Exception);
    EXPECT_THROW(make(Op::add, dtypes::index, {axis(0)}), Exception);
    EXPECT_THROW(make(Op::cmplt, dtypes::index, {axis(0), axis(1)}), Exception);
    EXPECT_THROW(make(Op::neg, dtypes::index, {UOp()}), Exception);
}

TEST(UOp, ThreadsBuildTheSameNodesAtOnce) {
    constexpr int kThreads = 8, kNodes = 20'000;
    GraphScope scope;
    std::vector<std::vector<UOp>> built(kThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] {
            GraphScope inner;
            UOp x = axis(0);
            for (int i = 0; i < kNodes; ++i) {
                x = i % 3 ? x + axis(i % 97) : x * (i % 31 + 2);
                built[static_cast<size_t>(t)].push_back(x);
            }
        });
    for (std::thread& t : threads) t.join();
    for (const auto& nodes : built) ASSERT_EQ(nodes, built[0]);
    std::unordered_set<UOp, UOpHash> distinct(built[0].begin(), built[0].end());
    EXPECT_EQ(distinct.size(), static_cast<size_t>(kNodes));
}

TEST(Sweep, FreesWhatNoRootReaches) {
    sweep();
    const size_t before = live_nodes();
    UOp kept = axis(500) + axis(501);
    axis(502) * axis(503);
    Root root(kept);
    EXPECT_EQ(live_nodes(), before + 6);
    static int told;
    told = 0;
    EXPECT_EQ(sweep([](UOp) { told++; }), 3u);
    EXPECT_EQ(told, 3);
    EXPECT_EQ(live_nodes(), before + 3);
    EXPECT_EQ(root.get(), axis(500) + axis(501));
    Root copy = root;
    root = Root();
    EXPECT_EQ(sweep(), 0u);
    copy = Root();
    EXPECT_EQ(sweep(), 3u);
    EXPECT_EQ(live_nodes(), before);
}

TEST(Sweep, WaitsForEveryGraphScope) {
    sweep();
    UOp x = axis(510);
    {
        GraphScope scope;
        EXPECT_EQ(sweep(), 0u);
    }
    std::thread([&] {
        GraphScope scope;
        std::thread([] { EXPECT_EQ(sweep(), 0u); }).join();
    }).join();
    EXPECT_EQ(axis(510), x);
    EXPECT_EQ(sweep(), 1u);
}

TEST(Sweep, MemoryStaysFlatOverManySteps) {
    sweep();
    Root state(axis(0));
    size_t after_first = 0;
    for (int step = 0; step < 2000; ++step) {
        UOp x = state.get();
        for (int i = 0; i < 20; ++i) x = (x + axis(step % 7)) * (i + 1);
        state = Root(axis(step % 5) + constant_int(dtypes::index, step));
        sweep();
        if (step == 0) after_first = live_nodes();
        ASSERT_LE(live_nodes(), after_first + 1);
    }
    state = Root();
    sweep();
}

TEST(Sweep, RunsBesideThreadsThatBuild) {
    std::vector<std::thread> threads;
    std::atomic<bool> stop = false;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([t] {
            for (int step = 0; step < 300; ++step) {
                GraphScope scope;
                UOp x = axis(t);
                for (int i = 0; i < 50; ++i) x = x + axis(i);
                ASSERT_EQ(toposort(x).back(), x);
            }
        });
    std::thread sweeper([&] {
        while (!stop) sweep();
    });
    for (std::thread& t : threads) t.join();
    stop = true;
    sweeper.join();
    sweep();
}

TEST(Toposort, ListsSourcesFirstAndEachNodeOnce) {
    UOp x = axis(0);
    for (int level = 0; level < 60; ++level) x = x + x;
    std::vector<UOp> order = toposort(x);
    EXPECT_EQ(order.size(), 61u);
    EXPECT_EQ(order.front(), axis(0));
    EXPECT_EQ(order.back(), x);
}

TEST(Substitute, RebuildsWhatUsesTheReplaced) {
    UOp e = (axis(0) + axis(1)) * axis(0);
    EXPECT_EQ(substitute(e, {{axis(0), axis(2)}}), (axis(2) + axis(1)) * axis(2));
    EXPECT_EQ(substitute(e, {{axis(5), axis(2)}}), e);
}

}  // namespace
}  // namespace strata
