#include <gtest/gtest.h>

#include "random_code.h"
#include "virtual_code.h"

namespace strata::codegen {
namespace {

using namespace test;

using Hoist = EachArch;
INSTANTIATE_TEST_SUITE_P(Arch, Hoist, testing::ValuesIn(isa::first_archs()), arch_name);

size_t in_loops(const MachineFunction& function) {
    size_t count = 0;
    for (const Block& block : function.blocks)
        if (block.depth) count += block.code.size();
    return count;
}

/// How many instructions leave loops, with what is stored staying as it was.
size_t left(MachineFunction& function) { return fewer(function, licm, in_loops); }
size_t left(AddressedCode& kernel) {
    kernel.end();
    return left(kernel.function);
}

TEST_P(Hoist, RandomCodeStoresTheSameWithLessInLoops) {
    size_t all = 0;
    for (unsigned seed = 4000; seed < 4100; ++seed) {
        SCOPED_TRACE(seed);
        RandomCode random(arch(), seed, {.steps = 40 + static_cast<int>(seed % 100) * 5});
        all += left(random.code.function);
        if (HasFailure()) return;
    }
    EXPECT_GT(all, 100u);
}

TEST_P(Hoist, ChainsLeaveAllLoopsThatDoNotChangeThem) {
    AddressedCode k(arch());
    k.loop(3, [&] {
        k.loop(2, [&] {
            const Place once = k.product(k.item, Constant{3}), twice = k.product(once, Constant{5});
            k.store(twice, k.address);
        });
    });
    EXPECT_EQ(left(k), 2u);
}

TEST_P(Hoist, WhatDependsOnTheLoopStays) {
    AddressedCode k(arch());
    const Place sum = k.vector();
    k.copy(sum, Constant{0});
    k.loop(3, [&] {
        k.store(k.product(sum, Constant{3}), k.address);
        k.op("v_add_f32", {sum}, {sum, k.item});
        const Place loaded = k.vector();
        k.op(k.spelled("global_load_b32", "global_load_dword"), {loaded}, {k.address});
        k.store(k.product(loaded, Constant{3}), k.address);
    });
    EXPECT_EQ(left(k), 0u);
}

TEST_P(Hoist, ASumOfTwoDwordsLeavesWholeOrNotAtAll) {
    for (const bool changes : {false, true}) {
        AddressedCode k(arch());
        const bool old = k.function.family != isa::Family::rdna4;
        const Place pair = k.fixed(Bank::scalar, 2, 0), high = k.scalar();
        k.copy(high, Constant{5});
        k.loop(3, [&] {
            const Place to = k.scalar(2), seen = k.vector();
            k.op(old ? "s_add_u32" : "s_add_co_u32", {to.part(0)}, {pair.part(0), Constant{8}});
            k.op(old ? "s_addc_u32" : "s_add_co_ci_u32", {to.part(1)}, {pair.part(1), high});
            k.copy(seen, to.part(1));
            k.store(seen, k.address);
            if (changes) k.op("s_mul_i32", {high}, {high, high});
        });
        EXPECT_EQ(left(k), changes ? 0u : 3u);
    }
}

TEST_P(Hoist, ALoopGivesAwayAFewRegistersAtMost) {
    AddressedCode k(arch());
    k.loop(3, [&] {
        for (int i = 0; i < 100; ++i) k.store(k.product(k.item, Constant{i - 50}), k.address);
    });
    const size_t gone = left(k);
    EXPECT_GT(gone, 8u);
    EXPECT_LT(gone, 40u);
}

}  // namespace
}  // namespace strata::codegen
