#include "strata/asm/emu/launch/clear.h"

#include <string>

#include "../kernel.h"
#include "strata/asm/llvm/assemble.h"

// Vector registers that nobody wrote are 0, whatever waves before left where they lie; what is written first is not
// cleared.
namespace strata::emu::harness {
namespace {

constexpr uint32_t kGroups = 400;

/// A kernel of one wave of 32 lanes a workgroup. The value that `body` leaves in v4 goes to out[group * 32 + lane],
/// then the wave fills its registers. v1 is 4 * lane, s[4:5] the array, which holds 1 halves.
std::string kernel(const std::string& body) {
    std::string text = R"(.text
.globl k
.p2align 8
.type k,@function
k:
    s_load_b64 s[4:5], s[0:1], 0x0
    v_lshlrev_b32 v1, 2, v0
    v_lshl_add_u32 v2, s2, 7, v1
    s_waitcnt lgkmcnt(0)
)" + body + "\n    s_mov_b32 exec_lo, -1\n    global_store_b32 v2, v4, s[4:5]\n";
    for (int i = 0; i < 16; ++i) text += "    v_mov_b32 v" + std::to_string(i) + ", -1\n";
    return text + R"(    s_endpgm
    .rodata
    .p2align 6
    .amdhsa_kernel k
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
        .amdhsa_system_sgpr_workgroup_id_x 1
        .amdhsa_kernarg_size 8
        .amdhsa_next_free_vgpr 16
        .amdhsa_next_free_sgpr 16
    .end_amdhsa_kernel
)";
}

std::vector<uint32_t> run(const std::string& body, uint32_t lanes = 32) {
    const auto image = isa::assemble(kernel(body), isa::Arch::gfx1100);
    EXPECT_TRUE(image) << body << ": " << image.error().message;
    if (!image) return {};
    Gpu gpu(isa::Arch::gfx1100);
    const auto module = gpu.load(*image).value();
    Buffer<uint32_t> out(gpu, std::vector<uint32_t>(kGroups * 32, 0x00010001));
    const auto stats = gpu.launch(*module, "k", config({kGroups, 1, 1}, {lanes, 1, 1}), (Arguments() << out).bytes());
    EXPECT_TRUE(stats) << body << ": " << stats.error().message;
    return out.values();
}

}  // namespace

TEST(Cleared, AreRegistersThatAreReadBeforeTheyAreWrittenWhollyByAllLanes) {
    struct Case {
        const char *what, *body;
        uint32_t (*expected)(uint32_t lane);
    };
    const auto zero = [](uint32_t) { return 0u; };
    const Case cases[] = {
        {"read first", "v_mov_b32 v4, v7\n v_mov_b32 v7, 1", zero},
        {"read by what writes it", "v_add_nc_u32 v4, v4, v4", zero},
        {"half of it loaded", "global_load_d16_hi_b16 v4, v2, s[4:5]\n s_waitcnt vmcnt(0)",
         [](uint32_t) { return 0x10000u; }},
        {"one lane written", "v_writelane_b32 v4, 5, 3", [](uint32_t lane) { return lane == 3 ? 5u : 0u; }},
        {"few lanes on", "s_mov_b32 exec_lo, 6\n v_mov_b32 v4, 5",
         [](uint32_t lane) { return lane == 1 || lane == 2 ? 5u : 0u; }},
        {"lanes that a comparison leaves on", "v_cmpx_gt_u32 12, v1\n v_mov_b32 v4, 5",
         [](uint32_t lane) { return lane < 3 ? 5u : 0u; }},
        {"after a branch", "s_cmp_eq_u32 s4, s4\n s_cbranch_scc1 over\n v_mov_b32 v4, 5\nover:", zero},
        {"lanes that others give nothing", "v_mov_b32_dpp v4, v1 row_shr:15 row_mask:0xf bank_mask:0xf",
         [](uint32_t lane) { return lane % 16 == 15 ? 4 * (lane - 15) : 0u; }},
        {"one row of lanes", "v_mov_b32_dpp v4, v1 quad_perm:[0,1,2,3] row_mask:0x1 bank_mask:0xf",
         [](uint32_t lane) { return lane < 16 ? 4 * lane : 0u; }},
    };
    for (const Case& c : cases) {
        const std::vector<uint32_t> out = run(c.body);
        for (uint32_t i = 0; i < out.size(); ++i)
            ASSERT_EQ(out[i], c.expected(i % 32)) << c.what << ", workgroup " << i / 32 << " lane " << i % 32;
    }
}

TEST(Cleared, AreAllRegistersOfAWaveThatStartsWithFewLanes) {
    const std::vector<uint32_t> out = run("v_mov_b32 v4, 5\n v_readlane_b32 s6, v4, 31\n v_mov_b32 v4, s6", 20);
    for (uint32_t i = 0; i < out.size(); ++i)
        if (i % 32 < 20) ASSERT_EQ(out[i], 0u) << i;
}

TEST(Cleared, AreNoRegistersThatStraightCodeWritesFirst) {
    const auto rows_of = [](const std::string& body) {
        const auto words = isa::assemble_instructions(body + "\ns_endpgm", isa::Arch::gfx1100, 32).value();
        Program program(isa::Arch::gfx1100, 32, 16, 16,
                        {reinterpret_cast<const uint8_t*>(words.data()), words.size() * 4}, 0);
        return RowsToClear(program, program.entry(0).value()).of_full_wave();
    };
    std::string all;
    for (int i = 0; i < 16; ++i) all += "v_mov_b32 v" + std::to_string(i) + ", 0\n";
    EXPECT_EQ(rows_of(all), std::vector<Rows>{});
    EXPECT_EQ(rows_of(""), (std::vector<Rows>{{0, 16}}));
    EXPECT_EQ(
        rows_of("global_load_b128 v[4:7], v0, s[0:1]\n v_add_nc_u32 v9, v8, v4\n v_mov_b32 v8, 0\n v_mov_b32 v10, 0"),
        (std::vector<Rows>{{0, 4}, {8, 1}, {11, 5}}));
    EXPECT_EQ(rows_of("s_nop 0\n v_mov_b32 v3, v1\n s_cbranch_scc0 8f\n v_mov_b32 v4, 0\n8:"),
              (std::vector<Rows>{{0, 3}, {4, 12}}));
}

}  // namespace strata::emu::harness
