#include "strata/asm/emu/run_wave.h"

#include <gtest/gtest.h>

#include "../one_wave.h"

namespace strata::emu {
namespace {

class RunWave : public harness::Gfx11Wave {};

TEST_P(RunWave, ComesBackWithItsState) {
    wave.sgpr[4] = 7;
    wave.m0 = 3;
    run("s_mov_b32 s5, 12\ns_add_i32 s4, s4, s5\nv_mov_b32 v9, s4\ns_cmp_eq_u32 s4, 19\ns_mov_b32 m0, 5\ns_mov_b64 "
        "vcc, -1");
    EXPECT_EQ(wave.sgpr[4], 19u);
    EXPECT_EQ(v(9, lanes - 1), 19u);
    EXPECT_TRUE(wave.scc);
    EXPECT_EQ(wave.m0, 5u);
    EXPECT_EQ(wave.vcc, full());
    EXPECT_EQ(wave.exec, full());
    EXPECT_EQ(wave.instructions, 7u);
    EXPECT_EQ(wave.pc, 24u);
}

TEST_P(RunWave, AnEndlessLoopEndsWithAnError) {
    wave.max_instructions = 1000;
    auto result = attempt("loop: s_add_u32 s0, s0, 1\ns_branch loop");
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message.find("endless loop"), std::string::npos);
    EXPECT_GE(wave.instructions, 1000u);
}

TEST_P(RunWave, NoAddressIsMemoryBeforeAnyIsMapped) {
    for (const char* load : {"global_load_u8", "global_load_d16_u8", "global_load_b32", "global_load_b128"})
        for (const char* address : {"-1", "-2", "-4", "-8", "-16", "0"}) {
            const std::string text = std::string("v_mov_b32 v0, ") + address + "\nv_mov_b32 v1, " +
                                     (address[0] == '-' ? "-1" : "0") + "\n" + load +
                                     (load[12] == 'b' && load[13] == '1' ? " v[4:7]" : " v4") + ", v[0:1], off";
            auto result = attempt(text);
            ASSERT_FALSE(result) << text;
            EXPECT_EQ(result.error().kind, ErrorKind::MemoryFault);
        }
}

TEST_P(RunWave, LanesOnBothSidesOfTheEndOfAllAddressesReadNoMemory) {
    for (const char* first : {"-1", "-2", "-4", "-16"}) {
        auto result = attempt(std::string("v_mov_b32 v0, 4\nv_mov_b32 v1, 0\n"
                                          "s_mov_b32 exec_lo, 1\nv_mov_b32 v1, -1\nv_mov_b32 v0, ") +
                              first + "\ns_mov_b32 exec_lo, -1\nglobal_load_u8 v4, v[0:1], off");
        ASSERT_FALSE(result) << first;
        EXPECT_EQ(result.error().kind, ErrorKind::MemoryFault);
    }
}

INSTANTIATE_TEST_SUITE_P(Lanes, RunWave, ::testing::Values(32, 64));

}  // namespace
}  // namespace strata::emu
