#include "kernel.h"
#include "one_wave.h"
#include "strata/asm/isa/inst.h"

// Waves, launches and memory as emulators get them wrong: one fact of the documents a test.
namespace strata::emu::harness {
namespace {

using isa::Arch;

constexpr uint64_t kAt = 0x100000;

/// One wave of any arch and size.
class Machine : public OneWave {
  public:
    Machine(Arch arch_, int lanes_) : OneWave(arch_, lanes_) {}
    void TestBody() override {}
    using OneWave::arch;
    using OneWave::attempt;
    using OneWave::lanes;
    using OneWave::pair;
    using OneWave::run;
    using OneWave::set_row;
    using OneWave::v;
    using OneWave::wave;
    bool cdna() const { return isa::is_cdna(isa::info(arch).family); }
};

struct Waves {
    Arch arch;
    int lanes;
};
class MachineTraps : public ::testing::TestWithParam<Waves> {
  protected:
    Machine m{GetParam().arch, GetParam().lanes};
};
INSTANTIATE_TEST_SUITE_P(Archs, MachineTraps,
                         ::testing::Values(Waves{Arch::gfx1100, 32}, Waves{Arch::gfx1100, 64}, Waves{Arch::gfx1201, 32},
                                           Waves{Arch::gfx1201, 64}, Waves{Arch::gfx942, 64}, Waves{Arch::gfx90a, 64}),
                         [](const auto& which) {
                             return fmt::format("{}_wave{}", isa::info(which.param.arch).name, which.param.lanes);
                         });

/// A kernel of one pointer argument.
std::string kernel(const std::string& body, const std::string& options = "") {
    return ".text\n.globl k\n.p2align 8\n.type k,@function\nk:\n" + body + R"(
    s_endpgm
    .rodata
    .p2align 6
    .amdhsa_kernel k
        .amdhsa_kernarg_size 8
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
        .amdhsa_next_free_sgpr 16
        .amdhsa_next_free_vgpr 8
)" + options +
           "\n.end_amdhsa_kernel\n";
}

std::vector<uint32_t> launched(Arch arch, const std::string& text, uint32_t items) {
    Gpu gpu(arch);
    auto image = isa::assemble(text, arch);
    EXPECT_TRUE(image) << image.error().message;
    auto module = gpu.load(*image);
    EXPECT_TRUE(module) << module.error().message;
    Buffer<uint32_t> out(gpu, items);
    auto stats = gpu.launch(**module, "k", config({1, 1, 1}, {items, 1, 1}), (Arguments() << out).bytes());
    EXPECT_TRUE(stats) << stats.error().message;
    return out.values();
}

}  // namespace

// ---- waves and control ----

TEST_P(MachineTraps, BranchesCountDwordsFromTheNextInstruction) {
    m.run("s_mov_b32 s0, 1\ns_branch 1\ns_mov_b32 s0, 2\ns_mov_b32 s1, 3");
    EXPECT_EQ(m.wave.sgpr[0], 1u);
    EXPECT_EQ(m.wave.sgpr[1], 3u);
    m.run("s_mov_b32 s0, 3\ns_sub_u32 s0, s0, 1\ns_cmp_lg_u32 s0, 0\ns_cbranch_scc1 -3\ns_mov_b32 s1, 4");
    EXPECT_EQ(m.wave.sgpr[0], 0u) << "-3: to the subtraction";
    EXPECT_EQ(m.wave.sgpr[1], 4u);
}

TEST(LaunchTraps, AWaveThatHasEndedCountsAsArrivedAtABarrier) {
    for (Arch arch : {Arch::gfx1100, Arch::gfx942, Arch::gfx90a}) {
        const bool rdna = arch == Arch::gfx1100;
        const std::string load = rdna ? "s_load_b64" : "s_load_dwordx2", store = rdna ? "b32" : "dword";
        const auto wave = static_cast<uint32_t>(isa::info(arch).wave_size);
        const std::string text = kernel(load + " s[2:3], s[0:1], 0x0\n" + R"(
            v_and_b32 v0, 0x3ff, v0
            v_readfirstlane_b32 s4, v0
            s_cmp_eq_u32 s4, )" + std::to_string(wave) +
                                            R"(
            s_cbranch_scc1 end
            s_barrier
            v_lshlrev_b32 v1, 2, v0
            v_mov_b32 v2, 9
            s_waitcnt lgkmcnt(0)
            global_store_)" + store + " v1, v2, s[2:3]\nend:",
                                        rdna ? "" : ".amdhsa_accum_offset 8");
        for (uint32_t waves : {1u, 3u}) {  // alone, or the second of three ends early
            const std::vector<uint32_t> out = launched(arch, text, waves * wave);
            for (uint32_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], i / wave == 1 ? 0u : 9u) << i;
        }
    }
}

TEST(LaunchTraps, TheModeOfAWaveIsThatOfTheDescriptor) {
    const std::string body = R"(
        s_load_b64 s[2:3], s[0:1], 0x0
        s_getreg_b32 s4, hwreg(HW_REG_MODE, 0, 10)
        v_mov_b32 v1, 0
        v_mov_b32 v2, s4
        s_waitcnt lgkmcnt(0)
        global_store_b32 v1, v2, s[2:3])";
    EXPECT_EQ(launched(Arch::gfx1100, kernel(body), 32)[0], 0x3c0u) << "as the assembler leaves it";
    const std::string other = R"(
        .amdhsa_float_round_mode_32 1
        .amdhsa_float_round_mode_16_64 2
        .amdhsa_float_denorm_mode_32 0
        .amdhsa_float_denorm_mode_16_64 3
        .amdhsa_dx10_clamp 0
        .amdhsa_ieee_mode 0)";
    EXPECT_EQ(launched(Arch::gfx1100, kernel(body, other), 32)[0], 0xc9u);
}

TEST(LaunchTraps, AKernelFindsItsSizesInEveryVersionOfTheCodeObject) {
    // Version 4 has them in the dispatch packet, later ones among the hidden arguments.
    constexpr const char* kSource = R"(KERNEL void k(uint* out) {
        uint i = TX + BX * NX + BY * NX * (__builtin_amdgcn_grid_size_x() / NX);
        out[i] = NX | __builtin_amdgcn_grid_size_x() << 8 | __builtin_amdgcn_grid_size_y() << 16;
    })";
    for (Arch arch : {Arch::gfx1100, Arch::gfx942})
        for (const char* version : {"4", "5", "6"}) {
            Gpu gpu(arch);
            const std::string options = std::string("-O2 -mcode-object-version=") + version;
            auto module = gpu.load(compile_hip(kSource, options, isa::info(arch).name));
            ASSERT_TRUE(module) << module.error().message;
            Buffer<uint32_t> out(gpu, 24 * 5 * 3);
            auto stats = gpu.launch(**module, "k", config({5, 3, 1}, {24, 1, 1}), (Arguments() << out).bytes());
            ASSERT_TRUE(stats) << stats.error().message;
            for (uint32_t value : out.values()) ASSERT_EQ(value, 24u | 120u << 8 | 3u << 16) << version;
        }
}

TEST(WaveTraps, ShaderCyclesHaveTwentyBits) {
    Machine m(Arch::gfx1100, 32);
    m.run(
        "s_getreg_b32 s4, hwreg(HW_REG_SHADER_CYCLES, 0, 32)\ns_nop 0\ns_nop 0\n"
        "s_getreg_b32 s5, hwreg(HW_REG_SHADER_CYCLES, 0, 20)\ns_getreg_b32 s6, hwreg(HW_REG_SHADER_CYCLES, 20, 12)");
    EXPECT_LT(m.wave.sgpr[4], m.wave.sgpr[5]);
    EXPECT_EQ(m.wave.sgpr[4] >> 20, 0u);
    EXPECT_EQ(m.wave.sgpr[6], 0u);
}

TEST(WaveTraps, NullTakesWhatIsWrittenAndReadsAsZero) {
    for (int lanes : {32, 64}) {
        Machine m(Arch::gfx1100, lanes);
        m.set_row(0, [](int) { return ~0u; });
        m.wave.sgpr[11] = 77;
        m.run("s_mov_b32 null, 5\ns_add_u32 s4, null, 7\nv_add_co_u32 v8, null, v0, v0\ns_add_u32 s5, null, 3\n" +
              std::string(lanes == 32 ? "v_add_co_u32 v9, s10, v0, v0" : "v_add_co_u32 v9, s[10:11], v0, v0"));
        EXPECT_EQ(m.wave.sgpr[4], 7u);
        EXPECT_EQ(m.wave.sgpr[5], 3u);
        EXPECT_EQ(m.v(8, 1), ~1u);
        EXPECT_EQ(m.wave.sgpr[10], ~0u);
        EXPECT_EQ(m.wave.sgpr[11], lanes == 32 ? 77u : ~0u) << "a mask is as wide as the wave";
    }
}

TEST(WaveTraps, DualInstructionsAreOfWave32Only) {
    const auto words =
        isa::assemble_instructions("v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0\ns_endpgm", Arch::gfx1100, 32);
    ASSERT_TRUE(words);
    for (int lanes : {32, 64}) {
        Machine m(Arch::gfx1100, lanes);
        EXPECT_EQ(m.attempt(*words).has_value(), lanes == 32);
    }
}

TEST(WaveTraps, SubDwordAddressingIsOfCdnaOnlyAndNotOfEveryInstruction) {
    constexpr uint32_t kSdwa = 249, kUnary = 0x00060600, kBinary = 0x06060600;  // whole dwords
    auto decodes = [&](Arch arch, std::string_view mnemonic) {
        const isa::Row* row = isa::find_row(isa::info(arch).family, mnemonic);
        EXPECT_NE(row, nullptr) << mnemonic;
        const bool unary = row->format == isa::Format::VOP1;
        const uint32_t word = unary ? 0x7e000000u | row->opcode << 9u : row->opcode << 25u;
        return isa::decode(arch, std::array{word | kSdwa, unary ? kUnary : kBinary, 0u}).has_value();
    };
    EXPECT_TRUE(decodes(Arch::gfx942, "v_mov_b32"));
    EXPECT_TRUE(decodes(Arch::gfx942, "v_add_f32"));
    EXPECT_FALSE(decodes(Arch::gfx1100, "v_mov_b32"));
    EXPECT_FALSE(decodes(Arch::gfx1201, "v_add_f32"));
    for (const char* without :
         {"v_readfirstlane_b32", "v_swap_b32", "v_madmk_f16", "v_madak_f16", "v_cvt_f64_i32", "v_cvt_i32_f64"})
        EXPECT_FALSE(decodes(Arch::gfx942, without)) << without;
}

// ---- lanes ----

TEST_P(MachineTraps, PermutesReachAllLanesButOnRdna3ThoseOfTheirHalf) {
    const int group = m.arch == Arch::gfx1100 ? 32 : m.lanes;
    m.set_row(0, [](int lane) { return static_cast<uint32_t>((lane ^ 32) * 4 + 256 * 3 + 2); });  // low and high bits
    m.set_row(1, [](int lane) { return static_cast<uint32_t>(lane + 100); });
    m.set_row(2, [](int lane) { return static_cast<uint32_t>(lane & ~7) * 4; });
    m.run("ds_bpermute_b32 v4, v0, v1\nds_permute_b32 v5, v2, v1\nds_bpermute_b32 v6, v2, v1 offset:8");
    for (int lane = 0; lane < m.lanes; ++lane) {
        auto in_group = [&](int wanted) { return lane / group * group + wanted % group; };
        EXPECT_EQ(m.v(4, lane), static_cast<uint32_t>(100 + in_group(lane ^ 32)));
        EXPECT_EQ(m.v(5, lane), lane % 8 ? 0u : static_cast<uint32_t>(lane + 107)) << "the highest sender wins";
        EXPECT_EQ(m.v(6, lane), static_cast<uint32_t>(102 + (lane & ~7)));
    }
}

TEST_P(MachineTraps, AHalfResultClearsTheUpperHalfOnGfx9Only) {
    m.set_row(0, [](int) { return 0x44003c00u; });
    m.set_row(8, [](int) { return 0xdeadbeefu; });
    m.set_row(9, [](int) { return 0xdeadbeefu; });
    m.run("v_add_f16 v8, v0, v0\nv_add_f16 v9, 1.0, v0");
    const uint32_t kept = m.cdna() ? 0 : 0xdead0000;
    EXPECT_EQ(m.v(8, 3), kept | 0x4000);
    EXPECT_EQ(m.v(9, 3), kept | 0x4000);
}

// ---- matrices ----

TEST(MatrixTraps, Mi200FlushesDenormalHalvesAndKeepsDenormalSingles) {
    for (Arch arch : {Arch::gfx90a, Arch::gfx942}) {
        const bool mi200 = arch == Arch::gfx90a;
        Machine m(arch, 64);
        m.wave.exec = 0;  // does not matter
        m.set_row(2, [](int) { return 0x00010001u; }), m.set_row(3, [](int) { return 0x00010001u; });
        m.set_row(4, [](int) { return 0x3c003c00u; }), m.set_row(5, [](int) { return 0x3c003c00u; });
        m.set_row(6, [](int) { return 3u; });
        m.set_row(7, [](int) { return 0x3f800000u; });
        m.run(mi200 ? "v_mfma_f32_16x16x16f16 v[8:11], v[2:3], v[4:5], 0\nv_mfma_f32_16x16x4f32 v[12:15], v6, v7, 0"
                    : "v_mfma_f32_16x16x16_f16 v[8:11], v[2:3], v[4:5], 0\nv_mfma_f32_16x16x4_f32 v[12:15], v6, v7, 0");
        for (int lane = 0; lane < 64; lane += 9) {
            EXPECT_EQ(m.v(9, lane), mi200 ? 0u : 0x35800000u) << "16 times 2^-24";
            EXPECT_EQ(m.v(14, lane), 12u);
        }
    }
}

TEST(MatrixTraps, Xf32CutsTheSignificand) {
    Machine m(Arch::gfx942, 64);
    m.set_row(2, [](int) { return 0x3f801fffu; }), m.set_row(3, [](int) { return 0x3f801fffu; });  // 1 + almost 2^-10
    m.set_row(4, [](int) { return 0x3f802000u; }), m.set_row(5, [](int) { return 0x3f802000u; });  // 1 + 2^-10
    m.run("v_mfma_f32_16x16x8_xf32 v[8:11], v[2:3], v[4:5], 0");
    for (int lane = 0; lane < 64; lane += 9) EXPECT_EQ(m.v(8, lane), 0x41002000u) << "8 times 1 times 1 + 2^-10";
}

// ---- memory ----

class MemoryTraps : public MachineTraps {
  protected:
    std::vector<uint8_t> bytes = std::vector<uint8_t>(4096);

    void SetUp() override {
        for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 37 + (i >> 8));
        m.wave.memory = {{kAt, bytes}};
        m.wave.lds = bytes;
    }
    uint32_t dword(size_t at) const {
        uint32_t value;
        memcpy(&value, bytes.data() + at, 4);
        return value;
    }
    void point(size_t sgpr, uint64_t address) {
        m.wave.sgpr[sgpr] = static_cast<uint32_t>(address);
        m.wave.sgpr[sgpr + 1] = static_cast<uint32_t>(address >> 32);
    }
    std::string load() const { return m.cdna() ? "global_load_dword" : "global_load_b32"; }
    std::string scalar_load() const { return m.cdna() ? "s_load_dword" : "s_load_b32"; }
};
INSTANTIATE_TEST_SUITE_P(Archs, MemoryTraps,
                         ::testing::Values(Waves{Arch::gfx1100, 32}, Waves{Arch::gfx1201, 32}, Waves{Arch::gfx942, 64},
                                           Waves{Arch::gfx90a, 64}),
                         [](const auto& which) { return std::string(isa::info(which.param.arch).name); });

TEST_P(MemoryTraps, AnOffsetBesideAScalarAddressIsUnsignedAndTheImmediateSigned) {
    point(2, kAt - 0xffff0000ull);
    m.set_row(0, [](int lane) { return 0xffff0000u + static_cast<uint32_t>(lane) * 4 + 16; });
    m.run(load() + " v1, v0, s[2:3] offset:-8\n" + load() + " v2, v0, s[2:3] offset:2044");
    for (size_t lane = 0; lane < 32; ++lane) {
        EXPECT_EQ(m.v(1, static_cast<int>(lane)), dword(4 * lane + 8));
        EXPECT_EQ(m.v(2, static_cast<int>(lane)), dword(4 * lane + 2060));
    }
}

TEST_P(MemoryTraps, ScalarLoadsHaveSignedImmediatesUnsignedRegistersAndIgnoreTheLowBits) {
    point(2, kAt + 64);
    point(4, kAt - 0xfffff000ull);
    m.wave.sgpr[6] = 0xfffff010;
    m.wave.sgpr[7] = 0xfffff013;
    m.run(scalar_load() + " s8, s[2:3], -16\n" + scalar_load() + " s9, s[4:5], s6\n" + scalar_load() +
          " s10, s[4:5], s7");
    EXPECT_EQ(m.wave.sgpr[8], dword(48));
    EXPECT_EQ(m.wave.sgpr[9], dword(16));
    EXPECT_EQ(m.wave.sgpr[10], dword(16));
}

TEST_P(MemoryTraps, VectorAccessesNeedNoAlignment) {
    point(2, kAt);
    m.set_row(0, [](int lane) { return static_cast<uint32_t>(lane) * 7 + 1; });
    const std::string local = m.cdna() ? "ds_read_" : "ds_load_";
    m.run(load() + " v1, v0, s[2:3]\n" + local + "b32 v2, v0\n" + local + "b64 v[4:5], v0\n" + local +
          "b128 v[8:11], v0 offset:2");
    for (int lane = 0; lane < m.lanes; ++lane) {
        const auto at = static_cast<size_t>(lane) * 7 + 1;
        EXPECT_EQ(m.v(1, lane), dword(at));
        EXPECT_EQ(m.v(2, lane), dword(at));
        EXPECT_EQ(m.v(5, lane), dword(at + 4));
        EXPECT_EQ(m.v(11, lane), dword(at + 14));
    }
}

}  // namespace strata::emu::harness
