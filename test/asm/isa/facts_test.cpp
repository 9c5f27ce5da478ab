#include "strata/asm/isa/facts.h"

#include <gtest/gtest.h>

#include "strata/asm/llvm/assemble.h"

namespace strata::isa {
namespace {

Inst inst_of(Arch arch, const std::string& text) {
    const std::vector<uint32_t> words = assemble_instructions(text, arch, info(arch).wave_size).value();
    return decode(arch, words).value();
}
std::string joined(const std::vector<std::string_view>& names) {
    std::string text;
    for (std::string_view name : names) text += (text.empty() ? "" : " ") + std::string(name);
    return text;
}
std::string counted(Arch arch, const std::string& text) {
    return joined(counter_names(counters(info(arch).family, inst_of(arch, text))));
}
std::string reads(Arch arch, const std::string& text) {
    return joined(implicit_names(implicit_reads(info(arch).family, inst_of(arch, text))));
}
const Facts& facts_of(Family family, std::string_view mnemonic) { return facts(family, *find_row(family, mnemonic)); }

TEST(Facts, EveryRowButThoseWithoutAUnitHasFacts) {
    for (const ArchInfo& arch : first_archs())
        for (const Row& row : rows(arch.family))
            EXPECT_TRUE(row.format == Format::SOPP || facts(arch.family, row).issue)
                << arch.name << " " << row.mnemonic << " " << name(row.format);
}

/// The flags come from the names of the instructions, the facts from LLVM's tables.
TEST(Facts, ImplicitScalarsAgreeWithTheFlagsOfTheRows) {
    const std::pair<uint32_t, uint8_t> read[] = {{kReadsVcc, implicit::vcc}, {kReadsScc, implicit::scc}};
    const std::pair<uint32_t, uint8_t> written[] = {
        {kWritesVcc, implicit::vcc}, {kWritesScc, implicit::scc}, {kWritesExec, implicit::exec}};
    for (const ArchInfo& arch : first_archs())
        for (const Row& row : rows(arch.family)) {
            const Facts& known = facts(arch.family, row);
            for (auto [flag, bit] : read)
                EXPECT_EQ(!!(row.flags & flag), !!(known.reads & bit))
                    << arch.name << " " << row.mnemonic << " " << name(row.format) << " reads " << +bit;
            for (auto [flag, bit] : written)
                EXPECT_EQ(!!(row.flags & flag), !!(known.writes & bit))
                    << arch.name << " " << row.mnemonic << " " << name(row.format) << " writes " << +bit;
        }
}

TEST(Facts, MemoryCountsAndNothingElseButMessagesAndExportsDoes) {
    for (const ArchInfo& arch : first_archs())
        for (const Row& row : rows(arch.family)) {
            if (row.flags & (kGraphics | kNotOnSilicon) || row.format == Format::SMEM) continue;
            const Facts& known = facts(arch.family, row);
            const bool message = known.latency == LatencyClass::message;
            if (!message) {
                EXPECT_EQ(!!(row.flags & kMemory), known.counters != 0) << arch.name << " " << row.mnemonic;
            }
        }
}

// The reasons of LLVM's own waits, by kernels compiled for each arch.
TEST(Facts, EachKindOfAccessHasTheCounterThatIsWaitedFor) {
    const Arch r3 = Arch::gfx1100, r4 = Arch::gfx1201, c3 = Arch::gfx942;
    EXPECT_EQ(counted(r3, "global_load_b32 v0, v[2:3], off"), "vmcnt");
    EXPECT_EQ(counted(r3, "global_store_b32 v[2:3], v0, off"), "vscnt");
    EXPECT_EQ(counted(r3, "global_atomic_add_u32 v[2:3], v0, off"), "vscnt");
    EXPECT_EQ(counted(r3, "global_atomic_add_u32 v1, v[2:3], v0, off glc"), "vmcnt");
    EXPECT_EQ(counted(r3, "flat_load_b32 v0, v[2:3]"), "vmcnt lgkmcnt");
    EXPECT_EQ(counted(r3, "flat_store_b32 v[2:3], v0"), "vscnt lgkmcnt");
    EXPECT_EQ(counted(r3, "ds_store_b32 v0, v1"), "lgkmcnt");
    EXPECT_EQ(counted(r3, "s_load_b32 s0, s[2:3], null"), "lgkmcnt");
    EXPECT_EQ(counted(r3, "v_add_f32 v0, v1, v2"), "");
    EXPECT_EQ(counted(r4, "global_load_b32 v0, v[2:3], off"), "loadcnt");
    EXPECT_EQ(counted(r4, "global_store_b32 v[2:3], v0, off"), "storecnt");
    EXPECT_EQ(counted(r4, "global_atomic_add_u32 v1, v[2:3], v0, off th:TH_ATOMIC_RETURN"), "loadcnt");
    EXPECT_EQ(counted(r4, "flat_load_b32 v0, v[2:3]"), "loadcnt dscnt");
    EXPECT_EQ(counted(r4, "ds_load_b32 v0, v1"), "dscnt");
    EXPECT_EQ(counted(r4, "s_load_b32 s0, s[2:3], null"), "kmcnt");
    EXPECT_EQ(counted(c3, "global_load_dword v0, v[2:3], off"), "vmcnt");
    EXPECT_EQ(counted(c3, "global_store_dword v[2:3], v0, off"), "vmcnt");
    EXPECT_EQ(counted(c3, "flat_store_dword v[2:3], v0"), "vmcnt lgkmcnt");
    EXPECT_EQ(counted(c3, "ds_write_b32 v0, v1"), "lgkmcnt");
}

TEST(Facts, ADestinationThatIsAddedToOrPartlyKeptIsRead) {
    const Arch r3 = Arch::gfx1100, c3 = Arch::gfx942;
    EXPECT_EQ(reads(r3, "v_fma_f32 v0, v1, v2, v3"), "exec mode");
    EXPECT_EQ(reads(r3, "v_fmac_f32 v0, v1, v2"), "exec mode destination");
    EXPECT_EQ(reads(r3, "v_writelane_b32 v0, s1, s2"), "destination");
    EXPECT_EQ(reads(r3, "global_load_d16_hi_b16 v0, v[2:3], off"), "exec destination");
    EXPECT_EQ(reads(r3, "v_mov_b32_dpp v0, v1 row_shl:1 row_mask:0xf bank_mask:0xf"), "exec destination");
    EXPECT_EQ(reads(r3, "v_mov_b32_dpp v0, v1 row_shl:1 row_mask:0xf bank_mask:0xf bound_ctrl:1"), "exec");
    EXPECT_EQ(reads(r3, "v_interp_p2_f32 v0, v1, v2, v3"), "exec mode");
    EXPECT_EQ(reads(r3, "v_interp_p2_rtz_f16_f32 v0, v1, v2, v3"), "exec mode destination");
    EXPECT_EQ(reads(r3, "v_div_fmas_f32 v0, v1, v2, v3"), "vcc exec mode");
    EXPECT_EQ(reads(r3, "s_cmov_b32 s0, s1"), "scc destination");
    EXPECT_EQ(reads(r3, "ds_load_addtid_b32 v0"), "m0 exec");
    EXPECT_EQ(reads(r3, "ds_load_b32 v0, v1"), "exec");
    EXPECT_EQ(reads(r3, "scratch_load_b32 v0, v1, off"), "exec flat_scratch");
    EXPECT_EQ(reads(c3, "buffer_load_dword v1, s[4:7], 0 offen lds"), "m0 exec");
    EXPECT_EQ(
        reads(c3, "v_add_u32_sdwa v0, v1, v2 dst_sel:BYTE_0 dst_unused:UNUSED_PRESERVE src0_sel:DWORD src1_sel:DWORD"),
        "exec destination");
    EXPECT_EQ(reads(r3, "v_dual_fmac_f32 v0, v1, v2 :: v_dual_mov_b32 v3, v4"), "exec mode destination");
}

/// Peak rates that AMD publishes, in operations a clock of a CU of four SIMDs (RDNA: of two).
TEST(Facts, MatrixCyclesGiveThePublishedPeakRates) {
    auto rate = [](Family family, std::string_view mnemonic, int simds) {
        int m = 0, n = 0, k = 0;
        for (size_t at = 0; (at = mnemonic.find('_', at)) != mnemonic.npos; ++at)
            if (std::sscanf(mnemonic.data() + at, "_%dx%dx%d", &m, &n, &k) == 3) break;
        return 2 * m * n * k * simds / facts_of(family, mnemonic).issue;
    };
    EXPECT_EQ(rate(Family::cdna3, "v_mfma_f32_32x32x8_f16", 4), 2048);
    EXPECT_EQ(rate(Family::cdna3, "v_mfma_f32_16x16x4_f32", 4), 256);
    EXPECT_EQ(rate(Family::cdna3, "v_mfma_f64_16x16x4_f64", 4), 256);
    EXPECT_EQ(rate(Family::cdna3, "v_mfma_f32_16x16x8_xf32", 4), 1024);
    EXPECT_EQ(rate(Family::cdna3, "v_mfma_f32_32x32x16_fp8_fp8", 4), 4096);
    EXPECT_EQ(rate(Family::cdna3, "v_mfma_i32_16x16x32_i8", 4), 4096);
    EXPECT_EQ(rate(Family::cdna3, "v_smfmac_f32_32x32x16_f16", 4), 4096);
    EXPECT_EQ(rate(Family::cdna2, "v_mfma_f32_32x32x8f16", 4), 1024);
    EXPECT_EQ(rate(Family::cdna2, "v_mfma_f64_16x16x4f64", 4), 256);
    EXPECT_EQ(rate(Family::rdna3, "v_wmma_f32_16x16x16_f16", 2), 512);
    EXPECT_EQ(rate(Family::rdna3, "v_wmma_i32_16x16x16_iu4", 2), 1024);
    EXPECT_EQ(rate(Family::rdna4, "v_wmma_f32_16x16x16_f16", 2), 1024);
    EXPECT_EQ(rate(Family::rdna4, "v_wmma_f32_16x16x16_fp8_fp8", 2), 2048);
    EXPECT_EQ(rate(Family::rdna4, "v_swmmac_f32_16x16x32_f16", 2), 2048);
    EXPECT_EQ(rate(Family::rdna4, "v_wmma_i32_16x16x16_iu4", 2), 4096);
    EXPECT_EQ(matrix_passes(Family::cdna3, facts_of(Family::cdna3, "v_mfma_f32_32x32x2_f32")), 16);
}

TEST(Facts, ClassesAndCyclesFollowTheUnits) {
    EXPECT_EQ(facts_of(Family::rdna3, "v_exp_f32").latency, LatencyClass::trans);
    EXPECT_EQ(facts_of(Family::rdna3, "v_rcp_f64").latency, LatencyClass::trans64);
    EXPECT_EQ(facts_of(Family::rdna3, "v_fma_f64").latency, LatencyClass::valu64);
    EXPECT_EQ(facts_of(Family::rdna3, "v_mul_lo_u32").latency, LatencyClass::valu_quarter);
    EXPECT_EQ(facts_of(Family::rdna4, "s_add_f32").latency, LatencyClass::salu_float);
    EXPECT_EQ(facts_of(Family::cdna3, "s_barrier").latency, LatencyClass::barrier);
    EXPECT_EQ(facts_of(Family::cdna3, "s_cbranch_vccz").latency, LatencyClass::branch);
    const Facts& add = facts_of(Family::rdna3, "v_add_f32");
    EXPECT_EQ(issue_cycles(Family::rdna3, add, 32), 1);
    EXPECT_EQ(issue_cycles(Family::rdna3, add, 64), 2);
    EXPECT_EQ(issue_cycles(Family::cdna3, facts_of(Family::cdna3, "v_add_f32"), 64), 4);
    EXPECT_EQ(issue_cycles(Family::cdna3, facts_of(Family::cdna3, "v_fma_f64"), 64), 4);
}

}  // namespace
}  // namespace strata::isa
