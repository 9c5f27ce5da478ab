#include <gtest/gtest.h>

#include <string>

#include "../one_wave.h"

namespace strata::emu::harness {
namespace {

class Gfx11Scalars : public OneWave {
  protected:
    Gfx11Scalars() : OneWave(isa::Arch::gfx1100, 64) {}
};

TEST_F(Gfx11Scalars, ASubvectorLoopRunsOnceForEachHalfWithLanes) {
    const std::string code = R"(
        s_mov_b32 s4, 0
        s_subvector_loop_begin s6, done
    again:
        s_add_u32 s4, s4, 1
        v_mov_b32 v1, s4
        s_subvector_loop_end s6, again
    done:
        s_mov_b32 s5, 1
    )";
    struct Case {
        uint64_t exec;
        uint32_t passes;
    };
    for (const Case& c : {Case{~0ull, 2}, Case{0xff, 1}, Case{0xffull << 40, 1}, Case{0, 0}}) {
        wave.exec = c.exec;
        set_row(1, [](int) { return 9u; });
        run(code);
        EXPECT_EQ(wave.sgpr[4], c.passes) << std::hex << c.exec;
        EXPECT_EQ(wave.exec, c.exec);
        for (int lane = 0; lane < 64; ++lane) {
            const uint32_t pass = lane < 32 ? 1 : c.passes;
            ASSERT_EQ(v(1, lane), c.exec >> lane & 1 ? pass : 9u) << lane;
        }
    }
}

TEST_F(Gfx11Scalars, VectorRegistersGivenBackMayNotBeUsed) {
    run("v_mov_b32 v1, 0\ns_nop 0\ns_sendmsg sendmsg(MSG_DEALLOC_VGPRS)");
    auto late = attempt("s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\ns_nop 0\nv_mov_b32 v1, 0");
    ASSERT_FALSE(late);
    EXPECT_NE(late.error().message.find("MSG_DEALLOC_VGPRS"), std::string::npos) << late.error().message;
}

}  // namespace
}  // namespace strata::emu::harness
