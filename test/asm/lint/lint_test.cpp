#include "strata/asm/lint/lint.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

#include "../isa/llvm_oracle.h"
#include "../isa/random_words.h"
#include "strata/asm/llvm/assemble.h"

// Kernels with one thing wrong each, and what is said of them.
namespace strata::lint {
namespace {

using isa::Arch;

/// A kernel of these instructions; lines of `directives` go to its descriptor.
std::string kernel_text(Arch arch, std::string_view body, std::string_view directives = "") {
    const bool cdna = isa::is_cdna(isa::info(arch).family);
    auto has = [&](std::string_view name) { return directives.find(name) != std::string_view::npos; };
    std::string text = ".text\n.globl k\n.p2align 8\n.type k,@function\nk:\n";
    text += std::string(body) + "\n.Lend:\n.size k, .Lend-k\n.rodata\n.p2align 6\n.amdhsa_kernel k\n";
    text += ".amdhsa_user_sgpr_kernarg_segment_ptr 1\n" + std::string(directives) + "\n";
    if (!has("next_free_vgpr")) text += ".amdhsa_next_free_vgpr 32\n";
    if (!has("next_free_sgpr")) text += ".amdhsa_next_free_sgpr 32\n";
    if (cdna && !has("accum_offset")) text += ".amdhsa_accum_offset 16\n";
    text += ".end_amdhsa_kernel\n.amdgpu_metadata\n---\namdhsa.version: [ 1, 2 ]\namdhsa.kernels:\n";
    text +=
        "  - { .name: k, .symbol: k.kd, .kernarg_segment_size: 8, .kernarg_segment_align: 8, "
        ".group_segment_fixed_size: 0, .private_segment_fixed_size: 0, .wavefront_size: " +
        std::to_string(isa::info(arch).wave_size) +
        ", .sgpr_count: 32, .vgpr_count: 32, .max_flat_workgroup_size: 256 }\n";
    return text + "...\n.end_amdgpu_metadata\n";
}

const isa::Segment& text_of(const isa::CodeObject& object) { return *object.code_at(object.kernels[0].entry_address); }

/// The object of a text, with its findings.
struct Linted {
    explicit Linted(Arch arch, std::string_view body, std::string_view directives = "") {
        auto image = isa::assemble(kernel_text(arch, body, directives), arch, "k.s");
        EXPECT_TRUE(image) << (image ? "" : image.error().message);
        if (!image) return;
        object = isa::CodeObject::parse(std::move(*image)).value();
        auto result = lint(object, "k");
        EXPECT_TRUE(result) << (result ? "" : result.error().message);
        if (result) found = std::move(*result);
    }
    const isa::Segment& text() const { return text_of(object); }
    /// "0x8 missing-wait", a line a finding.
    std::string places() const {
        std::string all;
        for (const Finding& finding : found)
            all += fmt::format("{}{:#x} {}", all.empty() ? "" : "\n",
                               finding.pc - (object.kernels[0].entry_address - text().address), name(finding.kind));
        return all;
    }
    isa::CodeObject object;
    std::vector<Finding> found;
};

struct Case {
    std::string_view name;
    Arch arch;
    std::string_view body, directives, found;
};
const Case kCases[] = {
    {"NothingWrong", Arch::gfx1100,
     "s_load_b64 s[4:5], s[0:1], null\nv_lshlrev_b32 v1, 2, v0\ns_waitcnt lgkmcnt(0)\nglobal_load_b32 v2, v1, s[4:5]\n"
     "s_waitcnt vmcnt(0)\nv_add_f32 v2, v2, v2\nglobal_store_b32 v1, v2, s[4:5]\ns_endpgm",
     "", ""},
    {"WaitOnOneSideOfABranch", Arch::gfx1100,
     "global_load_b32 v2, v0, s[0:1]\ns_cmp_eq_u32 s0, 0\ns_cbranch_scc1 .Lskip\ns_waitcnt vmcnt(0)\n.Lskip:\n"
     "v_mov_b32 v3, v2\ns_endpgm",
     "", "0x14 missing-wait"},
    {"WaitOnBothSidesOfABranch", Arch::gfx1100,
     "global_load_b32 v2, v0, s[0:1]\ns_cmp_eq_u32 s0, 0\ns_cbranch_scc1 .Lelse\ns_waitcnt vmcnt(0)\ns_branch .Lend2\n"
     ".Lelse:\ns_waitcnt vmcnt(0)\n.Lend2:\nv_mov_b32 v3, v2\ns_endpgm",
     "", ""},
    {"LoadOfTheIterationBefore", Arch::gfx1100,
     "v_mov_b32 v2, 0\ns_mov_b32 s2, 4\n.Lloop:\nv_add_f32 v2, v2, v2\nglobal_load_b32 v2, v0, s[0:1]\n"
     "s_sub_i32 s2, s2, 1\ns_cmp_lg_u32 s2, 0\ns_cbranch_scc1 .Lloop\ns_endpgm",
     "", "0x8 missing-wait"},
    {"LoadWaitedForInTheIterationAfter", Arch::gfx1100,
     "v_mov_b32 v2, 0\ns_mov_b32 s2, 4\n.Lloop:\ns_waitcnt vmcnt(0)\nv_add_f32 v2, v2, v2\n"
     "global_load_b32 v2, v0, s[0:1]\ns_sub_i32 s2, s2, 1\ns_cmp_lg_u32 s2, 0\ns_cbranch_scc1 .Lloop\ns_endpgm",
     "", ""},
    {"HazardOverABranch", Arch::gfx942,
     "v_cmp_eq_u32_e32 vcc, 0, v0\ns_branch .Lnext\n.Lnext:\nv_div_fmas_f32 v1, v0, v0, v0\ns_endpgm", "",
     "0x8 hazard"},
    {"CallsSettle", Arch::gfx1100,
     "global_load_b32 v2, v0, s[0:1]\ns_getpc_b64 s[4:5]\ns_swappc_b64 s[30:31], s[4:5]\nv_mov_b32 v3, v2\ns_endpgm",
     "", ""},
    {"DistanceToAFunction", Arch::gfx942,
     "s_getpc_b64 s[8:9]\ns_add_u32 s8, s8, 24\ns_addc_u32 s9, s9, 0\nv_readfirstlane_b32 s6, v0\n"
     "s_swappc_b64 s[30:31], s[8:9]\ns_nop 0\ns_endpgm\nv_readlane_b32 s7, v0, s6\ns_setpc_b64 s[30:31]",
     "", "0x1c hazard"},
    {"DistanceFromAFunction", Arch::gfx942,
     "s_getpc_b64 s[8:9]\ns_add_u32 s8, s8, 28\ns_addc_u32 s9, s9, 0\ns_mov_b32 s6, 3\n"
     "s_swappc_b64 s[30:31], s[8:9]\nv_readlane_b32 s7, v0, s6\ns_endpgm\nv_readfirstlane_b32 s6, v0\n"
     "s_setpc_b64 s[30:31]",
     "", "0x14 hazard"},
    {"DistanceAcrossACallThatIsLongEnough", Arch::gfx942,
     "s_getpc_b64 s[8:9]\ns_add_u32 s8, s8, 32\ns_addc_u32 s9, s9, 0\ns_mov_b32 s6, 3\n"
     "s_swappc_b64 s[30:31], s[8:9]\ns_nop 1\nv_readlane_b32 s7, v0, s6\ns_endpgm\nv_readfirstlane_b32 s6, v0\n"
     "s_setpc_b64 s[30:31]",
     "", ""},
    {"FunctionBeforeTheKernel", Arch::gfx1100,
     "s_nop 0\ns_branch .Lon\n.Lf:\nv_mov_b32 v40, 0\ns_setpc_b64 s[30:31]\n.Lon:\ns_getpc_b64 s[8:9]\n"
     "s_add_u32 s8, s8, -12\ns_addc_u32 s9, s9, -1\ns_swappc_b64 s[30:31], s[8:9]\ns_endpgm",
     "", "0x8 register-range"},
    {"LongBranch", Arch::gfx1100,
     "s_getpc_b64 s[8:9]\ns_add_u32 s8, s8, 16\ns_addc_u32 s9, s9, 0\ns_setpc_b64 s[8:9]\nv_mov_b32 v41, 0\n"
     "v_mov_b32 v40, 0\ns_endpgm",
     "", "0x14 register-range"},
    {"AWaveThatTraps", Arch::gfx1100, "s_cmp_eq_u32 s0, 0\ns_cbranch_scc1 .Lon\ns_endpgm\n.Lon:\ns_trap 2", "", ""},
    {"ATrapOfADebugger", Arch::gfx1100, "s_trap 3", "", "0x0 end-of-code"},
    {"RegisterBeyondTheAllocation", Arch::gfx1100, "v_mov_b32 v8, 0\nv_mov_b32 v7, 0\ns_endpgm",
     ".amdhsa_next_free_vgpr 8", "0x0 register-range"},
    {"VectorAmongTheAccumulators", Arch::gfx942, "v_mov_b32_e32 v4, 0\ns_endpgm",
     ".amdhsa_next_free_vgpr 16\n.amdhsa_accum_offset 4", "0x0 register-range"},
    {"AccumulatorBeyondTheAllocation", Arch::gfx942, "v_accvgpr_write_b32 a4, 0\nv_accvgpr_write_b32 a3, 0\ns_endpgm",
     ".amdhsa_next_free_vgpr 8\n.amdhsa_accum_offset 4", "0x0 register-range"},
    {"ScalarBeyondTheAllocation", Arch::gfx90a, "s_mov_b32 s16, 0\ns_mov_b32 s15, 0\ns_endpgm",
     ".amdhsa_next_free_sgpr 8", "0x0 register-range"},
    {"NoEnd", Arch::gfx1100, "v_mov_b32 v1, 0\ns_nop 0", "", "0x4 end-of-code"},
    {"NoEndOnOnePath", Arch::gfx1100, "s_cmp_eq_u32 s0, 0\ns_cbranch_scc1 .Lon\ns_endpgm\n.Lon:\nv_mov_b32 v1, 0", "",
     "0xc end-of-code"},
    {"BranchBeyondTheEnd", Arch::gfx1100, "s_nop 0\ns_branch 0x7000\ns_endpgm", "", "0x4 end-of-code"},
    {"BranchBeforeTheBeginning", Arch::gfx1100, "s_nop 0\ns_branch 0x8000\ns_endpgm", "", "0x4 end-of-code"},
    {"EndlessLoop", Arch::gfx1100, ".Lloop:\ns_branch .Lloop", "", ""},
    {"WorkgroupIdThatIsNotAskedFor", Arch::gfx1100, "s_add_u32 s4, s2, s3\ns_endpgm", "", "0x0 missing-id"},
    {"WorkgroupIdThatIsAskedFor", Arch::gfx1100, "s_add_u32 s4, s2, s3\ns_endpgm",
     ".amdhsa_system_sgpr_workgroup_id_y 1", ""},
    {"WorkItemIdThatIsNotAskedFor", Arch::gfx1100, "v_bfe_u32 v1, v0, 10, 10\ns_endpgm", "", "0x0 missing-id"},
    {"WorkItemIdThatIsAskedFor", Arch::gfx1100, "v_bfe_u32 v1, v0, 10, 10\ns_endpgm",
     ".amdhsa_system_vgpr_workitem_id 1", ""},
    {"NoWorkItemIdAnyMore", Arch::gfx1100, "v_mov_b32 v0, 7\nv_bfe_u32 v1, v0, 10, 10\ns_endpgm", "", ""},
    {"NeverWritten", Arch::gfx1100, "v_add_f32 v1, v5, v5\ns_endpgm", "", "0x0 uninitialised"},
    {"WrittenOnOnePath", Arch::gfx1100,
     "s_cmp_eq_u32 s0, 0\ns_cbranch_scc1 .Lskip\nv_mov_b32 v5, 0\n.Lskip:\nv_add_f32 v1, v5, v5\ns_endpgm", "", ""},
    {"TexelWithoutItsWait", Arch::gfx1100,
     "s_load_b256 s[4:11], s[0:1], null\ns_waitcnt lgkmcnt(0)\n"
     "image_load v1, v0, s[4:11] dmask:0x1 dim:SQ_RSRC_IMG_1D\nv_mov_b32 v2, v1\ns_endpgm",
     "", "0x14 missing-wait"},
    {"TexelWithItsWait", Arch::gfx1201,
     "s_load_b256 s[4:11], s[0:1], null\ns_wait_kmcnt 0x0\n"
     "image_load v1, v0, s[4:11] dmask:0x1 dim:SQ_RSRC_IMG_1D\ns_wait_loadcnt 0x0\nv_mov_b32 v2, v1\ns_endpgm",
     "", ""},
    {"SecondAddressOfATexelWithoutItsWait", Arch::gfx1100,
     "s_load_b256 s[4:11], s[0:1], null\ns_waitcnt lgkmcnt(0)\nglobal_load_b32 v5, v0, s[0:1]\n"
     "image_load v1, [v0, v5], s[4:11] dmask:0x1 dim:SQ_RSRC_IMG_2D\ns_endpgm",
     "", "0x14 missing-wait"},
    {"SecondAddressOfATexelNeverWritten", Arch::gfx1100,
     "s_load_b256 s[4:11], s[0:1], null\ns_waitcnt lgkmcnt(0)\n"
     "image_load v1, [v0, v5], s[4:11] dmask:0x1 dim:SQ_RSRC_IMG_2D\ns_endpgm",
     "", "0xc uninitialised"},
    {"DualMovesOfOneBank", Arch::gfx1100, ".long 0xca100100, 0x01020100\ns_endpgm", "", "0x0 dual-registers"},
    {"DualMovesOfOneBankOnRdna4", Arch::gfx1201, ".long 0xca100100, 0x01020100\ns_endpgm", "", ""},
    {"ClauseOfTwoKinds", Arch::gfx1100, "s_clause 0x1\nglobal_load_b32 v1, v0, s[0:1]\nds_load_b32 v2, v0\ns_endpgm",
     "", "0x0 clause"},
    {"ClauseWithAScalarOperation", Arch::gfx1100,
     "s_clause 0x2\nglobal_load_b32 v1, v0, s[0:1]\ns_mov_b32 s4, 0\nglobal_load_b32 v2, v0, s[0:1]\ns_endpgm", "",
     "0x0 clause"},
    {"ClauseOfLoads", Arch::gfx1100,
     "s_clause 0x1\nglobal_load_b32 v1, v0, s[0:1]\nglobal_load_b32 v2, v0, s[0:1]\ns_endpgm", "", ""},
    {"ReleasedRegisters", Arch::gfx1100, "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\nv_mov_b32 v1, 0\ns_endpgm", "",
     "0x4 released-registers"},
    {"BarrierBehindALocalStore", Arch::gfx1100, "ds_store_b32 v0, v0\ns_barrier\ns_endpgm", "", ""},
};

class Lint : public ::testing::TestWithParam<Case> {};
TEST_P(Lint, FindsWhatIsWrong) {
    const Case& c = GetParam();
    EXPECT_EQ(Linted(c.arch, c.body, c.directives).places(), c.found);
}
INSTANTIATE_TEST_SUITE_P(Kernels, Lint, ::testing::ValuesIn(kCases),
                         [](const auto& which) { return std::string(which.param.name); });

/// An object's target id says whether memory instructions may run twice ("gfx90a:xnack+") or may not ("gfx90a:xnack-").
TEST(LintReplay, RulesOfClausesFollowTheTargetId) {
    constexpr uint32_t kAny = 0x100, kOff = 0x200, kOn = 0x300;
    for (const Arch arch : {Arch::gfx942, Arch::gfx90a})
        for (const uint32_t says : {kAny, kOff, kOn}) {
            auto image = isa::assemble(
                kernel_text(arch, "s_load_dword s4, s[0:1], 0x0\ns_load_dword s0, s[2:3], 0x0\ns_endpgm"), arch);
            ASSERT_TRUE(image) << image.error().message;
            uint32_t flags = 0;
            memcpy(&flags, image->data() + offsetof(Elf64_Ehdr, e_flags), sizeof flags);
            flags = (flags & ~kOn) | says;
            memcpy(image->data() + offsetof(Elf64_Ehdr, e_flags), &flags, sizeof flags);
            const auto object = isa::CodeObject::parse(std::move(*image));
            ASSERT_TRUE(object) << object.error().message;
            EXPECT_EQ(lint(*object, "k").value().size(), says == kOff ? 0u : 1u) << says;
        }
}

constexpr std::string_view kWrong = "s_nop 0\ns_nop 1\nglobal_load_b32 v2, v0, s[0:1]\nv_mov_b32 v3, v2\ns_endpgm";

TEST(LintText, IsALineInTheStyleOfCompilers) {
    const Linted wrong(Arch::gfx1100, kWrong);
    ASSERT_EQ(wrong.found.size(), 1u);
    EXPECT_EQ(to_line(wrong.found[0], wrong.object, wrong.object.kernels[0]),
              "k.s:9: warning: v2 is read while global_load_b32 may still fill it; fix: s_waitcnt vmcnt(0) before this "
              "[missing-wait]");
}

TEST(LintText, ShowsTheInstructionAmongItsNeighboursAndTheOneBefore) {
    const Linted wrong(Arch::gfx1100, kWrong);
    ASSERT_EQ(wrong.found.size(), 1u);
    EXPECT_EQ(to_text(wrong.found[0], wrong.object, wrong.text()),
              "missing-wait: k.s:9: v2 is read while global_load_b32 may still fill it\n"
              "    0x000004  s_nop 1\n"
              "    0x000008  global_load_b32 v2, v0, s[0:1]\n"
              "  > 0x000010  v_mov_b32_e32 v3, v2\n"
              "    0x000014  s_endpgm\n"
              "  earlier: 0x8 (k.s:8)  global_load_b32 v2, v0, s[0:1]\n"
              "  fix: s_waitcnt vmcnt(0) before this\n");
}

TEST(LintText, TellsWhoWasSeenAndHowOften) {
    const Linted wrong(Arch::gfx1100, kWrong);
    ASSERT_EQ(wrong.found.size(), 1u);
    Finding seen = wrong.found[0];
    seen.witness = Witness{{1, 2, 3}, 4, 0xff, 0x1000};
    seen.count = 12;
    const std::string text = to_text(seen, wrong.object, wrong.text());
    EXPECT_NE(text.find("  seen in workgroup (1, 2, 3), wave 4, lanes 0xff, address 0x1000\n  12 times\n"),
              std::string::npos)
        << text;
}

TEST(LintText, IsJson) {
    const Linted wrong(Arch::gfx1100, kWrong);
    EXPECT_EQ(
        to_json(wrong.found, wrong.object, wrong.object.kernels[0]),
        "[\n  {\"kind\": \"missing-wait\", \"kernel\": \"k\", \"pc\": 16, \"instruction\": \"v_mov_b32_e32 v3, v2\", "
        "\"file\": \"k.s\", \"line\": 9, \"column\": 0, \"what\": \"v2 is read while global_load_b32 may still fill "
        "it\", \"fix\": \"s_waitcnt vmcnt(0) before this\", \"count\": 1, \"earlier\": {\"pc\": 8, \"instruction\": "
        "\"global_load_b32 v2, v0, s[0:1]\", \"file\": \"k.s\", \"line\": 8, \"column\": 0}}\n]");
    EXPECT_EQ(to_json({}, wrong.object, wrong.object.kernels[0]), "[]");
}

/// Any words: the linter ends, and says that bytes are no instruction or what it finds.
TEST(LintErrors, AreNoEndOfTheProcess) {
    size_t linted = 0;
    for (Arch arch : {Arch::gfx1100, Arch::gfx1201, Arch::gfx942, Arch::gfx90a}) {
        isa::RandomWords random(isa::info(arch).family, 7);
        for (int i = 0; i < 400; ++i) {
            isa::KernelSpec spec{.name = "k", .vgprs = 24, .sgprs = 16, .wave_size = isa::info(arch).wave_size};
            while (spec.code.size() < 40) {
                const isa::Words words = random.next();
                const auto inst = isa::decode(arch, words);
                for (size_t k = 0; inst && k < inst->size / 4u; ++k) spec.code.push_back(words[k]);
            }
            const auto object = isa::CodeObject::parse(isa::write_code_object(arch, {&spec, 1}).value());
            ASSERT_TRUE(object);
            const auto found = lint(*object, "k");
            if (!found) {
                EXPECT_EQ(found.error().kind, ErrorKind::Unsupported) << found.error().message;
                continue;
            }
            ++linted;
            for (const Finding& finding : *found) {
                EXPECT_FALSE(to_line(finding, *object, object->kernels[0]).empty());
                EXPECT_FALSE(to_text(finding, *object, text_of(*object)).empty());
            }
        }
    }
    EXPECT_GT(linted, 800u);
}

TEST(LintErrors, NameTheKernelOrTheBytes) {
    const Linted right(Arch::gfx1100, "s_endpgm");
    const auto absent = lint(right.object, "other");
    ASSERT_FALSE(absent);
    EXPECT_EQ(absent.error().kind, ErrorKind::Launch);
    EXPECT_EQ(absent.error().message, "the code object has no kernel 'other'; it has: k");
    const auto image = isa::assemble(kernel_text(Arch::gfx1100, "s_nop 0\n.long 0xc0000000\ns_endpgm"), Arch::gfx1100);
    ASSERT_TRUE(image);
    const auto object = isa::CodeObject::parse(*image);
    ASSERT_TRUE(object);
    const auto bad = lint(*object, "k");
    ASSERT_FALSE(bad);
    EXPECT_EQ(bad.error().kind, ErrorKind::Unsupported);
    EXPECT_NE(bad.error().message.find("are no instruction of gfx1100"), std::string::npos) << bad.error().message;
}

}  // namespace
}  // namespace strata::lint
