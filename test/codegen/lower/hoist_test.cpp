#include <gtest/gtest.h>

#include "machine_model.h"
#include "random_code.h"
#include "strata/codegen/lower/passes_p.h"

namespace strata::codegen {
namespace {

using namespace test;

class Hoist : public testing::TestWithParam<isa::ArchInfo> {
  protected:
    isa::Arch arch() const { return GetParam().arch; }
};
INSTANTIATE_TEST_SUITE_P(Arch, Hoist, testing::ValuesIn(isa::archs()),
                         [](const auto& info) { return std::string(info.param.name); });

size_t in_loops(const MachineFunction& function) {
    size_t count = 0;
    for (const Block& block : function.blocks)
        if (block.depth) count += block.code.size();
    return count;
}

/// How many instructions leave loops, with what is stored staying as it was.
size_t left(MachineFunction& function) {
    const std::vector<uint64_t> wanted = run_virtual(function);
    EXPECT_FALSE(wanted.empty());
    const std::string before = to_string(function);
    const size_t inside = in_loops(function);
    EXPECT_TRUE(hoist(function));
    EXPECT_EQ(run_virtual(function), wanted) << before << to_string(function);
    return inside - in_loops(function);
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

struct Kernel {
    explicit Kernel(isa::Arch arch) : code(arch) {
        item = code.fixed(Bank::vector, 1, isa::code::vgpr0);
        pair = code.fixed(Bank::scalar, 2, 0);
        address = code.vector(2);
        code.op("v_add_f32", {address.part(0)}, {item, item});
        code.copy(address.part(1), Constant{1});
    }
    Place product(Place a, Argument b) {
        const Place to = code.vector();
        code.op("v_mul_f32", {to}, {b, a});
        return to;
    }
    size_t left() {
        code.end();
        return codegen::left(code.function);
    }
    Code code;
    Place item, pair, address;
};

TEST_P(Hoist, ChainsLeaveAllLoopsThatDoNotChangeThem) {
    Kernel k(arch());
    k.code.loop(3, [&] {
        k.code.loop(2, [&] {
            const Place once = k.product(k.item, Constant{3}), twice = k.product(once, Constant{5});
            k.code.store(twice, k.address);
        });
    });
    EXPECT_EQ(k.left(), 2u);
}

TEST_P(Hoist, WhatDependsOnTheLoopStays) {
    Kernel k(arch());
    const Place sum = k.code.vector();
    k.code.copy(sum, Constant{0});
    k.code.loop(3, [&] {
        k.code.store(k.product(sum, Constant{3}), k.address);
        k.code.op("v_add_f32", {sum}, {sum, k.item});
        const Place loaded = k.code.vector();
        k.code.op(k.code.spelled("global_load_b32", "global_load_dword"), {loaded}, {k.address});
        k.code.store(k.product(loaded, Constant{3}), k.address);
    });
    EXPECT_EQ(k.left(), 0u);
}

TEST_P(Hoist, ASumOfTwoDwordsLeavesWholeOrNotAtAll) {
    for (const bool changes : {false, true}) {
        Kernel k(arch());
        const bool old = k.code.function.family != isa::Family::rdna4;
        const Place high = k.code.scalar();
        k.code.copy(high, Constant{5});
        k.code.loop(3, [&] {
            const Place to = k.code.scalar(2), seen = k.code.vector();
            k.code.op(old ? "s_add_u32" : "s_add_co_u32", {to.part(0)}, {k.pair.part(0), Constant{8}});
            k.code.op(old ? "s_addc_u32" : "s_add_co_ci_u32", {to.part(1)}, {k.pair.part(1), high});
            k.code.copy(seen, to.part(1));
            k.code.store(seen, k.address);
            if (changes) k.code.op("s_mul_i32", {high}, {high, high});
        });
        EXPECT_EQ(k.left(), changes ? 0u : 3u);
    }
}

TEST_P(Hoist, ALoopGivesAwayAFewRegistersAtMost) {
    Kernel k(arch());
    k.code.loop(3, [&] {
        for (int i = 0; i < 100; ++i) k.code.store(k.product(k.item, Constant{i - 50}), k.address);
    });
    const size_t left = k.left();
    EXPECT_GT(left, 8u);
    EXPECT_LT(left, 40u);
}

}  // namespace
}  // namespace strata::codegen
