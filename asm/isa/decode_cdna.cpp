#include "strata/asm/isa/decode_cdna_p.h"
#include "strata/asm/isa/decode_p.h"

namespace strata::isa {

bool CdnaDecoder::run(Inst& inst) {
    const Layout* layout = table_.by_prefix[words_[0] >> 23];
    if (!layout) return fail("unknown encoding");
    if (layout->segment.bits) {
        uint32_t segment = layout->segment.get(words_[0]);
        if (segment == 3) return fail("unknown segment");
        layout = table_.layouts[index_of(Format::FLAT) + segment];
    }
    if (words_.size() < layout->words) return fail("the instruction is longer than the words given");
    word_ = layout->words > 1 ? words_[0] | uint64_t{words_[1]} << 32 : words_[0];
    next_ = layout->words;
    uint16_t number = table_.number(layout->format, layout->op.get(word_));
    if (number == FamilyTable::kNoRow) return fail("unknown opcode");
    const Row& row = table_.rows[number];
    if (row.flags & kGraphics) return fail("graphics instructions are not decoded");
    if (row.format != layout->format) layout = &table_.layout(row.format);
    if (word_ & ~table_.row_bits[number]) return fail("bits that must be zero are set");
    inst.row = &row;
    inst.encoding = layout->format;
    layout_ = layout;
    if (is_memory(layout->format)) {
        if (!decode_memory(inst)) return false;
    } else if (!(layout->format == Format::MFMA ? decode_matrix(inst) : decode_alu(inst))) {
        return false;
    }
    return finish(inst);
}

bool CdnaDecoder::finish(Inst& inst) {
    if (literal_) {
        if (next_ >= words_.size()) return fail("the literal is missing");
        inst.literal = words_[next_++];
    }
    inst.size = static_cast<uint8_t>(next_ * 4);
    return true;
}

/// Resolves a nine-bit code against what the operand may be.
bool CdnaDecoder::operand(Operand& out, uint32_t code, Type type, uint8_t kind) {
    uint8_t have = kCdnaCodeKinds[code];
    if (have == kVgpr && kind == kAgpr) have = kAgpr;
    if (!(have & kind)) return fail("operand code is not allowed here");
    int span = span_of(type) + (type == Type::lanes);
    if (have == kSgpr) {
        if (code == kCdnaM0) code = code::m0;
        if (!cdna_scalar_fits(code, span)) return fail("no such group of scalar registers");
        if (span > 1) code &= span == 2 ? ~1u : ~3u;  // low bits of a group are ignored
    } else if (have & (kVgpr | kAgpr)) {
        if (code - code::vgpr0 + static_cast<uint32_t>(span) > 256) return fail("vector registers past v255");
        if (have == kAgpr) code += code::agpr0 - code::vgpr0;
    }
    literal_ |= code == code::literal;
    out = {static_cast<uint16_t>(code), type};
    return true;
}

bool CdnaDecoder::decode_alu(Inst& inst) {
    const Row& row = *inst.row;
    if (!decode_destinations(inst)) return false;
    if (layout_->words == 2) decode_modifiers(inst);
    if (row.modifiers & mod::simm)
        inst.offset = layout_->simm.bits == 16 ? static_cast<int16_t>(layout_->simm.get(word_))
                                               : static_cast<int32_t>(layout_->simm.get(word_));
    for (size_t i = 0, field = 0; i < 4 && row.src_kind[i]; ++i) {
        if (row.src_kind[i] == kLiteralConstant) {
            inst.src[i] = {code::literal, row.src[i]};
            literal_ = true;
        } else if (field == 3 || layout_->src[field].bits == 0) {  // carry in and select mask of VOP2
            inst.src[i] = {code::vcc_lo, Type::lanes};
        } else if (!decode_source(inst, i, layout_->src[field++])) {
            return false;
        }
    }
    return true;
}

bool CdnaDecoder::decode_destinations(Inst& inst) {
    const Row& row = *inst.row;
    for (size_t i = 0; i < 2 && row.dst_kind[i]; ++i) {
        const Field& bits = i == 0 ? layout_->dst : layout_->sdst;
        if (bits.bits == 0) {
            inst.dst[i] = {code::vcc_lo, Type::lanes};
            continue;
        }
        uint32_t code = bits.get(word_);
        if (row.dst_kind[i] != kSgpr) code += code::vgpr0;
        if (!operand(inst.dst[i], code, row.dst[i], row.dst_kind[i])) return false;
    }
    return true;
}

bool CdnaDecoder::decode_source(Inst& inst, size_t index, const Field& field) {
    const Row& row = *inst.row;
    uint32_t code = field.get(word_);
    uint8_t kind = row.src_kind[index];
    if (field.bits == 8 && kind == kVgpr) code += code::vgpr0;
    if (index == 0 && code == kDpp16Code && row.modifiers & mod::dpp) return decode_dpp(inst);
    if (index == 0 && code == kSdwaCode && row.modifiers & mod::sdwa) return decode_sdwa(inst);
    if (index == 1 && inst.sdwa.present && sdwa_word_ >> 31) {  // a scalar register in the place of the second VGPR
        code -= code::vgpr0;
        kind = kSgpr;
    }
    if (row.src[index] == Type::lanes && code == code::exec_lo) return fail("exec is no mask to select with");
    return operand(inst.src[index], code, row.src[index], kind);
}

void CdnaDecoder::decode_modifiers(Inst& inst) const {
    uint32_t takes = inst.row->modifiers;
    auto get = [&](const Field& field, uint32_t mask) { return static_cast<uint8_t>(field.get(word_) & mask); };
    inst.neg = get(layout_->neg, takes & 7);
    inst.abs = get(layout_->abs, takes >> 3 & 7);
    inst.op_sel = get(layout_->op_sel, takes >> 6 & 15);
    if (takes & mod::op_sel_hi(7))
        inst.op_sel_hi = static_cast<uint8_t>(get(layout_->op_sel_hi, 3) | get(layout_->op_sel_hi2, 1) << 2);
    inst.neg_hi = get(layout_->neg_hi, takes >> 13 & 7);
    inst.omod = get(layout_->omod, takes & mod::omod ? 3 : 0);
    inst.clamp = get(layout_->clamp, takes & mod::clamp ? 1 : 0);
}

bool CdnaDecoder::decode_dpp(Inst& inst) {
    if (next_ >= words_.size()) return fail("the DPP word is missing");
    uint32_t word = words_[next_++];
    Dpp& dpp = inst.dpp;
    const Row& row = *inst.row;
    dpp.kind = DppKind::dpp16;
    dpp.ctrl = word >> 8 & 511;
    dpp.bound_ctrl = word >> 19 & 1;
    dpp.bank_mask = word >> 24 & 15;
    dpp.row_mask = word >> 28 & 15;
    if (!cdna_dpp_control(dpp.ctrl)) return fail("the DPP control names no lane pattern");
    if (cdna_dpp_wide(row) && !is_newbcast(dpp.ctrl)) return fail("64-bit operations take row_newbcast only");
    inst.neg = static_cast<uint8_t>((word >> 20 & 1) | (word >> 21 & 2));
    inst.abs = static_cast<uint8_t>((word >> 21 & 1) | (word >> 22 & 2));
    if ((mod::neg(inst.neg) | mod::abs(inst.abs)) & ~(row.modifiers | row.ignored))
        return fail("the instruction takes no neg or abs");
    inst.neg &= row.modifiers & 7;
    inst.abs &= row.modifiers >> 3 & 7;
    return operand(inst.src[0], code::vgpr0 + (word & 255), row.src[0], kVgpr);
}

/// CDNA3 ISA, 13.3.8 and 13.3.9 (SDWA, SDWAB).
bool CdnaDecoder::decode_sdwa(Inst& inst) {
    if (next_ >= words_.size()) return fail("the SDWA word is missing");
    uint32_t word = sdwa_word_ = words_[next_++];
    const Row& row = *inst.row;
    Sdwa& sdwa = inst.sdwa;
    bool whole = sdwa_whole_destination(row);
    sdwa.present = true;
    sdwa.src_sel[0] = word >> 16 & 7;
    if (layout_->format == Format::VOPC) {
        if (word >> 15 & 1 && !operand(inst.dst[0], word >> 8 & 127, Type::lanes, kSgpr)) return false;
    } else {
        sdwa.dst_sel = word >> 8 & 7;
        sdwa.dst_unused = word >> 11 & 3;
        inst.clamp = word >> 13 & 1;
        inst.omod = word >> 14 & 3;
        if (sdwa.dst_unused > Sdwa::preserve) return fail("SDWA's unused bits are padded, sign-extended or preserved");
        if (whole && (sdwa.dst_sel != Sdwa::dword || sdwa.dst_unused)) return fail("SDWA writes whole registers here");
        if (inst.clamp > !!(row.modifiers & mod::clamp)) return fail("the instruction takes no clamp");
        if (inst.omod && !(row.modifiers & mod::omod)) return fail("the instruction takes no omod");
    }
    bool second = row.src_kind[1] && row.src[1] != Type::lanes;
    if (second) {
        sdwa.src_sel[1] = word >> 24 & 7;
    } else if (word >> 24 & ~0x40u) {
        return fail("bits that must be zero are set");
    }
    inst.neg = static_cast<uint8_t>((word >> 20 & 1) | (word >> 27 & 2));
    inst.abs = static_cast<uint8_t>((word >> 21 & 1) | (word >> 28 & 2));
    sdwa.sext = static_cast<uint8_t>((word >> 19 & 1) | (word >> 26 & 2));
    if (sdwa.dst_sel > Sdwa::dword || sdwa.src_sel[0] > Sdwa::dword || sdwa.src_sel[1] > Sdwa::dword)
        return fail("no such SDWA selection");
    if ((mod::neg(inst.neg) | mod::abs(inst.abs)) & ~row.modifiers || sdwa.sext & ~sext_sources(row))
        return fail("the source takes no such modifier");
    bool scalar = word >> 23 & 1;
    return operand(inst.src[0], (word & 255) + (scalar ? 0 : code::vgpr0), row.src[0], scalar ? kSgpr : kVgpr);
}

bool CdnaDecoder::decode_matrix(Inst& inst) {
    const Row& row = *inst.row;
    uint32_t sources_acc = layout_->acc.get(word_) | layout_->acc_cd.get(word_) << 2;
    uint8_t acc_cd = layout_->acc_cd.get(word_) ? kAgpr : kVgpr;
    inst.cbsz = static_cast<uint8_t>(layout_->cbsz.get(word_));
    inst.abid = static_cast<uint8_t>(layout_->abid.get(word_));
    auto blgp = static_cast<uint8_t>(layout_->blgp.get(word_));
    (blgp_negates(row) ? inst.neg : inst.blgp) = blgp;
    if (!operand(inst.dst[0], code::vgpr0 + layout_->dst.get(word_), row.dst[0], acc_cd)) return false;
    for (size_t i = 0; i < 3; ++i) {
        uint32_t code = layout_->src[i].get(word_);
        bool accumulator = sources_acc >> i & 1 && row.src_kind[i] & kAgpr && code >= code::vgpr0;
        uint8_t kind = accumulator ? uint8_t{kAgpr} : uint8_t(row.src_kind[i] & ~kAgpr);
        if (!operand(inst.src[i], code, row.src[i], kind)) return false;
    }
    return true;
}

}  // namespace strata::isa
