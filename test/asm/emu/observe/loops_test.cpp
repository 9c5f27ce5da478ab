#include "strata/asm/emu/observe/loops.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "strata/asm/llvm/assemble.h"

namespace strata::emu {
namespace {

/// The loops of a text, whose ops are its instructions one by one.
Loops of(const std::string& text) {
    const std::vector<uint32_t> words = isa::assemble_instructions(text, isa::Arch::gfx1100).value();
    Program program(isa::Arch::gfx1100, 32, 1, 0,
                    std::span(reinterpret_cast<const uint8_t*>(words.data()), words.size() * 4), 0x10000);
    EXPECT_TRUE(program.entry(0));
    return loops_of(*program.chunks().at(0));
}

TEST(Loops, StraightCodeHasNone) {
    const Loops loops = of("s_mov_b32 s0, 3\ns_add_u32 s0, s0, s0\ns_endpgm\n");
    EXPECT_EQ(loops.loops.size(), 1u);
    EXPECT_EQ(loops.of_op, (std::vector<uint16_t>{0, 0, 0}));
}

TEST(Loops, OneInAnotherKnowsWhereItIsEnteredAndLeft) {
    const Loops loops =
        of("s_mov_b32 s0, 3\n"
           "outer: s_mov_b32 s1, 5\n"
           "inner: s_sub_i32 s1, s1, 1\n"
           "s_cmp_lg_i32 s1, 0\n"
           "s_cbranch_scc1 inner\n"
           "s_sub_i32 s0, s0, 1\n"
           "s_cmp_lg_i32 s0, 0\n"
           "s_cbranch_scc1 outer\n"
           "s_endpgm\n");
    EXPECT_EQ(loops.of_op, (std::vector<uint16_t>{0, 1, 2, 2, 2, 1, 1, 1, 0}));
    EXPECT_EQ(loops.entered, (std::vector<uint16_t>{1, 2, 0, 0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(loops.arrived, (std::vector<uint8_t>{0, 0, 0, 0, 0, 1, 0, 0, 1}));
    EXPECT_TRUE(loops.holds(0, 2) && loops.holds(1, 2) && loops.holds(2, 2));
    EXPECT_FALSE(loops.holds(2, 1));
}

TEST(Loops, TwoInARowAreTwo) {
    const Loops loops =
        of("first: s_sub_i32 s0, s0, 1\n"
           "s_cbranch_scc1 first\n"
           "second: s_sub_i32 s1, s1, 1\n"
           "s_cbranch_scc1 second\n"
           "s_endpgm\n");
    EXPECT_EQ(loops.of_op, (std::vector<uint16_t>{1, 1, 2, 2, 0}));
    EXPECT_FALSE(loops.holds(1, 2) || loops.holds(2, 1));
    EXPECT_EQ(loops.arrived, (std::vector<uint8_t>{0, 0, 1, 0, 1}));
}

TEST(Loops, OnesThatReachIntoEachOtherAreOne) {
    const Loops loops =
        of("first: s_sub_i32 s0, s0, 1\n"
           "second: s_sub_i32 s1, s1, 1\n"
           "s_cbranch_scc1 first\n"
           "s_sub_i32 s2, s2, 1\n"
           "s_cbranch_scc1 second\n"
           "s_endpgm\n");
    EXPECT_EQ(loops.of_op, (std::vector<uint16_t>{1, 1, 1, 1, 1, 0}));
}

TEST(Loops, TwoBranchesBackToOnePlaceAreOneLoop) {
    const Loops loops =
        of("first: s_sub_i32 s0, s0, 1\n"
           "s_cbranch_scc1 first\n"
           "s_cbranch_scc0 first\n"
           "s_endpgm\n");
    EXPECT_EQ(loops.of_op, (std::vector<uint16_t>{1, 1, 1, 0}));
}

}  // namespace
}  // namespace strata::emu
