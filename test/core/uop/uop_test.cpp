#include "strata/core/uop/uop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>
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

TEST(UOp, ReductionsStartFromWhatChangesNoNumberOfTheirType) {
    for (const DType type : all_dtypes()) {
        if (!type.is_float()) continue;
        const double lowest = identity(Op::max, type).as<ConstArg>().f,
                     highest = identity(Op::min, type).as<ConstArg>().f;
        const bool has_infinity = std::isinf(round_to(type, std::numeric_limits<double>::infinity()));
        EXPECT_EQ(std::isinf(lowest), has_infinity) << type.name();
        for (uint64_t code = 0; code < (uint64_t{1} << std::min(type.bits(), 16)); ++code) {
            const double x = decode_scalar(type, code << (type.bits() - std::min(type.bits(), 16)));
            if (!std::isnan(x)) ASSERT_TRUE(lowest <= x && x <= highest) << type.name() << " " << x;
        }
    }
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
    on_free([](UOp) { told++; });
    EXPECT_EQ(sweep(), 3u);
    on_free(nullptr);
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

TEST(Sweep, KnowsHowManyNodesUseANode) {
    sweep();
    Root x(axis(520)), sum(x.get() + axis(521));
    const uint32_t one = x.get().node()->users;
    EXPECT_EQ(one, 1u);
    x.get() * axis(522);
    x.get() * axis(522);
    EXPECT_EQ(x.get().node()->users, 2u) << "equal nodes are one";
    sweep();
    EXPECT_EQ(x.get().node()->users, 1u);
    sum = Root();
    sweep();
    EXPECT_EQ(x.get().node()->users, 0u);
    x = Root();
    sweep();
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

TEST(Sweep, ComesByItselfWhereManyNodesWereMade) {
    sweep();
    const size_t before = collections(), live = live_nodes();
    Root kept(axis(0));
    size_t most = 0;
    for (int step = 0; step < 50'000; ++step) {
        GraphScope building;
        kept = Root(axis(0) + constant_int(dtypes::index, step));
        most = std::max(most, live_nodes());
    }
    EXPECT_GT(collections(), before + 5);
    EXPECT_LT(most, live + 10'000) << "100,000 were made";
    EXPECT_EQ(kept.get(), axis(0) + constant_int(dtypes::index, 49'999));
}

TEST(Sweep, LeavesTheLastGraphScopeAsItFoundIt) {
    GraphScope outer;
    const size_t before = collections();
    UOp x = axis(0);
    for (int step = 0; step < 50'000; ++step) {
        GraphScope inner;
        x = x + constant_int(dtypes::index, step % 7);
    }
    EXPECT_EQ(collections(), before) << "a thread uses nodes that no root reaches";
    EXPECT_GT(toposort(x).size(), 50'000u);
}

TEST(Sweep, FreesWhatLivedLongWithTheLastThatUsedIt) {
    sweep();
    const size_t before = live_nodes();
    Root user;
    {
        Root old(axis(605) + axis(606));
        for (int i = 0; i < 5; ++i) EXPECT_EQ(sweep(), 0u);
        user = Root(old.get() * axis(607));
    }
    EXPECT_EQ(sweep(), 0u) << "the product uses the sum";
    const Root again(user.get().src(0));
    user = Root();
    EXPECT_EQ(sweep(), 2u) << "the product and its range";
    EXPECT_EQ(again.get(), axis(605) + axis(606));
    EXPECT_EQ(live_nodes(), before + 3);
}

TEST(Sweep, FreesANodeThatWasRootedAndLetGoOfManyTimes) {
    sweep();
    const size_t before = live_nodes();
    for (int round = 0; round < 3; ++round) {
        Root x(axis(608) + axis(609));
        for (int i = 0; i < 5; ++i) {
            Root copy = x;
            x = Root(axis(608));
            EXPECT_EQ(sweep(), 0u);
            x = copy;
        }
    }
    EXPECT_EQ(live_nodes(), before + 3);
    EXPECT_EQ(sweep(), 3u);
    EXPECT_EQ(sweep(), 0u);
}

TEST(Sweep, TakesATimeThatDoesNotGrowWithWhatLives) {
    sweep();
    auto seconds = [] {
        double best = 1;
        for (int round = 0; round < 20; ++round) {
            Root x(axis(613) + axis(614));
            x = Root();
            const auto start = std::chrono::steady_clock::now();
            sweep();
            best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
        }
        return best;
    };
    const double with_few = seconds();
    Root many(axis(0));
    for (int i = 0; i < 200'000; ++i) many = Root(many.get() + constant_int(dtypes::index, i));
    sweep();
    EXPECT_LT(seconds(), 20 * with_few + 20e-6);  // a look at 400,000 nodes takes milliseconds
    many = Root();
    EXPECT_GE(sweep(), 400'000u) << "without a stack as deep as the graph";
}

TEST(Sweep, FreesWhatIsLetGoOfWhileItFrees) {
    sweep();
    static Root held;
    static UOp first;
    first = axis(610);
    held = Root(axis(611) + axis(612));
    on_free([](UOp u) {
        if (u == first) held = Root();
    });
    EXPECT_EQ(sweep(), 4u);
    on_free(nullptr);
}

TEST(Sweep, FreesAllThatNoRootReachesAndNothingElse) {
    std::mt19937 random(11);
    sweep();
    std::vector<Root> roots(20);
    for (int step = 0; step < 3000; ++step) {
        Root& at = roots[random() % roots.size()];
        UOp x = roots[random() % roots.size()].get();
        if (!x) x = axis(static_cast<int>(random() % 50));
        UOp y = x + constant_int(dtypes::index, static_cast<int64_t>(random() % 1000));
        if (random() % 3 == 0) at = Root(y);
        if (random() % 5 == 0) at = Root();
        if (random() % 10 == 0) sweep();
        for (const Root& root : roots)
            if (root.get()) ASSERT_LE(toposort(root.get()).size(), live_nodes());
    }
    size_t reached = 0;
    sweep();
    UOpMap<bool> seen;
    for (const Root& root : roots)
        if (root.get())
            for (UOp u : toposort(root.get())) reached += seen.emplace(u, true).second;
    const size_t live = live_nodes();
    roots.clear();
    EXPECT_EQ(sweep(), reached) << live;
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

TEST(Sweep, RunsBesideThreadsThatLetGo) {
    sweep();
    const size_t before = live_nodes();
    std::vector<std::thread> threads;
    std::atomic<bool> stop = false;
    std::thread sweeper([&] {
        while (!stop) sweep();
    });
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([] {
            for (int step = 0; step < 5000; ++step) {
                Root sum, part;
                {
                    GraphScope scope;  // threads share these nodes
                    sum = Root(axis(620 + step % 3) + axis(625));
                    part = Root(sum.get().src(0));
                }
                Root copy = sum;
                sum = Root();
                ASSERT_EQ(copy.get().src(0), part.get());
                copy = Root();
            }
        });
    for (std::thread& t : threads) t.join();
    stop = true;
    sweeper.join();
    sweep();
    EXPECT_EQ(live_nodes(), before);
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
