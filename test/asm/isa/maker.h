#pragma once
#include <random>

#include "strata/asm/isa/inst.h"
#include "strata/asm/isa/table_p.h"

namespace strata::isa {

/// Random but legal operands for a row; sources share one SGPR so that the constant bus limit holds.
class Maker {
  public:
    /// With `halves` all 16-bit operands may be upper halves, which LLVM 19 does not know of most instructions.
    Maker(Family family, uint32_t seed, bool halves = false) : family_(family), halves_(halves), random_(seed) {}

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
        if (row.modifiers & mod::simm)
            inst.offset =
                row.format == Format::VINTERP ? static_cast<int32_t>(pick(8)) : static_cast<int16_t>(random_());
        if (row.modifiers & mod::message) inst.offset = static_cast<int32_t>(pick(256));
        if (!native && row.format >= Format::VOP1) modifiers(inst);
        if (native && halves_) upper_halves(inst);
    }

    void upper_halves(Inst& inst) {
        auto choose = [&](const Operand& operand, uint32_t bit) {
            if (is_half(operand.type) && operand.is_vgpr()) inst.op_sel |= static_cast<uint8_t>(pick(2) << bit);
        };
        choose(inst.dst[0], 3);
        for (uint32_t i = 0; i < 3; ++i) choose(inst.src[i], i);
    }

    void modifiers(Inst& inst) {
        uint32_t some = inst.row->modifiers & random_();
        inst.neg = some & 7;
        inst.abs = some >> 3 & 7;
        inst.op_sel = some >> 6 & 15;
        if (halves_) inst.op_sel |= table(family_).bits_of(*inst.row).op_sel & ~(inst.row->modifiers >> 6) & pick(16);
        inst.op_sel_hi = some >> 10 & 7;
        const RowBits& bits = table(family_).bits_of(*inst.row);
        if (bits.ones) inst.op_sel_hi = 7;
        inst.op_sel_hi |= bits.op_sel_hi_default;
        inst.neg_hi = some >> 13 & 7;
        inst.clamp = some & mod::clamp;
        if (some & mod::omod) inst.omod = static_cast<uint8_t>(pick(4));
        if (!(some & mod::dpp) || inst.literal) return;
        for (size_t i = 0; i < 3; ++i)
            if (inst.src[i].present() && !inst.src[i].is_vgpr() && !dpp_takes_scalar(*inst.row, i)) return;
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
        auto all = rows(family_);
        do {
            inst.row_y = &all[pick(static_cast<uint32_t>(all.size()))];
        } while (inst.row_y->format != Format::VOPD);
        if (inst.row->opcode > 15) std::swap(inst.row, inst.row_y);
        if (inst.row->opcode > 15) inst.row = find_row(family_, "v_dual_add_f32");
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
        bool wide = family_ == Family::rdna4;  // 24-bit offsets, th and scope
        if (wide && some & mod::cache) {
            inst.th = static_cast<uint8_t>(pick(smem ? 4 : 8));
            inst.scope = static_cast<uint8_t>(pick(4));
        }
        inst.glc = !wide && some & mod::glc;
        inst.slc = some & mod::slc;
        inst.dlc = some & mod::dlc;
        inst.gds = some & mod::gds || row.modifiers & mod::gds_only;
        bool buffer = row.format == Format::MUBUF || row.format == Format::MTBUF;
        bool returns = row.format == Format::DS || !(row.flags & kAtomic) || inst.glc || inst.th & 1;
        if (row.dst_kind[0] && returns) inst.dst[0] = smem ? Operand{scalar_, row.dst[0]} : vector(row.dst[0]);
        for (size_t i = 0; i < 4 && row.src_kind[i]; ++i)
            inst.src[i] = row.src_kind[i] & kVgpr ? vector(row.src[i]) : Operand{scalar_, row.src[i]};
        if (row.modifiers & mod::offset)
            inst.offset = static_cast<int32_t>(
                row.modifiers & mod::two_offsets ? pick(256) : pick(wide && row.format != Format::DS ? 1 << 23 : 4096));
        if (row.modifiers & mod::two_offsets) inst.offset1 = static_cast<uint8_t>(pick(256));
        if (smem && !row.src_kind[0]) inst.offset = 0;
        if (smem && row.src_kind[0] && !row.dst_kind[0]) inst.offset1 = static_cast<uint8_t>(pick(32));
        if (wide && flat && pick(2)) inst.offset = -inst.offset;
        if (!row.src_kind[0]) return;
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
        if (inst.row->flags & kAtomic && (inst.glc || inst.th & 1)) inst.dst[0] = {inst.src[3].code, inst.row->dst[0]};
    }

    Family family_;
    bool halves_;
    std::mt19937 random_;
    uint16_t scalar_ = 0;
    uint32_t literal_ = 0;
};

}  // namespace strata::isa
