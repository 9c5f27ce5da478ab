#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "families.h"
#include "llvm_oracle.h"
#include "maker.h"
#include "maker_cdna.h"
#include "strata/asm/isa/print.h"

using namespace strata;
using namespace strata::isa;

namespace {

class Rows : public testing::TestWithParam<Arch> {
  protected:
    Arch arch() const { return GetParam(); }
    Family family() const { return info(arch()).family; }
};

/// Encodings of every row: a number of random instances each.
template <class AnyMaker, class Check>
void for_each_made(Arch arch, AnyMaker maker, int rounds, const Check& check) {
    Family family = info(arch).family;
    for (const Row& row : rows(family)) {
        if (row.flags & kGraphics) continue;
        for (int round = 0; round < rounds; ++round) {
            Inst inst = maker.make(row);
            auto encoded = encode(arch, inst);
            ASSERT_TRUE(encoded) << encoded.error().message << " " << name(row.format);
            inst.size = static_cast<uint8_t>(encoded->count * 4);
            check(inst, std::span<const uint32_t>(encoded->words.data(), static_cast<size_t>(encoded->count)));
            if (testing::Test::HasFatalFailure()) return;
        }
    }
}

template <class Check>
void for_each_instance(Arch arch, int rounds, const Check& check) {
    Family family = info(arch).family;
    if (is_cdna(family)) return for_each_made(arch, CdnaMaker(family, 1), rounds, check);
    for_each_made(arch, Maker(family, 1), rounds, check);
}

INSTANTIATE_TEST_SUITE_P(Families, Rows, tested_archs(), arch_name);

}  // namespace

TEST_P(Rows, EveryComputeFormEncodesAndDecodesBack) {
    std::set<std::string_view> seen;
    size_t dpp = 0, sdwa = 0, accumulators = 0;
    for_each_instance(arch(), 24, [&](const Inst& inst, std::span<const uint32_t> words) {
        auto decoded = decode(arch(), words, wave_size(arch(), *inst.row));
        ASSERT_TRUE(decoded) << inst.row->mnemonic << ": " << decoded.error().message;
        EXPECT_EQ(*decoded, inst) << inst.row->mnemonic << " " << name(inst.row->format);
        auto again = encode(arch(), *decoded);
        ASSERT_TRUE(again) << inst.row->mnemonic;
        EXPECT_TRUE(std::ranges::equal(std::span(again->words).first(static_cast<size_t>(again->count)), words))
            << inst.row->mnemonic;
        seen.insert(inst.row->mnemonic);
        dpp += inst.dpp.kind != DppKind::none;
        sdwa += inst.sdwa.present;
        accumulators += inst.dst[0].is_agpr();
    });
    EXPECT_GT(seen.size(), 900u);
    EXPECT_GT(dpp, 500u);
    EXPECT_EQ(sdwa > 1000, is_cdna(family())) << sdwa;
    EXPECT_EQ(accumulators > 1000, is_cdna(family())) << accumulators;
}

TEST_P(Rows, EveryComputeFormPrintsTheTextOfLlvm) {
    LlvmOracle llvm(arch()), llvm64(arch(), 64);
    if (!llvm.available()) GTEST_SKIP() << "libLLVM 19 is not installed";
    for_each_instance(arch(), 12, [&](const Inst& inst, std::span<const uint32_t> words) {
        Words padded{};
        std::ranges::copy(words, padded.begin());
        LlvmOracle::Answer answer = (inst.row->flags & kWave64 ? llvm64 : llvm).ask(padded);
        EXPECT_EQ(print(inst, arch()), answer.text);
        EXPECT_EQ(inst.size, answer.size) << answer.text;
    });
}

TEST_P(Rows, LookupsFindEveryRow) {
    for (const Row& row : rows(family())) {
        const int waves = wave_size(arch(), row);
        EXPECT_EQ(&in_wave(family(), *find_row(family(), row.format, row.opcode), waves), &row);
        if (row.flags & kGraphics) continue;  // exports share one name
        EXPECT_EQ(&in_wave(family(), *find_row(family(), row.mnemonic, row.format), waves), &row);
    }
    EXPECT_EQ(find_row(family(), "v_add_f32")->format, Format::VOP2);
    EXPECT_EQ(find_row(family(), "v_nonsense"), nullptr);
    EXPECT_EQ(find_row(family(), "s_mov_b32", Format::VOP3), nullptr);
}

TEST_P(Rows, Vop3OpcodesFollowFromTheNativeFormats) {
    const int unary = is_cdna(family()) ? 0x140 : 0x180;
    for (const Row& row : rows(family())) {
        int base = row.format == Format::VOP1   ? unary
                   : row.format == Format::VOP2 ? 0x100
                   : row.format == Format::VOPC ? 0
                                                : -1;
        if (base < 0) continue;
        const Row* wide = find_row(family(), row.mnemonic, Format::VOP3);
        if (!wide) wide = find_row(family(), row.mnemonic, Format::VOP3SD);
        if (wide) {
            EXPECT_EQ(wide->opcode, base + row.opcode) << row.mnemonic;
        }
    }
}

TEST(RowTypes, FollowTheMnemonic) {
    auto row = [](std::string_view mnemonic) { return *find_row(Family::rdna3, mnemonic); };
    EXPECT_EQ(row("v_cvt_f32_u32").dst[0], Type::f32);
    EXPECT_EQ(row("v_cvt_f32_u32").src[0], Type::u32);
    EXPECT_EQ(row("v_mad_u64_u32").src[2], Type::u64);
    EXPECT_EQ(row("v_mad_u64_u32").dst[1], Type::lanes);
    EXPECT_EQ(row("v_ldexp_f64").src[1], Type::i32);
    EXPECT_EQ(row("v_lshlrev_b64").src[0], Type::u32);
    EXPECT_EQ(row("v_cndmask_b32").src[2], Type::lanes);
    EXPECT_EQ(row("v_cmp_lt_f16").src[0], Type::f16);
    EXPECT_EQ(row("v_cmp_lt_f16").dst[0], Type::lanes);
    EXPECT_EQ(row("v_pk_add_f16").src[0], Type::pk16);
    EXPECT_EQ(row("v_wmma_f32_16x16x16_f16").dst[0], Type::b256);
    EXPECT_EQ(row("s_bcnt1_i32_b64").src[0], Type::b64);
    EXPECT_EQ(row("s_ashr_i64").src[1], Type::u32);
    EXPECT_EQ(row("global_load_b96").dst[0], Type::b96);
    EXPECT_EQ(row("ds_load_2addr_b64").dst[0], Type::b128);
    EXPECT_EQ(row("buffer_atomic_cmpswap_b64").src[3], Type::b128);
    EXPECT_TRUE(row("v_rcp_f32").flags & kTrans);
    EXPECT_TRUE(row("s_addc_u32").flags & kReadsScc);
    EXPECT_FALSE(row("s_mul_i32").flags & kWritesScc);
}

TEST(RowTypes, OfRdna4FollowTheMnemonic) {
    auto row = [](std::string_view mnemonic) { return *find_row(Family::rdna4, mnemonic); };
    EXPECT_EQ(row("s_fmamk_f32").src_kind[1], kLiteralConstant);
    EXPECT_EQ(row("s_cvt_pk_rtz_f16_f32").dst[0], Type::pk16);
    EXPECT_TRUE(row("s_cmp_lt_f32").flags & kWritesScc);
    EXPECT_TRUE(row("s_add_co_ci_u32").flags & kReadsScc);
    EXPECT_FALSE(row("s_add_nc_u64").flags & kWritesScc);
    EXPECT_EQ(row("v_s_rcp_f32").dst_kind[0], kSgpr);
    EXPECT_TRUE(row("v_s_rcp_f32").flags & kTrans);
    EXPECT_EQ(row("v_swmmac_f32_16x16x32_f16").src[1], Type::b256);
    EXPECT_EQ(row("v_swmmac_f32_16x16x32_f16").src[2], Type::b32);
    EXPECT_EQ(row("v_wmma_f16_16x16x16_f16").dst[0], Type::b128);
    EXPECT_EQ(row("v_cvt_pk_f32_fp8").dst[0], Type::b64);
    EXPECT_EQ(row("global_load_block").dst[0], Type::b1024);
    EXPECT_EQ(row("global_load_tr_b128").dst[0], Type::b128);
    EXPECT_EQ(row("ds_pk_add_rtn_bf16").src[1], Type::pk16);
    EXPECT_TRUE(row("ds_cond_sub_u32").flags & kAtomic);
    EXPECT_EQ(row("s_prefetch_data_pc_rel").src[0], Type::u32);
}
