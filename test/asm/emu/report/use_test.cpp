#include "strata/asm/emu/fidelity.h"

#include <algorithm>
#include <numeric>

#include "../kernel.h"
#include "strata/asm/llvm/assemble.h"

// Instructions of a kernel's code, and those that a launch ran.
namespace strata::emu::harness {
namespace {

/// One wave a workgroup: k(out, n) takes the exponential n times; out is written once.
const std::string kLoop = R"(
.text
.globl k
.p2align 8
.type k,@function
k:
    s_load_b64 s[2:3], s[0:1], 0x0
    s_load_b32 s4, s[0:1], 0x8
    v_lshlrev_b32 v0, 2, v0
    v_mov_b32 v1, 0
    s_waitcnt lgkmcnt(0)
    s_cmp_eq_u32 s4, 0
    s_cbranch_scc1 never
    s_delay_alu instid0(VALU_DEP_1)
again:
    v_exp_f32 v1, v1
    s_nop 0
    v_add_f32 v1, 1.0, v1
    s_sub_u32 s4, s4, 1
    s_cmp_lg_u32 s4, 0
    s_cbranch_scc1 again
    s_clause 0x0
    global_store_b32 v0, v1, s[2:3]
    s_branch end
never:
    v_log_f32 v1, v1
    s_nop 0
end:
    s_endpgm
.rodata
.p2align 6
.amdhsa_kernel k
    .amdhsa_kernarg_size 16
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_next_free_sgpr 16
    .amdhsa_next_free_vgpr 8
    .amdhsa_wavefront_size32 1
.end_amdhsa_kernel
)";

const InstructionUse* find(const std::vector<InstructionUse>& uses, std::string_view mnemonic) {
    auto it = std::ranges::find(uses, mnemonic, &InstructionUse::mnemonic);
    return it == uses.end() ? nullptr : &*it;
}
uint64_t total(const std::vector<InstructionUse>& uses) {
    return std::accumulate(uses.begin(), uses.end(), uint64_t{0},
                           [](uint64_t sum, const InstructionUse& use) { return sum + use.executed.value_or(0); });
}

TEST(FidelityReport, SaysHowOftenEachInstructionRan) {
    Gpu gpu(isa::Arch::gfx1100);
    auto module = gpu.load(isa::assemble(kLoop, isa::Arch::gfx1100).value()).value();
    Buffer<float> out(gpu, 32);
    for (const uint32_t n : {1u, 7000u})  // the timing model stops looking at a wave before it has run 7000 times
        for (const int threads : {1, 2})
            for (const bool timed : {false, true}) {
                const uint32_t groups = 9;
                LaunchConfig c = config({groups, 1, 1}, {32, 1, 1});
                c.threads = threads;
                c.timed = timed;
                c.counted = true;
                auto stats = gpu.launch(*module, "k", c, (Arguments() << out << n << 0u).bytes());
                ASSERT_TRUE(stats) << stats.error().message;
                const std::vector<InstructionUse>& uses = stats->instructions;
                EXPECT_EQ(find(uses, "v_exp_f32")->executed, groups * n);
                EXPECT_EQ(find(uses, "v_exp_f32")->count, 1);
                EXPECT_EQ(find(uses, "v_exp_f32")->fidelity.level, Fidelity::Level::silicon);
                EXPECT_EQ(find(uses, "v_log_f32")->executed, 0u);
                EXPECT_EQ(find(uses, "s_cbranch_scc1")->executed, groups * (n + 1));
                EXPECT_EQ(find(uses, "s_branch")->executed, groups);
                EXPECT_EQ(find(uses, "s_nop")->executed, groups * n);  // hints have no handler of their own
                EXPECT_EQ(find(uses, "s_nop")->count, 2);
                EXPECT_EQ(find(uses, "s_clause")->executed, groups);
                EXPECT_EQ(find(uses, "s_delay_alu")->executed, groups);
                EXPECT_EQ(find(uses, "s_endpgm")->executed, groups);
                EXPECT_EQ(total(uses), stats->wave_instructions);
            }
}

TEST(FidelityReport, IsEmptyUnlessItIsAskedForAndChangesNoTime) {
    Gpu gpu(isa::Arch::gfx1100);
    auto module = gpu.load(isa::assemble(kLoop, isa::Arch::gfx1100).value()).value();
    Buffer<float> out(gpu, 32);
    LaunchConfig c = config({40, 1, 1}, {32, 1, 1});
    const Arguments arguments = Arguments() << out << 3000u << 0u;
    const LaunchStats plain = gpu.launch(*module, "k", c, arguments.bytes()).value();
    const std::vector<float> want = out.values();
    c.counted = true;
    const LaunchStats counted = gpu.launch(*module, "k", c, arguments.bytes()).value();
    EXPECT_TRUE(plain.instructions.empty());
    EXPECT_FALSE(counted.instructions.empty());
    EXPECT_EQ(counted.modelled_cycles, plain.modelled_cycles);
    EXPECT_EQ(counted.wave_instructions, plain.wave_instructions);
    EXPECT_EQ(out.values(), want);
}

/// Calls, recursion and loops as clang makes them, with code that is found only at run time.
TEST(FidelityReport, CountsAddUpToWhatTheWavesRan) {
    const char* source = R"(
        __device__ __attribute__((noinline)) uint fib(uint n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
        __device__ __attribute__((noinline)) uint twice(uint n) { return 2 * n; }
        KERNEL void run(uint* out, uint which) {
            uint (*volatile table[2])(uint) = {fib, twice};
            out[BX * 64 + TX] = table[which](TX & 7);
        })";
    for (const isa::Arch arch : {isa::Arch::gfx942, isa::Arch::gfx90a}) {
        Gpu gpu(arch);
        auto module = gpu.load(compile_hip(source, "-O1", isa::info(arch).name)).value();
        Buffer<uint32_t> out(gpu, 64 * 5);
        for (const uint32_t which : {0u, 1u}) {
            LaunchConfig c = config({5, 1, 1}, {64, 1, 1});
            c.counted = true;
            auto stats = gpu.launch(*module, "run", c, (Arguments() << out << which).bytes());
            ASSERT_TRUE(stats) << stats.error().message;
            EXPECT_EQ(out.values()[7], which ? 14u : 13u);
            EXPECT_EQ(total(stats->instructions), stats->wave_instructions) << which;
        }
    }
}

TEST(FidelityReport, OfCodeAloneHasTheInstructionsOfTheLaunchWithoutCounts) {
    const std::vector<uint8_t> image = isa::assemble(kLoop, isa::Arch::gfx1100).value();
    const isa::CodeObject object = isa::CodeObject::parse(isa::Bytes(image.begin(), image.end())).value();
    const std::vector<InstructionUse> uses = kernel_fidelity(object, "k").value();
    EXPECT_EQ(find(uses, "v_log_f32")->count, 1);
    EXPECT_FALSE(find(uses, "v_log_f32")->executed);
    EXPECT_EQ(find(uses, "s_nop")->count, 2);
    EXPECT_EQ(kernel_fidelity(object, "other").error().kind, ErrorKind::Launch);
}

TEST(FidelityReport, TakesTheWaveSizeFromTheDescriptorAsALaunchDoes) {
    std::string text = kLoop;  // a pair is an instruction of waves of 32
    text.replace(text.find("v_log_f32 v1, v1"), 16, "v_dual_mov_b32 v1, 0 :: v_dual_mov_b32 v2, 0");
    const std::vector<uint8_t> image = isa::assemble(text, isa::Arch::gfx1100).value();
    isa::CodeObject object = isa::CodeObject::parse(isa::Bytes(image.begin(), image.end())).value();
    object.kernels[0].wave_size = 64;  // as metadata may have it
    auto uses = kernel_fidelity(object, "k");
    ASSERT_TRUE(uses) << uses.error().message;
    EXPECT_EQ(find(*uses, "v_dual_mov_b32")->count, 2);
    object.kernels[0].descriptor.properties &= static_cast<uint16_t>(~(1u << 10));
    object.kernels[0].wave_size = 32;
    EXPECT_EQ(kernel_fidelity(object, "k").error().kind, ErrorKind::Unsupported);
}

}  // namespace
}  // namespace strata::emu::harness
