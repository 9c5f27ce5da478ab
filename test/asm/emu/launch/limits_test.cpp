#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "../kernel.h"
#include "../one_wave.h"
#include "strata/asm/llvm/assemble.h"

// Limits of code objects and callers, and the scratch of a wave.
namespace strata::emu::harness {
namespace {

/// A kernel of one pointer argument, with further directives and text.
Result<isa::Bytes> object(const std::string& body, const std::string& directives, const std::string& more = {}) {
    const std::string text = ".text\n.globl k\n.p2align 8\n.type k,@function\nk:\n" + body + R"(
    s_endpgm
    .rodata
    .p2align 6
    .amdhsa_kernel k
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
        .amdhsa_next_free_vgpr 16
        .amdhsa_next_free_sgpr 16
)" + directives + "\n.end_amdhsa_kernel\n" +
                             more;
    return isa::assemble(text, isa::Arch::gfx1100);
}

/// Loads and launches one wave of it.
Result<void> attempt(const Result<isa::Bytes>& image) {
    if (!image) return image.error();
    Gpu gpu(isa::Arch::gfx1100);
    STRATA_TRY(auto module, gpu.load(*image));
    const auto stats = gpu.launch(*module, "k", config({1, 1, 1}, {32, 1, 1}), std::vector<uint8_t>(8));
    return stats ? Result<void>() : stats.error();
}

class ScratchOf : public ::testing::TestWithParam<uint32_t> {};

}  // namespace

TEST(Sizes, ThatTheDeviceDoesNotHaveAreErrorsBeforeMemoryIsTaken) {
    struct Case {
        const char *directives, *more, *word;
    };
    const Case cases[] = {
        {".amdhsa_kernarg_size 0xe0000000", "", "bytes of arguments"},
        {".amdhsa_kernarg_size 8\n.amdhsa_private_segment_fixed_size 0x7ffffff0", "", "bytes of scratch"},
        {".amdhsa_kernarg_size 8\n.amdhsa_private_segment_fixed_size 0x100000", "", "bytes of scratch"},
        {".amdhsa_kernarg_size 8\n.amdhsa_group_segment_fixed_size 0x10004", "", "of local memory"},
        {".amdhsa_kernarg_size 8", ".bss\nbig: .zero 60<<30", "bytes of device memory"},
        {".amdhsa_kernarg_size 8", ".bss\nbig: .zero 1<<40", "section '.bss'"},
        {".amdhsa_kernarg_size 8", ".data\n.p2align 20\nbig: .long 1", "alignment"},
        {".amdhsa_kernarg_size 8", ".bss\n.p2align 31\nbig: .zero 4", ".p2align"},
    };
    for (const Case& c : cases) {
        const Result<void> result = attempt(object("", c.directives, c.more));
        ASSERT_FALSE(result) << c.word;
        EXPECT_NE(result.error().message.find(c.word), std::string::npos) << result.error().message;
    }
    EXPECT_TRUE(attempt(object("", ".amdhsa_kernarg_size 8\n.amdhsa_private_segment_fixed_size 0xfffe0")));
}

TEST(Sizes, OfVariablesThatNobodyUsesTakeNoMemoryOfTheHost) {
    const auto image = object("", ".amdhsa_kernarg_size 8", ".bss\nbig: .zero 2<<30");
    ASSERT_TRUE(image) << image.error().message;
    auto resident = [] {
        std::ifstream file("/proc/self/statm");
        size_t all = 0, pages = 0;
        file >> all >> pages;
        return pages * 4096;
    };
    Gpu gpu(isa::Arch::gfx1100);
    const size_t before = resident();
    for (int i = 0; i < 3; ++i) {
        auto module = gpu.load(*image);
        ASSERT_TRUE(module) << module.error().message;
        EXPECT_LT(resident(), before + (size_t{64} << 20));
    }
}

INSTANTIATE_TEST_SUITE_P(Bytes, ScratchOf, ::testing::Values(64u, 2044u, 2048u, 2052u, 16380u, 16384u, 20000u));

TEST_P(ScratchOf, AWaveIsZeroWhoeverHadThePlaceBefore) {
    // The host often hands out next the memory that it freed last.
    for (int i = 0; i < 8; ++i) {
        void* block = std::malloc(size_t{GetParam()} * 32);
        std::memset(block, 0xa5, size_t{GetParam()} * 32);
        asm volatile("" ::"r"(block) : "memory");
        std::free(block);
    }
    const std::string size = fmt::format("{}", GetParam());
    const auto image = object(
        "s_load_b64 s[2:3], s[0:1], 0x0\nv_mov_b32 v1, 0\nv_mov_b32 v2, 0\nv_mov_b32 v5, -1\n"
        "loop:\nscratch_load_b32 v3, v1, off\ns_waitcnt vmcnt(0)\nv_or_b32 v2, v2, v3\n"
        "scratch_store_b32 v1, v5, off\nv_add_nc_u32 v1, v1, 4\n"
        "v_cmp_gt_u32 vcc_lo, " +
            size +
            ", v1\ns_cbranch_vccnz loop\n"
            "v_and_b32 v0, 0x3ff, v0\ns_lshl_b32 s15, s15, 6\nv_add_nc_u32 v0, s15, v0\n"
            "v_lshlrev_b32 v0, 2, v0\ns_waitcnt lgkmcnt(0)\nglobal_store_b32 v0, v2, s[2:3]",
        ".amdhsa_kernarg_size 8\n.amdhsa_system_sgpr_workgroup_id_x 1\n"
        ".amdhsa_user_sgpr_count 15\n.amdhsa_private_segment_fixed_size " +
            size);
    ASSERT_TRUE(image) << image.error().message;
    Gpu gpu(isa::Arch::gfx1100);
    auto module = gpu.load(*image);
    ASSERT_TRUE(module) << module.error().message;
    for (int launch = 0; launch < 2; ++launch) {
        Buffer<uint32_t> out(gpu, std::vector<uint32_t>(size_t{64} * 70, 7));
        const auto stats = gpu.launch(**module, "k", config({70, 1, 1}, {64, 1, 1}), (Arguments() << out).bytes());
        ASSERT_TRUE(stats) << stats.error().message;
        EXPECT_EQ(out.values(), std::vector<uint32_t>(size_t{64} * 70, 0));
    }
}

TEST(RunWave, TakesWholeWordsAndWhatAWorkgroupHas) {
    auto message = [](size_t code, size_t lds, uint32_t scratch) {
        WaveRun wave;
        wave.lds.resize(lds);
        wave.scratch = scratch;
        const Result<void> result = run_wave(isa::Arch::gfx1100, std::vector<uint8_t>(code), wave);
        EXPECT_FALSE(result);
        EXPECT_EQ(result ? ErrorKind::Internal : result.error().kind, ErrorKind::Usage);
        return result ? std::string() : result.error().message;
    };
    for (size_t size : {1u, 2u, 6u, 7u}) EXPECT_NE(message(size, 0, 0).find("whole words"), std::string::npos);
    EXPECT_NE(message(0, 65537, 0).find("65536"), std::string::npos);
    EXPECT_NE(message(0, 0, 0xffffffff).find("scratch"), std::string::npos);
    WaveRun whole;
    whole.lds.resize(65536);
    whole.scratch = 4096;
    EXPECT_TRUE(run_wave(isa::Arch::gfx1100, {}, whole));
}

}  // namespace strata::emu::harness
