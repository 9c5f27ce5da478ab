#include <gtest/gtest.h>

#include <algorithm>

#include "random_code.h"
#include "virtual_code.h"

namespace strata::codegen {
namespace {

using namespace test;

using Coalesce = EachArch;
INSTANTIATE_TEST_SUITE_P(Arch, Coalesce, testing::ValuesIn(isa::first_archs()), arch_name);

int copies(const MachineFunction& function) {
    int count = 0;
    for (const Block& block : function.blocks)
        for (const Instruction& instruction : block.code)
            count += instruction.pseudo == Pseudo::copy && instruction.src[0];
    return count;
}

void expect_same(MachineFunction& function) {
    const std::vector<uint64_t> wanted = run_virtual(function);
    ASSERT_FALSE(wanted.empty());
    const std::string before = to_string(function);
    ASSERT_TRUE(coalesce(function));
    ASSERT_EQ(run_virtual(function), wanted) << before << to_string(function);
    ASSERT_TRUE(allocate(function));
    ASSERT_EQ(run_placed(function), wanted) << before << to_string(function);
}

/// How many copies stay, with what is stored staying as it was.
int copies_left(Code& code) {
    code.end();
    MachineFunction copy = code.function;
    EXPECT_TRUE(coalesce(copy));
    expect_same(code.function);
    return copies(copy);
}

TEST_P(Coalesce, RandomCodeComputesTheSameWithFewerCopies) {
    int before = 0, after = 0;
    for (unsigned seed = 1000; seed < 1060; ++seed) {
        RandomCode random(arch(), seed, {.steps = 40 + static_cast<int>(seed % 100) * 5});
        SCOPED_TRACE(seed);
        before += copies(random.code.function);
        ASSERT_TRUE(coalesce(random.code.function));
        after += copies(random.code.function);
        RandomCode again(arch(), seed, {.steps = 40 + static_cast<int>(seed % 100) * 5});
        expect_same(again.code.function);
        if (HasFatalFailure()) return;
    }
    EXPECT_LT(after, before);
}

TEST_P(Coalesce, ComponentsAreComputedInTheTupleThatIsStored) {
    AddressedCode code(arch());
    const Place address = code.address, tuple = code.vector(4);
    for (int i = 0; i < 4; ++i) {
        const Place component = code.vector();
        code.op("v_mul_f32", {component}, {address.part(0), address.part(0)});
        code.copy(tuple.part(i), component);
    }
    code.store(tuple, address);
    code.end();
    expect_same(code.function);
    EXPECT_TRUE(std::ranges::none_of(code.here(), [](const Instruction& instruction) {
        return instruction.inst.row->mnemonic == "v_mov_b32" && instruction.src[0];
    }));
}

TEST_P(Coalesce, LoopCarriedValuesAreOneRegister) {
    AddressedCode code(arch());
    const Place address = code.address, first = code.vector(), sum = code.vector();
    code.op("v_mul_f32", {first}, {address.part(0), address.part(0)});
    code.copy(sum, first);
    code.loop(3, [&] {
        const Place next = code.vector();
        code.op("v_add_f32", {next}, {sum, address.part(0)});
        code.copy(sum, next);
    });
    code.store(sum, address);
    EXPECT_EQ(copies_left(code), 0);
}

TEST_P(Coalesce, ValuesThatLiveOnBesideACopyKeepTheirOwnRegister) {
    AddressedCode code(arch());
    const Place address = code.address, a = code.vector(), b = code.vector();
    code.op("v_mul_f32", {a}, {address.part(0), address.part(0)});
    code.copy(b, a);
    code.op("v_add_f32", {b}, {b, address.part(0)});
    code.store(a, address);
    code.store(b, address);
    EXPECT_EQ(copies_left(code), 1);
}

TEST_P(Coalesce, TwoNamesOfAValueThatDoesNotChangeAreOneRegister) {
    AddressedCode code(arch());
    const Place address = code.address, a = code.vector(), b = code.vector();
    code.op("v_mul_f32", {a}, {address.part(0), address.part(0)});
    code.copy(b, a);
    code.store(a, address);
    code.store(b, address);
    code.store(a, address);
    EXPECT_EQ(copies_left(code), 0);
}

}  // namespace
}  // namespace strata::codegen
