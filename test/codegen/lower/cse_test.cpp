#include <gtest/gtest.h>

#include "random_code.h"
#include "virtual_code.h"

namespace strata::codegen {
namespace {

using namespace test;

using Reuse = EachArch;
INSTANTIATE_TEST_SUITE_P(Arch, Reuse, testing::ValuesIn(isa::first_archs()), arch_name);

size_t instructions(const MachineFunction& function) {
    size_t count = 0;
    for (const Block& block : function.blocks) count += block.code.size();
    return count;
}

/// How many instructions go, with what is stored staying as it was.
size_t gone(MachineFunction& function) {
    remove_dead_code(function);
    return fewer(function, cse, instructions);
}
size_t gone(AddressedCode& kernel) {
    kernel.end();
    return gone(kernel.function);
}

TEST_P(Reuse, RandomCodeStoresTheSameWithFewerInstructions) {
    size_t all = 0;
    for (unsigned seed = 3000; seed < 3100; ++seed) {
        SCOPED_TRACE(seed);
        RandomCode random(arch(), seed,
                          {.steps = 40 + static_cast<int>(seed % 100) * 5, .scalars = 3, .vectors = 2, .tuples = 1});
        all += gone(random.code.function);
        if (HasFailure()) return;
    }
    EXPECT_GT(all, 5u);
}

TEST_P(Reuse, ChainsOfEqualComputationsAreOneChain) {
    AddressedCode k(arch());
    for (int i = 0; i < 3; ++i) {
        const Place once = k.product(k.item, Constant{3}), twice = k.product(once, Constant{5});
        k.store(twice, k.address);
    }
    EXPECT_EQ(gone(k), 4u);
}

TEST_P(Reuse, OtherNumbersModifiersAndOrdersAreOtherValues) {
    AddressedCode k(arch());
    const Place a = k.product(k.item, Constant{3});
    for (const Place& p : {a, k.product(k.item, Constant{4}), k.product(k.item, Constant{77777}),
                           k.product(k.item, Constant{77778}), k.product(a, k.item)})
        k.store(p, k.address);
    Place difference[4];
    for (Place& d : difference) d = k.vector();
    k.op("v_sub_f32", {difference[0]}, {a, k.item});
    k.op("v_sub_f32", {difference[1]}, {k.item, a});
    k.op("v_sub_f32", {difference[2]}, {a, k.item}).inst.neg = 1;
    k.op("v_sub_f32", {difference[3]}, {a, k.item}).inst.clamp = true;
    for (Place d : difference) k.store(d, k.address);
    EXPECT_EQ(gone(k), 0u);
}

TEST_P(Reuse, RegistersThatChangeHaveNoValueToReuse) {
    AddressedCode k(arch());
    const Place sum = k.vector();
    k.copy(sum, Constant{0});
    k.store(k.product(sum, Constant{3}), k.address);
    k.op("v_add_f32", {sum}, {sum, k.item});
    k.store(k.product(sum, Constant{3}), k.address);
    EXPECT_EQ(gone(k), 0u);
}

TEST_P(Reuse, SumsOfTwoDwordsAreEqualWhereTheirCarriesAre) {
    AddressedCode k(arch());
    const bool old = k.function.family != isa::Family::rdna4;
    const Place pair = k.fixed(Bank::scalar, 2, 0);
    auto sum = [&](int low) {
        const Place to = k.scalar(2), high = k.vector();
        k.op(old ? "s_add_u32" : "s_add_co_u32", {to.part(0)}, {pair.part(0), Constant{low}});
        k.op(old ? "s_addc_u32" : "s_add_co_ci_u32", {to.part(1)}, {pair.part(1), Constant{0}});
        k.copy(high, to.part(1));
        k.store(high, k.address);
    };
    sum(8), sum(9), sum(8);
    EXPECT_EQ(gone(k), 3u);  // and the copy
}

TEST_P(Reuse, ValuesOfALoopServeBehindItAndInIt) {
    AddressedCode k(arch());
    const Place first = k.product(k.item, Constant{3});
    k.store(first, k.address);
    k.loop(3, [&] {
        k.store(k.product(k.item, Constant{3}), k.address);
        k.store(k.product(first, Constant{5}), k.address);
    });
    k.store(k.product(first, Constant{5}), k.address);
    EXPECT_EQ(gone(k), 2u);
}

TEST_P(Reuse, ValuesOfALoopThatABranchGoesPastServeInItAlone) {
    AddressedCode k(arch());
    const Place none = k.scalar();
    k.copy(none, Constant{0});
    k.op("s_cmp_lt_i32", {}, {none, Constant{1}});
    k.op("s_cbranch_scc1", {}, {});
    const size_t branch = k.function.blocks.size() - 1;
    k.begin_block(0);
    k.loop(3, [&] {
        for (int i = 0; i < 2; ++i) k.store(k.product(k.item, Constant{3}), k.address);
    });
    k.function.blocks[branch].code.back().target = static_cast<uint32_t>(k.function.blocks.size() - 1);
    k.store(k.product(k.item, Constant{3}), k.address);
    EXPECT_EQ(gone(k), 1u);
}

}  // namespace
}  // namespace strata::codegen
