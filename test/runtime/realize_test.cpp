#include "strata/runtime/realize.h"

#include <thread>

#include "helpers.h"

namespace strata::runtime {
namespace {

using namespace test;

Root rooted(UOp u) { return Root(u); }

TEST_F(Runtime, RealizeComputesAGraph) {
    Root x = on_device(counting(12));
    Root root;
    {
        GraphScope scope;
        root = rooted(sum(reshape(x.get(), {3, 4}) * number(2), {1}));
    }
    Root got = realized(root.get());
    EXPECT_EQ(got.get().shape(), (Shape{3, 1}));
    EXPECT_EQ(values(got), (std::vector<float>{12, 44, 76}));
    Stats s = stats();
    EXPECT_EQ(s.kernels, 1u);
    ASSERT_EQ(s.launches.size(), 1u);
    EXPECT_EQ(s.launches[0].name, "r_3_4");
    EXPECT_EQ(s.bytes, 4u * (12 + 3));
    EXPECT_EQ(s.flops, 24u);
    EXPECT_TRUE(s.modelled);
    EXPECT_GT(s.time_ms, 0);
}

TEST_F(Runtime, SharedWorkIsDoneOnce) {
    Root x = on_device(counting(12));
    std::vector<Root> roots;
    {
        GraphScope scope;
        UOp total = sum(x.get(), {0});
        for (double k : {1, 2}) roots.push_back(rooted(total * number(k)));
    }
    std::vector<Root> got = realize(std::vector<UOp>{roots[0].get(), roots[1].get()});
    EXPECT_EQ(values(got[0])[0], 66);
    EXPECT_EQ(values(got[1])[0], 132);
    EXPECT_EQ(stats().kernels, 1u);
}

TEST_F(Runtime, WhatWasComputedIsNotComputedAgain) {
    Root x = on_device(counting(12)), root;
    {
        GraphScope scope;
        root = rooted(x.get() + number(1));
    }
    Root first = realized(root.get()), second = realized(root.get());
    EXPECT_EQ(first.get(), second.get());
    EXPECT_EQ(stats().kernels, 1u);
    Root larger;
    {
        GraphScope scope;
        larger = rooted(root.get() * number(10));
    }
    EXPECT_EQ(values(realized(larger.get()))[3], 40);
    EXPECT_EQ(stats().kernels, 2u) << "the sum was read from memory";
}

TEST_F(Runtime, AValueIsForgottenWithTheGraphsThatNameIt) {
    Root x = on_device(counting(12));
    std::weak_ptr<Buffer> memory;
    size_t nodes = live_nodes();
    for (uint64_t round = 1; round <= 3; ++round) {
        {
            Root root;
            {
                GraphScope scope;
                root = rooted(x.get() + number(1));
            }
            Root got = realized(root.get());
            memory = find_buffer(buffer_under(got.get()));
            EXPECT_EQ(stats().kernels, round) << "nothing is left of the round before";
        }
        EXPECT_FALSE(memory.expired());
        collect();
        EXPECT_TRUE(memory.expired());
        if (round == 1) nodes = live_nodes();  // with the compiled kernel, which is kept
    }
    EXPECT_EQ(live_nodes(), nodes);
}

TEST_F(Runtime, RootsThatNeedNoKernelAreViews) {
    Root x = on_device(counting(12)), turned, nothing;
    {
        GraphScope scope;
        turned = rooted(permute(reshape(x.get(), {3, 4}), {1, 0}));
        nothing = rooted(shrink(x.get(), {{2, 2}}) + number(1));
    }
    EXPECT_EQ(realized(x.get()).get(), x.get());
    EXPECT_EQ(realized(turned.get()).get(), turned.get());
    EXPECT_EQ(realized(nothing.get()).get().shape(), Shape{0});
    EXPECT_EQ(stats().kernels, 0u);
}

TEST_F(Runtime, ConstantsGoToTheFallbackDevice) {
    Root three, counted;
    {
        GraphScope scope;
        three = rooted(expand(reshape(number(3), {1}), {5}));
        counted = rooted(iota(5));
    }
    Device& other = device("emu:gfx1100");
    std::vector<Root> got = realize(std::vector<UOp>{three.get(), counted.get()}, &other);
    EXPECT_EQ(values(got[0]), std::vector<float>(5, 3));
    EXPECT_EQ(values<int32_t>(got[1]), (std::vector<int32_t>{0, 1, 2, 3, 4}));
    EXPECT_EQ(&find_buffer(buffer_under(got[0].get()))->device(), &other);
}

TEST_F(Runtime, ANodeThatReadsNoMemoryHasAValueOnEachDevice) {
    Root counted, sum;
    Device &a = device("emu:gfx1100"), &b = device("emu:gfx942");
    Root on_b(new_buffer(b, dtypes::int32, 5));
    const std::vector<int32_t> tens(5, 10);
    find_buffer(on_b.get())->copy_in(tens.data(), 20);
    {
        GraphScope scope;
        counted = rooted(iota(5) + iota(5));
        sum = rooted(counted.get() + on_b.get());
    }
    std::vector<Root> kept;
    for (Device* on : {&a, &b, &a}) {
        kept.push_back(realize(std::vector<UOp>{counted.get()}, on)[0]);
        EXPECT_EQ(&find_buffer(buffer_under(kept.back().get()))->device(), on);
        EXPECT_EQ(values<int32_t>(kept.back()), (std::vector<int32_t>{0, 2, 4, 6, 8}));
    }
    EXPECT_EQ(kept[0].get(), kept[2].get()) << "it is not computed again";
    EXPECT_EQ(values<int32_t>(realized(sum.get())), (std::vector<int32_t>{10, 12, 14, 16, 18}));
}

TEST_F(Runtime, ALargeReductionIsExactInItsStagesWhichAreOneKernel) {
    std::vector<int32_t> host(1 << 17);
    int64_t total = 0;
    for (size_t i = 0; i < host.size(); ++i) total += host[i] = static_cast<int32_t>(i % 1009) - 400;
    Root x = on_device(host, dtypes::int32), root;
    {
        GraphScope scope;
        root = rooted(sum(x.get(), {0}));
    }
    EXPECT_EQ(values<int32_t>(realized(root.get()))[0], static_cast<int32_t>(total));
    EXPECT_EQ(stats().kernels, 1u);
}

TEST_F(Runtime, ThreadsRealizeAtOnce) {
    std::vector<Root> inputs;
    for (int t = 0; t < 4; ++t) inputs.push_back(on_device(counting(64, static_cast<float>(t))));
    std::vector<std::thread> threads;
    std::array<float, 4> got{};
    Settings s = settings();
    for (size_t t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            ScopedSettings scope(s);
            for (int round = 0; round < 10; ++round) {
                Root root;
                {
                    GraphScope building;
                    root = rooted(inputs[t].get() * number(2) + number(round % 2));
                }
                got[t] += values(realized(root.get()))[5];
            }
        });
    for (std::thread& t : threads) t.join();
    for (size_t t = 0; t < 4; ++t) EXPECT_EQ(got[t], 10 * 2 * static_cast<float>(t + 5) + 5);
}

}  // namespace
}  // namespace strata::runtime
