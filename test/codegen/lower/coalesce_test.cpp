#include <gtest/gtest.h>

#include <algorithm>

#include "machine_model.h"
#include "random_code.h"
#include "strata/codegen/lower/passes_p.h"

namespace strata::codegen {
namespace {

using namespace test;

class Coalesce : public testing::TestWithParam<isa::ArchInfo> {
  protected:
    isa::Arch arch() const { return GetParam().arch; }
};
INSTANTIATE_TEST_SUITE_P(Arch, Coalesce, testing::ValuesIn(isa::archs()),
                         [](const auto& info) { return std::string(info.param.name); });

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

/// Begins with an address in two registers of its own.
Place begin(Code& code) {
    const Place item = code.fixed(Bank::vector, 1, isa::code::vgpr0), address = code.vector(2);
    code.op("v_add_f32", {address.part(0)}, {item, item});
    code.copy(address.part(1), Constant{1});
    return address;
}

TEST_P(Coalesce, ComponentsAreComputedInTheTupleThatIsStored) {
    Code code(arch());
    const Place address = begin(code), tuple = code.vector(4);
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
    Code code(arch());
    const Place address = begin(code), first = code.vector(), sum = code.vector();
    code.op("v_mul_f32", {first}, {address.part(0), address.part(0)});
    code.copy(sum, first);
    code.loop(3, [&] {
        const Place next = code.vector();
        code.op("v_add_f32", {next}, {sum, address.part(0)});
        code.copy(sum, next);
    });
    code.store(sum, address);
    code.end();
    MachineFunction copy = code.function;
    ASSERT_TRUE(coalesce(copy));
    EXPECT_EQ(copies(copy), 0) << to_string(copy);
    expect_same(code.function);
}

TEST_P(Coalesce, ValuesThatLiveOnBesideACopyKeepTheirOwnRegister) {
    Code code(arch());
    const Place address = begin(code), a = code.vector(), b = code.vector();
    code.op("v_mul_f32", {a}, {address.part(0), address.part(0)});
    code.copy(b, a);
    code.op("v_add_f32", {b}, {b, address.part(0)});
    code.store(a, address);
    code.store(b, address);
    code.end();
    MachineFunction copy = code.function;
    ASSERT_TRUE(coalesce(copy));
    EXPECT_EQ(copies(copy), 1);
    expect_same(code.function);
}

TEST_P(Coalesce, TwoNamesOfAValueThatDoesNotChangeAreOneRegister) {
    Code code(arch());
    const Place address = begin(code), a = code.vector(), b = code.vector();
    code.op("v_mul_f32", {a}, {address.part(0), address.part(0)});
    code.copy(b, a);
    code.store(a, address);
    code.store(b, address);
    code.store(a, address);
    code.end();
    MachineFunction copy = code.function;
    ASSERT_TRUE(coalesce(copy));
    EXPECT_EQ(copies(copy), 0);
    expect_same(code.function);
}

}  // namespace
}  // namespace strata::codegen
