#include <bit>
#include <functional>

#include "harness.h"

namespace strata::emu {
namespace {

using namespace valu_test;

class ValuCross : public testing::TestWithParam<int> {
  protected:
    void SetUp() override {
        if (!isa::llvm_available()) GTEST_SKIP() << "needs libLLVM 19 to assemble";
    }
    /// Lane l of row r holds 100 r + l.
    static void number(Bench& bench, int lanes) {
        for (int row = 0; row < 16; ++row)
            for (int lane = 0; lane < lanes; ++lane) bench.v(row, lane) = static_cast<uint32_t>(100 * row + lane);
    }
    int lanes() const { return GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Waves, ValuCross, testing::Values(32, 64),
                         [](const auto& info) { return "wave" + std::to_string(info.param); });

TEST_P(ValuCross, ReadlaneAndWritelaneIgnoreExec) {
    for (const Variant& variant : variants()) {
        Bench bench(lanes());
        number(bench, lanes());
        bench.set_exec(0xf0);
        bench.wave().s[5] = static_cast<uint32_t>(lanes() + 3);  // only the lane's bits count
        bench.wave().s[6] = 77;
        ASSERT_TRUE(bench.run(
            variant, assembled("v_readlane_b32 s0, v1, 9\nv_readlane_b32 s1, v1, s5\nv_readfirstlane_b32 s2, v2\n"
                               "v_writelane_b32 v3, s6, 1\nv_writelane_b32 v3, 5, s5",
                               lanes())));
        EXPECT_EQ(bench.wave().s[0], 109u);
        EXPECT_EQ(bench.wave().s[1], 103u);
        EXPECT_EQ(bench.wave().s[2], 204u);
        EXPECT_EQ(bench.v(3, 1), 77u);
        EXPECT_EQ(bench.v(3, 3), 5u);
        EXPECT_EQ(bench.v(3, 4), 304u);
        bench.set_exec(0);
        ASSERT_TRUE(bench.run(variant, assembled("v_readfirstlane_b32 s2, v2", lanes())));
        EXPECT_EQ(bench.wave().s[2], 200u) << "lane 0 where no lane is active";
    }
}

TEST_P(ValuCross, Permlane16SelectsWithinAndAcrossRows) {
    for (const Variant& variant : variants()) {
        for (const bool across : {false, true}) {
            for (const int select : {0, 1, 2, 3}) {  // bit 0 fetch inactive, bit 1 bound control
                Bench bench(lanes());
                number(bench, lanes());
                const uint64_t exec = 0x7fff3fffbfff0fffu;
                bench.set_exec(exec);
                bench.wave().s[0] = 0x01234567, bench.wave().s[1] = 0x89abcdef;
                const std::string text = std::string(across ? "v_permlanex16_b32" : "v_permlane16_b32") +
                                         " v8, v1, s0, s1 op_sel:[" + (select & 1 ? "1," : "0,") +
                                         (select & 2 ? "1]" : "0]");
                ASSERT_TRUE(bench.run(variant, assembled(text, lanes())));
                for (int lane = 0; lane < lanes(); ++lane) {
                    const uint64_t selects = 0x89abcdef01234567u;
                    const int row = (across ? lane / 16 ^ 1 : lane / 16) * 16;
                    const int from = row + static_cast<int>(selects >> (4 * (lane % 16)) & 15);
                    uint32_t want = static_cast<uint32_t>(100 + from);
                    if (!(exec >> from & 1) && !(select & 1)) want = select & 2 ? 0 : static_cast<uint32_t>(800 + lane);
                    if (!(exec >> lane & 1)) want = static_cast<uint32_t>(800 + lane);
                    EXPECT_EQ(bench.v(8, lane), want) << variant.name << " " << text << " lane " << lane;
                }
            }
        }
    }
}

TEST_P(ValuCross, Permlane64ExchangesTheHalvesOfAWave64Only) {
    for (const Variant& variant : variants()) {
        Bench bench(lanes());
        number(bench, lanes());
        bench.set_exec(~uint64_t{2});
        ASSERT_TRUE(bench.run(variant, assembled("v_permlane64_b32 v8, v1", lanes())));
        for (int lane = 0; lane < lanes(); ++lane) {
            const bool moved = lanes() == 64 && lane != 1;
            EXPECT_EQ(bench.v(8, lane), static_cast<uint32_t>(moved ? 100 + (lane ^ 32) : 800 + lane));
        }
    }
}

TEST_P(ValuCross, SwapAndRelativeMovesKeepInactiveLanes) {
    for (const Variant& variant : variants()) {
        Bench bench(lanes());
        number(bench, lanes());
        bench.set_exec(~uint64_t{1});
        bench.wave().s[isa::code::m0] = 3;
        ASSERT_TRUE(bench.run(
            variant, assembled("v_swap_b32 v1, v2\nv_movrels_b32 v5, v4\nv_movreld_b32 v6, v3\nv_movrelsd_b32 v10, v0",
                               lanes())));
        for (int lane = 0; lane < lanes(); ++lane) {
            auto is = [&](int row, int want) {
                EXPECT_EQ(bench.v(row, lane), static_cast<uint32_t>(100 * want + lane)) << variant.name << " v" << row;
            };
            const bool active = lane != 0;
            is(1, active ? 2 : 1), is(2, active ? 1 : 2);
            is(5, active ? 7 : 5), is(9, active ? 3 : 9), is(13, active ? 3 : 13);
        }
        bench.wave().s[isa::code::m0] = 300;
        EXPECT_FALSE(bench.run(variant, assembled("v_movrels_b32 v5, v4", lanes())));
        EXPECT_NE(bench.fault().find("M0"), std::string::npos);
    }
}

struct DppControl {
    std::string text;
    std::function<int(int)> from;  ///< lane of the row of 16, or -1
};

std::vector<DppControl> dpp_controls() {
    std::vector<DppControl> all = {
        {"quad_perm:[3,0,2,1]", [](int l) { return (l & ~3) | "\3\0\2\1"[l & 3]; }},
        {"row_mirror", [](int l) { return 15 - l; }},
        {"row_half_mirror", [](int l) { return (l & 8) | (7 - (l & 7)); }},
    };
    for (int n : {1, 3, 8, 15}) {
        const std::string count = std::to_string(n);
        all.push_back({"row_shl:" + count, [n](int l) { return l + n < 16 ? l + n : -1; }});
        all.push_back({"row_shr:" + count, [n](int l) { return l - n; }});
        all.push_back({"row_ror:" + count, [n](int l) { return (l + 16 - n) % 16; }});
        all.push_back({"row_share:" + count, [n](int) { return n; }});
        all.push_back({"row_xmask:" + count, [n](int l) { return l ^ n; }});
    }
    return all;
}

TEST_P(ValuCross, Dpp16MovesMasksAndBounds) {
    for (const Variant& variant : variants()) {
        for (const DppControl& control : dpp_controls()) {
            for (int form = 0; form < 8; ++form) {
                const bool bound = form & 1, fi = form & 2, masks = form & 4;
                const std::string text = "v_add_nc_u32_dpp v8, v1, v2 " + control.text +
                                         (masks ? " row_mask:0x9 bank_mask:0xb" : " row_mask:0xf bank_mask:0xf") +
                                         (bound ? " bound_ctrl:1" : "") + (fi ? " fi:1" : "");
                Bench bench(lanes());
                number(bench, lanes());
                const uint64_t exec = 0xfffeefff7ffdffdfu;
                bench.set_exec(exec);
                ASSERT_TRUE(bench.run(variant, assembled(text, lanes()))) << text;
                for (int lane = 0; lane < lanes(); ++lane) {
                    const int from = control.from(lane % 16), source = lane / 16 * 16 + from;
                    const bool valid = from >= 0 && (fi || (exec >> source & 1));
                    bool written = (exec >> lane & 1) && (valid || bound);
                    if (masks) written = written && 0x9 >> lane / 16 & 1 && 0xb >> lane % 16 / 4 & 1;
                    const int moved = valid ? 100 + source : 0;
                    const int want = written ? moved + 200 + lane : 800 + lane;
                    ASSERT_EQ(bench.v(8, lane), static_cast<uint32_t>(want))
                        << variant.name << " " << text << " lane " << lane;
                }
            }
        }
    }
}

TEST_P(ValuCross, Dpp8SelectsWithinEightLanes) {
    for (const Variant& variant : variants()) {
        for (const bool fi : {false, true}) {
            Bench bench(lanes());
            number(bench, lanes());
            const uint64_t exec = ~uint64_t{0x400};
            bench.set_exec(exec);
            ASSERT_TRUE(bench.run(
                variant,
                assembled(std::string("v_mov_b32_dpp v8, v1 dpp8:[7,6,5,4,3,2,1,0]") + (fi ? " fi:1" : ""), lanes())));
            for (int lane = 0; lane < lanes(); ++lane) {
                const int from = (lane & ~7) | (7 - (lane & 7));
                const int want = exec >> lane & 1 ? (fi || (exec >> from & 1) ? 100 + from : 0) : 800 + lane;
                EXPECT_EQ(bench.v(8, lane), static_cast<uint32_t>(want)) << variant.name << " lane " << lane;
            }
        }
    }
}

TEST_P(ValuCross, DppWorksWithComparisonsSignsAndTheLongForm) {
    for (const Variant& variant : variants()) {
        Bench bench(lanes());
        for (int lane = 0; lane < lanes(); ++lane) {
            bench.v(1, lane) = std::bit_cast<uint32_t>(static_cast<float>(lane));
            bench.v(2, lane) = std::bit_cast<uint32_t>(20.0f);
        }
        const std::string vcc = lanes() == 32 ? "vcc_lo" : "vcc";
        ASSERT_TRUE(
            bench.run(variant, assembled("v_cmp_lt_f32_dpp " + vcc +
                                             ", v1, v2 row_ror:1 row_mask:0xf bank_mask:0xf\n"
                                             "v_sub_f32_dpp v8, -v1, |v2| row_ror:1 row_mask:0xf bank_mask:0xf\n"
                                             "v_fma_f32_e64_dpp v9, v1, -v2, v2 row_ror:1 row_mask:0xf bank_mask:0xf",
                                         lanes())));
        for (int lane = 0; lane < lanes(); ++lane) {
            const float moved = static_cast<float>(lane / 16 * 16 + (lane + 15) % 16);
            EXPECT_EQ(bench.s64(106) >> lane & 1, moved < 20 ? 1u : 0u);
            EXPECT_EQ(std::bit_cast<float>(bench.v(8, lane)), -moved - 20);
            EXPECT_EQ(std::bit_cast<float>(bench.v(9, lane)), moved * -20 + 20);
        }
    }
}

}  // namespace
}  // namespace strata::emu
