#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "strata/asm/isa/inst.h"

using namespace strata;
using namespace strata::isa;

namespace {

constexpr Arch arch = Arch::gfx1100;

bool is_half(Type type) { return type == Type::f16 || type == Type::i16 || type == Type::u16 || type == Type::b16; }

/// Random but legal operands for a row; sources share one SGPR so that the constant bus limit holds.
class Maker {
  public:
    explicit Maker(uint32_t seed) : random_(seed) {}

    Inst make(const Row& row) {
        Inst inst;
        inst.row = &row;
        inst.encoding = row.format;
        scalar_ = static_cast<uint16_t>(4 * pick(20));
        if (row.flags & kLiteral) inst.literal = random_();
        if (row.format == Format::VOPD) {
            vopd(inst);
        } else if (row.flags & kMemory) {
            memory(inst);
        } else {
            alu(inst);
        }
        return inst;
    }

    uint32_t pick(uint32_t count) { return random_() % count; }

  private:
    Operand vector(Type type, bool narrow = false) {
        int limit = (narrow && is_half(type) ? 128 : 256) - dwords(type, 32);
        return {static_cast<uint16_t>(code::vgpr0 + pick(static_cast<uint32_t>(limit) + 1)), type};
    }

    Operand operand(Type type, uint8_t kind, bool narrow, Inst& inst) {
        uint8_t choices[4];
        uint32_t count = 0;
        for (uint8_t bit : {kVgpr, kSgpr, kInline, kLiteralConstant})
            if (kind & bit) choices[count++] = bit;
        switch (choices[pick(count)]) {
            case kVgpr: return vector(type, narrow);
            case kSgpr: return {scalar_, type};
            case kInline: return {static_cast<uint16_t>(code::inline_zero + pick(81)), type};
            default: inst.literal = literal_; return {code::literal, type};
        }
    }

    void alu(Inst& inst) {
        const Row& row = *inst.row;
        bool native = row.format == Format::VOP1 || row.format == Format::VOP2 || row.format == Format::VOPC;
        bool narrow = native;
        bool implied_vcc = row.format == Format::VOP2 || row.format == Format::VOPC;
        literal_ = random_();
        for (size_t i = 0; i < 2 && row.dst_kind[i]; ++i) {
            bool lanes = row.dst[i] == Type::lanes;
            uint16_t fixed = row.flags & kWritesExec ? code::exec_lo : code::vcc_lo;
            if (lanes && (implied_vcc || row.flags & kWritesExec)) {
                inst.dst[i] = {fixed, Type::lanes};
            } else {
                inst.dst[i] = row.dst_kind[i] == kVgpr ? vector(row.dst[i], narrow) : Operand{scalar_, row.dst[i]};
            }
        }
        for (size_t i = 0; i < 4 && row.src_kind[i]; ++i) {
            bool lanes = row.src[i] == Type::lanes && row.format == Format::VOP2;
            bool may_be_literal = row.flags & kOneScalar ? i == 1 : true;
            uint8_t kind = row.src_kind[i];
            if (row.flags & kOneScalar)
                kind &= may_be_literal ? uint8_t{kVgpr | kLiteralConstant} : uint8_t{kVgpr | kInline};
            if (row.flags & (kLiteral | kReadsVcc) && kind != kLiteralConstant) kind &= ~uint8_t{kLiteralConstant};
            if (row.flags & kLiteral && kind == kLiteralConstant) literal_ = inst.literal;
            inst.src[i] = lanes ? Operand{code::vcc_lo, Type::lanes} : operand(row.src[i], kind, narrow, inst);
        }
        if (row.modifiers & mod::simm) inst.offset = static_cast<int16_t>(random_());
        if (row.modifiers & mod::message) inst.offset = static_cast<int32_t>(pick(256));
        if (!native && row.format >= Format::VOP1) modifiers(inst);
    }

    void modifiers(Inst& inst) {
        uint32_t some = inst.row->modifiers & random_();
        inst.neg = some & 7;
        inst.abs = some >> 3 & 7;
        inst.op_sel = some >> 6 & 15;
        inst.op_sel_hi = some >> 10 & 7;
        inst.neg_hi = some >> 13 & 7;
        inst.clamp = some & mod::clamp;
        if (some & mod::omod) inst.omod = static_cast<uint8_t>(pick(4));
        if (!(some & mod::dpp) || !inst.src[0].is_vgpr() || inst.literal) return;
        inst.dpp.kind = pick(2) ? DppKind::dpp8 : DppKind::dpp16;
        inst.dpp.fi = pick(2);
        if (inst.dpp.kind == DppKind::dpp8) {
            inst.dpp.select = random_() >> 8;
        } else {
            inst.dpp.ctrl = static_cast<uint16_t>(pick(256));
            inst.dpp.row_mask = static_cast<uint8_t>(pick(16));
            inst.dpp.bank_mask = static_cast<uint8_t>(pick(16));
            inst.dpp.bound_ctrl = pick(2);
        }
    }

    void vopd(Inst& inst) {
        auto all = rows(Family::rdna3);
        do {
            inst.row_y = &all[pick(static_cast<uint32_t>(all.size()))];
        } while (inst.row_y->format != Format::VOPD);
        if (inst.row->opcode > 15) std::swap(inst.row, inst.row_y);
        if (inst.row->opcode > 15) inst.row = find_row(Family::rdna3, "v_dual_add_f32");
        if ((inst.row->flags | inst.row_y->flags) & kLiteral) inst.literal = random_();
        auto bank = [&](uint32_t number, Type type) {
            return Operand{static_cast<uint16_t>(code::vgpr0 + 4 * pick(64) + number), type};
        };
        inst.dst[0] = bank(0, inst.row->dst[0]);
        inst.dst_y = bank(1, inst.row_y->dst[0]);
        for (size_t i = 0; i < 2; ++i) {
            if (inst.row->src_kind[i]) inst.src[i] = bank(2, inst.row->src[i]);
            if (inst.row_y->src_kind[i]) inst.src_y[i] = bank(3, inst.row_y->src[i]);
        }
    }

    void memory(Inst& inst) {
        const Row& row = *inst.row;
        uint32_t some = row.modifiers & random_();
        bool flat = row.format == Format::FLAT, smem = row.format == Format::SMEM;
        inst.glc = some & mod::glc;
        inst.slc = some & mod::slc;
        inst.dlc = some & mod::dlc;
        inst.gds = some & mod::gds || row.modifiers & mod::gds_only;
        bool buffer = row.format == Format::MUBUF || row.format == Format::MTBUF;
        bool returns = row.format == Format::DS || !(row.flags & kAtomic) || inst.glc;
        if (row.dst_kind[0] && returns) inst.dst[0] = smem ? Operand{scalar_, row.dst[0]} : vector(row.dst[0]);
        for (size_t i = 0; i < 4 && row.src_kind[i]; ++i)
            inst.src[i] = row.src_kind[i] & kVgpr ? vector(row.src[i]) : Operand{scalar_, row.src[i]};
        if (row.modifiers & mod::offset)
            inst.offset = static_cast<int32_t>(row.modifiers & mod::two_offsets ? pick(256) : pick(4096));
        if (row.modifiers & mod::two_offsets) inst.offset1 = static_cast<uint8_t>(pick(256));
        if (smem && !row.src_kind[0]) inst.offset = 0;
        if (!flat && !buffer && !smem && row.format != Format::DS) segment_address(inst);
        if (buffer && row.src_kind[0]) buffer_address(inst);
    }

    void segment_address(Inst& inst) {
        inst.offset -= 2048;
        for (size_t i = 0; i < 4; ++i) {
            if (inst.row->src_kind[i] != kSgpr) continue;
            bool off = pick(2);
            if (off) inst.src[i] = {};
            bool addressed =
                inst.row->src_kind[0] == kVgpr && i > 0 && inst.row->mnemonic.find("addtid") == std::string_view::npos;
            if (!addressed) continue;
            if (inst.row->format == Format::GLOBAL && !off) inst.src[0].type = Type::u32;
            if (inst.row->format == Format::SCRATCH && pick(2)) inst.src[0] = {};
        }
    }

    void buffer_address(Inst& inst) {
        inst.offen = pick(2);
        inst.idxen = pick(2);
        inst.src[0] = inst.offen || inst.idxen ? vector(inst.offen && inst.idxen ? Type::b64 : Type::u32) : Operand{};
        if (inst.row->format == Format::MTBUF) inst.buffer_format = static_cast<uint8_t>(pick(128));
        if (inst.row->flags & kAtomic && inst.glc) inst.dst[0] = {inst.src[3].code, inst.row->dst[0]};
    }

    std::mt19937 random_;
    uint16_t scalar_ = 0;
    uint32_t literal_ = 0;
};

}  // namespace

TEST(Rows, EveryComputeFormEncodesAndDecodesBack) {
    Maker maker(1);
    std::set<std::string_view> seen;
    for (const Row& row : rows(Family::rdna3)) {
        if (row.flags & kGraphics) continue;
        for (int round = 0; round < 24; ++round) {
            Inst inst = maker.make(row);
            auto encoded = encode(arch, inst);
            ASSERT_TRUE(encoded) << encoded.error().message << " " << name(row.format);
            std::span<const uint32_t> words(encoded->words.data(), static_cast<size_t>(encoded->count));
            auto decoded = decode(arch, words);
            ASSERT_TRUE(decoded) << row.mnemonic << ": " << decoded.error().message;
            inst.size = static_cast<uint8_t>(encoded->count * 4);
            EXPECT_EQ(*decoded, inst) << row.mnemonic << " " << name(row.format);
            auto again = encode(arch, *decoded);
            ASSERT_TRUE(again) << row.mnemonic;
            EXPECT_EQ(again->words, encoded->words) << row.mnemonic;
        }
        seen.insert(row.mnemonic);
    }
    EXPECT_GT(seen.size(), 900u);
}

TEST(Rows, LookupsFindEveryRow) {
    for (const Row& row : rows(Family::rdna3)) {
        EXPECT_EQ(find_row(Family::rdna3, row.format, row.opcode), &row);
        if (row.flags & kGraphics) continue;  // exports share one name
        EXPECT_EQ(find_row(Family::rdna3, row.mnemonic, row.format), &row);
    }
    EXPECT_EQ(find_row(Family::rdna3, "v_add_f32")->format, Format::VOP2);
    EXPECT_EQ(find_row(Family::rdna3, "v_nonsense"), nullptr);
    EXPECT_EQ(find_row(Family::rdna3, "s_add_u32", Format::VOP3), nullptr);
    EXPECT_EQ(find_row(Family::rdna3, Format::VOP2, 0), nullptr);
}

TEST(Rows, Vop3OpcodesFollowFromTheNativeFormats) {
    for (const Row& row : rows(Family::rdna3)) {
        int base = row.format == Format::VOP1   ? 0x180
                   : row.format == Format::VOP2 ? 0x100
                   : row.format == Format::VOPC ? 0
                                                : -1;
        if (base < 0) continue;
        const Row* wide = find_row(Family::rdna3, row.mnemonic, Format::VOP3);
        if (!wide) wide = find_row(Family::rdna3, row.mnemonic, Format::VOP3SD);
        if (wide) {
            EXPECT_EQ(wide->opcode, base + row.opcode) << row.mnemonic;
        }
    }
}

TEST(Rows, OperandTypesFollowTheMnemonic) {
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
