#include "../kernel.h"
#include "../one_wave.h"
#include "strata/asm/llvm/assemble.h"

namespace strata::emu::harness {
namespace {

/// A kernel of one pointer argument with 16 rows: v0 to v7 and a0 to a7.
std::string kernel(const std::string& body, const std::string& limits) {
    return ".text\n.globl k\n.p2align 8\n.type k,@function\nk:\n" + body + R"(
    s_endpgm
    .rodata
    .p2align 6
    .amdhsa_kernel k
        .amdhsa_kernarg_size 8
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
        .amdhsa_next_free_sgpr 16
)" + limits +
           "\n.end_amdhsa_kernel\n";
}
const std::string kSplit = ".amdhsa_next_free_vgpr 16\n.amdhsa_accum_offset 8";

class AccumulationRegisters : public ::testing::TestWithParam<isa::Arch> {
  protected:
    Gpu gpu{GetParam()};
    Result<std::shared_ptr<Module>> load(const std::string& body) {
        return gpu.load(isa::assemble(kernel(body, kSplit), GetParam()).value());
    }
    /// Runs one wave; s[0:1] points to the arguments.
    std::vector<uint32_t> run(const std::string& body, size_t count) {
        auto module = load(body);
        EXPECT_TRUE(module) << module.error().message;
        Buffer<uint32_t> out(gpu, count);
        LaunchConfig c = config({1, 1, 1}, {64, 1, 1});
        auto stats = gpu.launch(**module, "k", c, (Arguments() << out).bytes());
        EXPECT_TRUE(stats) << stats.error().message;
        return out.values();
    }
};

TEST_P(AccumulationRegisters, FollowTheOthersAndTakePartInMemoryInstructions) {
    std::vector<uint32_t> out = run(R"(
        s_load_dwordx2 s[2:3], s[0:1], 0x0
        v_and_b32 v0, 0x3ff, v0
        v_lshlrev_b32 v1, 2, v0
        v_mov_b32 v7, 111
        v_accvgpr_write_b32 a0, v0
        v_accvgpr_write_b32 a7, v1
        s_waitcnt lgkmcnt(0)
        global_store_dword v1, a7, s[2:3]
        s_waitcnt vmcnt(0)
        global_load_dword a3, v1, s[2:3]
        s_waitcnt vmcnt(0)
        v_accvgpr_read_b32 v2, a3
        v_accvgpr_read_b32 v3, a0
        v_add_u32 v2, v2, v3
        v_add_u32 v2, v2, v7
        global_store_dword v1, v2, s[2:3]
    )",
                                    64);
    for (uint32_t i = 0; i < 64; ++i) ASSERT_EQ(out[i], 4 * i + i + 111) << i;
}

TEST_P(AccumulationRegisters, BeyondTheDescriptorAreRefusedByName) {
    auto a8 = load("v_accvgpr_write_b32 a8, v0");
    ASSERT_FALSE(a8);
    EXPECT_EQ(a8.error().kind, ErrorKind::Unsupported);
    EXPECT_NE(a8.error().message.find("uses a8, but the kernel's descriptor allocates 8 accumulation registers"),
              std::string::npos)
        << a8.error().message;
    auto v16 = load("v_mov_b32 v16, 0");
    ASSERT_FALSE(v16);
    EXPECT_NE(v16.error().message.find("uses v16, but the kernel's descriptor allocates 16 vector registers"),
              std::string::npos)
        << v16.error().message;
    auto pair = load("v_lshlrev_b64 v[6:7], 1, v[16:17]");
    EXPECT_FALSE(pair);
}

TEST_P(AccumulationRegisters, AreVectorRegistersFromAccumOffsetOn) {
    std::vector<uint32_t> out = run(R"(
        s_load_dwordx2 s[2:3], s[0:1], 0x0
        v_and_b32 v0, 0x3ff, v0
        v_accvgpr_write_b32 a1, v0
        v_mov_b32 v13, 1000
        v_accvgpr_read_b32 v1, a5
        v_add_u32 v1, v1, v9
        v_lshlrev_b32 v2, 2, v0
        s_waitcnt lgkmcnt(0)
        global_store_dword v2, v1, s[2:3]
    )",
                                    64);
    for (uint32_t i = 0; i < 64; ++i) ASSERT_EQ(out[i], 1000 + i) << i;
}

// Code after an abort, or after a call that does not return, is checked against no registers.
TEST_P(AccumulationRegisters, AreCountedOnlyWhereTheCodeIsSureToGo) {
    const std::string store =
        "s_load_dwordx2 s[2:3], s[0:1], 0x0\nv_and_b32 v0, 0x3ff, v0\nv_lshlrev_b32 v2, 2, v0\n"
        "v_mov_b32 v3, 5\ns_waitcnt lgkmcnt(0)\nglobal_store_dword v2, v3, s[2:3]\ns_endpgm\n";
    const std::string beyond = "v_mov_b32 v99, 0\nv_accvgpr_write_b32 a99, v0\ns_endpgm\n";
    for (const std::string way :
         {"s_trap 2\n", "s_getpc_b64 s[4:5]\ns_swappc_b64 s[6:7], s[4:5]\n", "s_call_b64 s[6:7], on\n"}) {
        SCOPED_TRACE(way);
        const std::string text = "s_cmp_eq_u32 s15, s15\ns_cbranch_scc1 on\n" + way + beyond + "on:\n" + store;
        EXPECT_EQ(run(text, 64), std::vector<uint32_t>(64, 5));
    }
    // Where control does come, it is a fault that says why.
    auto module = load("s_call_b64 s[6:7], on\n" + beyond + "on:\ns_setpc_b64 s[6:7]\n");
    ASSERT_TRUE(module) << module.error().message;
    Buffer<uint32_t> out(gpu, 64);
    auto stats = gpu.launch(**module, "k", config({1, 1, 1}, {64, 1, 1}), (Arguments() << out).bytes());
    ASSERT_FALSE(stats);
    EXPECT_NE(stats.error().message.find("uses v99"), std::string::npos) << stats.error().message;
    // Code that is reached by both ways is counted.
    auto both = load("s_cbranch_scc1 last\ns_trap 2\nlast:\nv_mov_b32 v99, 0\n");
    ASSERT_FALSE(both);
    EXPECT_NE(both.error().message.find("uses v99"), std::string::npos) << both.error().message;
}

TEST_P(AccumulationRegisters, AreTheSecondHalfOfAWaveRunAlone) {
    class Alone : public OneWave {
      public:
        explicit Alone(isa::Arch arch) : OneWave(arch, 64) {}
        void TestBody() override {
            set_row(1, [](int lane) { return static_cast<uint32_t>(lane + 5); });
            set_row(256 + 9, [](int lane) { return static_cast<uint32_t>(lane * 3); });
            run("v_accvgpr_write_b32 a255, v1\nv_accvgpr_read_b32 v255, a9");
            for (int lane = 0; lane < 64; ++lane) {
                ASSERT_EQ(v(511, lane), static_cast<uint32_t>(lane + 5));
                ASSERT_EQ(v(255, lane), static_cast<uint32_t>(lane * 3));
            }
        }
    } alone(GetParam());
    alone.TestBody();
}

INSTANTIATE_TEST_SUITE_P(Archs, AccumulationRegisters, ::testing::Values(isa::Arch::gfx942, isa::Arch::gfx90a),
                         [](const auto& arch) { return std::string(isa::info(arch.param).name); });

TEST(SplitBarriers, ThatNobodySignalsEndWithAnError) {
    Gpu gpu(isa::Arch::gfx1201);
    auto image = isa::assemble(kernel("s_barrier_wait -1", ".amdhsa_next_free_vgpr 8"), isa::Arch::gfx1201);
    ASSERT_TRUE(image) << image.error().message;
    auto module = gpu.load(*image);
    ASSERT_TRUE(module) << module.error().message;
    Buffer<uint32_t> out(gpu, 1);
    auto stats = gpu.launch(**module, "k", config({2, 1, 1}, {128, 1, 1}), (Arguments() << out).bytes());
    ASSERT_FALSE(stats);
    EXPECT_EQ(stats.error().kind, ErrorKind::Launch);
    EXPECT_NE(stats.error().message.find("none of them signals"), std::string::npos) << stats.error().message;
}

TEST(SplitBarriers, CompleteWithoutTheWavesThatHaveEnded) {
    Gpu gpu(isa::Arch::gfx1201);
    // Wave 0 signals and ends, wave 1 ends at once; the others meet twice.
    auto image = isa::assemble(kernel(R"(
        s_load_b64 s[2:3], s[0:1], 0x0
        s_lshr_b32 s4, ttmp8, 25
        s_and_b32 s4, s4, 31
        s_cmp_eq_u32 s4, 1
        s_cbranch_scc1 end
        s_barrier_signal -1
        s_cmp_eq_u32 s4, 0
        s_cbranch_scc1 end
        s_barrier_wait -1
        s_barrier_signal -1
        s_barrier_wait -1
        v_and_b32 v0, 0x3ff, v0
        v_lshlrev_b32 v1, 2, v0
        v_mov_b32 v2, s4
        s_wait_kmcnt 0x0
        global_store_b32 v1, v2, s[2:3]
    end:
    )",
                                      ".amdhsa_next_free_vgpr 8"),
                               isa::Arch::gfx1201);
    ASSERT_TRUE(image) << image.error().message;
    auto module = gpu.load(*image);
    ASSERT_TRUE(module) << module.error().message;
    Buffer<uint32_t> out(gpu, 128);
    auto stats = gpu.launch(**module, "k", config({1, 1, 1}, {128, 1, 1}), (Arguments() << out).bytes());
    ASSERT_TRUE(stats) << stats.error().message;
    std::vector<uint32_t> got = out.values();
    EXPECT_EQ(got[0], 0u);
    EXPECT_EQ(got[33], 0u);
    EXPECT_EQ(got[64], 2u);
    EXPECT_EQ(got[127], 3u);
}

TEST(RunWave, StartsAfreshEachTimeAndTellsCodesApart) {
    auto words = [](const char* text) { return isa::assemble_instructions(text, isa::Arch::gfx1100, 32).value(); };
    auto run = [](const std::vector<uint32_t>& code) {
        WaveRun wave;
        EXPECT_TRUE(
            run_wave(isa::Arch::gfx1100, {reinterpret_cast<const uint8_t*>(code.data()), code.size() * 4}, wave));
        return wave;
    };
    const auto set = words("v_mov_b32 v200, 7\ns_mov_b32 s9, 3"), get = words("v_mov_b32 v1, v200\ns_mov_b32 s4, s9");
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(run(set).vgpr[200 * 32], 7u);
        WaveRun wave = run(get);
        EXPECT_EQ(wave.vgpr[32], 0u);
        EXPECT_EQ(wave.sgpr[4], 0u);
        EXPECT_EQ(wave.instructions, 3u);
    }
}

}  // namespace
}  // namespace strata::emu::harness
