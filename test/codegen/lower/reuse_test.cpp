#include <gtest/gtest.h>

#include "machine_model.h"
#include "random_code.h"
#include "strata/codegen/lower/passes_p.h"

namespace strata::codegen {
namespace {

using namespace test;

class Reuse : public testing::TestWithParam<isa::ArchInfo> {
  protected:
    isa::Arch arch() const { return GetParam().arch; }
};
INSTANTIATE_TEST_SUITE_P(Arch, Reuse, testing::ValuesIn(isa::archs()),
                         [](const auto& info) { return std::string(info.param.name); });

size_t instructions(const MachineFunction& function) {
    size_t count = 0;
    for (const Block& block : function.blocks) count += block.code.size();
    return count;
}

/// How many instructions go, with what is stored staying as it was.
size_t gone(MachineFunction& function) {
    remove_unused(function);
    const std::vector<uint64_t> wanted = run_virtual(function);
    EXPECT_FALSE(wanted.empty());
    const std::string before = to_string(function);
    const size_t count = instructions(function);
    EXPECT_TRUE(reuse(function));
    EXPECT_EQ(run_virtual(function), wanted) << before << to_string(function);
    EXPECT_LE(instructions(function), count);
    return count - instructions(function);
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
    size_t gone() {
        code.end();
        return codegen::gone(code.function);
    }
    Code code;
    Place item, pair, address;
};

TEST_P(Reuse, ChainsOfEqualComputationsAreOneChain) {
    Kernel k(arch());
    for (int i = 0; i < 3; ++i) {
        const Place once = k.product(k.item, Constant{3}), twice = k.product(once, Constant{5});
        k.code.store(twice, k.address);
    }
    EXPECT_EQ(k.gone(), 4u);
}

TEST_P(Reuse, OtherNumbersModifiersAndOrdersAreOtherValues) {
    Kernel k(arch());
    const Place a = k.product(k.item, Constant{3});
    for (const Place& p : {a, k.product(k.item, Constant{4}), k.product(k.item, Constant{77777}),
                           k.product(k.item, Constant{77778}), k.product(a, k.item)})
        k.code.store(p, k.address);
    Place difference[4];
    for (Place& d : difference) d = k.code.vector();
    k.code.op("v_sub_f32", {difference[0]}, {a, k.item});
    k.code.op("v_sub_f32", {difference[1]}, {k.item, a});
    k.code.op("v_sub_f32", {difference[2]}, {a, k.item}).inst.neg = 1;
    k.code.op("v_sub_f32", {difference[3]}, {a, k.item}).inst.clamp = true;
    for (Place d : difference) k.code.store(d, k.address);
    EXPECT_EQ(k.gone(), 0u);
}

TEST_P(Reuse, RegistersThatChangeHaveNoValueToReuse) {
    Kernel k(arch());
    const Place sum = k.code.vector();
    k.code.copy(sum, Constant{0});
    k.code.store(k.product(sum, Constant{3}), k.address);
    k.code.op("v_add_f32", {sum}, {sum, k.item});
    k.code.store(k.product(sum, Constant{3}), k.address);
    EXPECT_EQ(k.gone(), 0u);
}

TEST_P(Reuse, SumsOfTwoDwordsAreEqualWhereTheirCarriesAre) {
    Kernel k(arch());
    const bool old = k.code.function.family != isa::Family::rdna4;
    auto sum = [&](int low) {
        const Place to = k.code.scalar(2), high = k.code.vector();
        k.code.op(old ? "s_add_u32" : "s_add_co_u32", {to.part(0)}, {k.pair.part(0), Constant{low}});
        k.code.op(old ? "s_addc_u32" : "s_add_co_ci_u32", {to.part(1)}, {k.pair.part(1), Constant{0}});
        k.code.copy(high, to.part(1));
        k.code.store(high, k.address);
    };
    sum(8), sum(9), sum(8);
    EXPECT_EQ(k.gone(), 3u);  // and the copy
}

TEST_P(Reuse, ValuesOfALoopServeBehindItAndInIt) {
    Kernel k(arch());
    const Place first = k.product(k.item, Constant{3});
    k.code.store(first, k.address);
    k.code.loop(3, [&] {
        k.code.store(k.product(k.item, Constant{3}), k.address);
        k.code.store(k.product(first, Constant{5}), k.address);
    });
    k.code.store(k.product(first, Constant{5}), k.address);
    EXPECT_EQ(k.gone(), 2u);
}

}  // namespace
}  // namespace strata::codegen
