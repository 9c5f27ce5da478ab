#include <gtest/gtest.h>

#include <algorithm>

#include "virtual_code.h"

namespace strata::codegen {
namespace {

using namespace test;

using WalkAddresses = EachArch;
INSTANTIATE_TEST_SUITE_P(Arch, WalkAddresses, testing::ValuesIn(isa::first_archs()), arch_name);

enum class Twist { none, unsteady, two_strides, read_besides, lanes_move, another_from_it };

/// A loop that makes the base of its loads from its counter.
struct Walk : AddressedCode {
    Walk(isa::Arch arch, Twist twist, int32_t stride) : AddressedCode(arch) {
        const bool rdna4 = function.family == isa::Family::rdna4;
        const Place pointer = fixed(Bank::scalar, 2, 2), sum = vector(), lanes = vector(), other = scalar();
        copy(sum, Constant{0});
        copy(lanes, item);
        copy(other, Constant{0});
        const Place counter{static_cast<uint32_t>(function.registers.size()), 0, 1};  // the next one
        loop(1000, [&] {
            const Place far = scalar(), more = scalar(), base = scalar(2);
            op("s_lshl_b32", {far}, {counter, Constant{9}});
            op("s_mul_i32", {more}, {far, Constant{3}});
            op(rdna4 ? "s_add_co_u32" : "s_add_u32", {base.part(0)}, {more, pointer.part(0)});
            op(rdna4 ? "s_add_co_ci_u32" : "s_addc_u32", {base.part(1)}, {pointer.part(1), Constant{0}});
            if (twist == Twist::lanes_move) op("v_add_f32", {lanes}, {lanes, lanes});
            for (int i = 0; i < 2; ++i) {
                const Place value = vector();
                Instruction& load = op(spelled("global_load_b32", "global_load_dword"), {value}, {lanes, base});
                load.inst.src[0].type = isa::Type::u32;
                load.stride = twist == Twist::unsteady ? Instruction::kUnsteady : stride;
                if (i && twist == Twist::two_strides) load.stride += 4;
                op("v_add_f32", {sum}, {sum, value});
            }
            if (twist == Twist::another_from_it) {
                const Place next = scalar(2), value = vector();
                op(rdna4 ? "s_add_co_u32" : "s_add_u32", {next.part(0)}, {base.part(0), Constant{64}});
                op(rdna4 ? "s_add_co_ci_u32" : "s_addc_u32", {next.part(1)}, {base.part(1), Constant{0}});
                Instruction& load = op(spelled("global_load_b32", "global_load_dword"), {value}, {lanes, next});
                load.inst.src[0].type = isa::Type::u32;
                load.stride = stride;
                op("v_add_f32", {sum}, {sum, value});
            }
            if (twist == Twist::read_besides) op("s_mov_b32", {other}, {base.part(0)});
        });
        store(sum, address);
        op("v_mov_b32", {sum}, {other});
        store(sum, address);
        end();
    }
    /// The loop's scalar instructions, by their last sources.
    std::vector<std::string> scalars(size_t block) const {
        std::vector<std::string> found;
        for (const Instruction& one : function.blocks[block].code)
            if (one.pseudo == Pseudo::none && one.inst.row->format == isa::Format::SOP2)
                found.push_back(to_string(function, one));
        return found;
    }
};

TEST_P(WalkAddresses, ABaseThatMovesByTheSameIsMadeInFrontAndMoved) {
    for (const int32_t stride : {0x600, 16, -16}) {
        Walk code(arch(), Twist::none, stride);
        const std::vector<std::string> made = code.scalars(1);
        ASSERT_EQ(made.size(), 5u);
        ASSERT_TRUE(strength_reduce(code.function));
        const auto valid = verify(code.function, Check::virtual_);
        ASSERT_TRUE(valid) << valid.error().message;
        EXPECT_EQ(code.scalars(0).size(), 4u) << "what made the base";
        const std::vector<std::string> left = code.scalars(1);
        ASSERT_EQ(left.size(), 3u) << to_string(code.function);
        const std::string by = stride == 0x600 ? ", 0x600" : stride == 16 ? ", 16" : ", -16";
        EXPECT_TRUE(left[0].ends_with(by)) << left[0];
        EXPECT_TRUE(left[1].ends_with(stride < 0 ? ", -1" : ", 0")) << left[1];
        EXPECT_EQ(left[2], made[4]) << "the counter's step";
    }
}

TEST_P(WalkAddresses, ABaseThatAnotherOneIsMadeOfIsMovedWithIt) {
    Walk code(arch(), Twist::another_from_it, 0x600);
    ASSERT_EQ(code.scalars(1).size(), 7u);
    ASSERT_TRUE(strength_reduce(code.function));
    const auto valid = verify(code.function, Check::virtual_);
    ASSERT_TRUE(valid) << valid.error().message;
    EXPECT_EQ(code.scalars(0).size(), 6u) << "what made the bases";
    const std::vector<std::string> left = code.scalars(1);
    ASSERT_EQ(left.size(), 5u) << to_string(code.function);
    for (size_t i = 0; i < 4; i += 2) EXPECT_TRUE(left[i].ends_with(", 0x600")) << left[i];
}

TEST_P(WalkAddresses, WhatElseThanItsAddressMovesKeepsItsBase) {
    for (const Twist twist : {Twist::unsteady, Twist::two_strides, Twist::read_besides, Twist::lanes_move}) {
        Walk code(arch(), twist, 16);
        expect_same(code.function, strength_reduce);
        EXPECT_EQ(code.scalars(1).size(), 5u) << static_cast<int>(twist);
    }
}

}  // namespace
}  // namespace strata::codegen
