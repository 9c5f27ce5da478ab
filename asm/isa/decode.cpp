#include <fmt/ranges.h>

#include "strata/asm/isa/decode_p.h"

namespace strata::isa {
namespace {

bool is_dpp(uint32_t code) { return code == kDpp16Code || code == kDpp8Code || code == kDpp8FiCode; }

/// 16-bit operands of VOP1, VOP2 and VOPC: bit 7 of the register number is the half (RDNA3 ISA, 7.1).
void select_half(Inst& inst, uint16_t& code, size_t bit) {
    if (code < code::vgpr0 + 128) return;
    code = static_cast<uint16_t>(code - 128);
    inst.op_sel = static_cast<uint8_t>(inst.op_sel | 1u << bit);
}

Error failure(Arch arch, std::span<const uint32_t> words, const char* why) {
    return make_error(ErrorKind::Assembly, "{:08x} is no {} instruction: {}",
                      fmt::join(words.first(std::min<size_t>(words.size(), 3)), " "), info(arch).name, why);
}

}  // namespace

bool Decoder::run(Inst& inst) {
    const Layout* layout = table_.by_prefix[words_[0] >> 23];
    if (!layout) return fail("unknown encoding");
    if (layout->segment.bits) {
        uint32_t segment = layout->segment.get(words_[0]);
        if (segment == 3) return fail("unknown segment");
        layout = table_.layouts[index_of(Format::FLAT) + segment];
    }
    if (words_.size() < layout->words) return fail("the instruction is longer than the words given");
    word_ = layout->words > 1 ? words_[0] | uint64_t{words_[1]} << 32 : words_[0];
    if (layout->words == 3) third_ = words_[2];
    next_ = layout->words;
    if (layout->format == Format::VOPD) return decode_vopd(*layout, inst) && finish(inst);
    size_t number = table_.number(layout->format, layout->op.get(word_) + layout->first_opcode);
    if (number == FamilyTable::kNoRow) return fail("unknown opcode");
    if (wave_size_ == 64) number = table_.wave64_form(number);
    const Row* row = &table_.rows[number];
    if (row->flags & kGraphics) return fail("graphics instructions are not decoded");
    if (row->format != layout->format) layout = &table_.layout(row->format);
    if ((word_ ^ table_.row_ones[number]) & ~table_.row_bits[number])
        return fail(word_ & ~table_.row_bits[number] & ~table_.row_ones[number] ? "bits that must be zero are set"
                                                                                : "op_sel_hi must be all ones");
    inst.row = row;
    inst.encoding = layout->format;
    layout_ = layout;
    names_halves_ = has_half_registers(layout->format);
    return (is_memory(layout->format) ? decode_memory(inst) : decode_alu(inst)) && finish(inst);
}

bool Decoder::finish(Inst& inst) {
    if (literal_) {
        if (inst.dpp.kind != DppKind::none) return fail("a literal cannot follow DPP");
        if (next_ >= words_.size()) return fail("the literal is missing");
        inst.literal = words_[next_++];
    }
    inst.size = static_cast<uint8_t>(next_ * 4);
    return true;
}

/// Groups of registers: what the code alone does not tell.
bool Decoder::group(uint32_t& code, Type type) {
    int span = span_of(type);
    if (code >= code::vgpr0) {
        uint32_t end = code - code::vgpr0 + static_cast<uint32_t>(span);
        if (end > 256) return fail("vector registers past v255");
    } else if (code < code::inline_zero && code != code::null && span > 1) {
        if (!scalar_fits(code, span)) return fail("no such group of scalar registers");
        code &= span == 2 ? ~1u : ~3u;  // low bits of a group are ignored
    }
    return true;
}

bool Decoder::decode_alu(Inst& inst) {
    const Row& row = *inst.row;
    if (!decode_destinations(inst)) return false;
    if (layout_->words == 2) decode_modifiers(inst);
    if (row.modifiers & mod::simm) inst.offset = static_cast<int16_t>(layout_->simm.get(word_));
    if (row.modifiers & mod::message) inst.offset = static_cast<int32_t>(layout_->src[0].get(word_));
    for (size_t i = 0, field = 0; i < 4 && row.src_kind[i]; ++i) {
        if (row.src_kind[i] == kLiteralConstant) {
            inst.src[i] = {code::literal, row.src[i]};
            literal_ = true;
        } else if (field == 3 || layout_->src[field].bits == 0) {  // carry in and select mask of VOP2
            inst.src[i] = {code::vcc_lo, Type::lanes};
        } else if (!decode_source(inst, i, field++)) {
            return false;
        }
    }
    return true;
}

bool Decoder::decode_source(Inst& inst, size_t index, size_t field) {
    const Row& row = *inst.row;
    const Field& bits = layout_->src[field];
    uint32_t code = bits.get(word_);
    if (bits.bits == 8 && row.src_kind[index] == kVgpr) code += code::vgpr0;
    if (row.src[index] == Type::lanes && is_exec(code)) return fail("exec cannot be a mask operand");
    if (row.format == Format::VOP3P && inst.dpp.kind != DppKind::none && code < code::vgpr0 &&
        !dpp_takes_scalar(row, index))
        return fail("the source is a VGPR with DPP");
    if (field == 0 && is_dpp(code) && row.modifiers & mod::dpp) {
        if (!decode_dpp(inst, code)) return false;
        code = code::vgpr0 + (dpp_word_ & 255);
    }
    if (!operand(inst.src[index], code, row.src[index], row.src_kind[index])) return false;
    if (names_halves_ && is_half(row.src[index])) select_half(inst, inst.src[index].code, index);
    return true;
}

bool Decoder::decode_destinations(Inst& inst) {
    const Row& row = *inst.row;
    for (size_t i = 0; i < 2 && row.dst_kind[i]; ++i) {
        const Field& bits = i == 0 ? layout_->dst : layout_->sdst;
        bool exec = row.flags & kWritesExec && row.dst[i] == Type::lanes;
        if (exec || bits.bits == 0) {
            inst.dst[i] = {exec ? code::exec_lo : code::vcc_lo, Type::lanes};
            continue;
        }
        uint32_t code = bits.get(word_);
        if (row.dst_kind[i] == kVgpr) code += code::vgpr0;
        if (row.flags & kTrans && is_exec(code)) return fail("exec cannot be written");
        if (!operand(inst.dst[i], code, row.dst[i], row.dst_kind[i])) return false;
        if (names_halves_ && is_half(row.dst[i])) select_half(inst, inst.dst[i].code, 3);
    }
    return true;
}

void Decoder::decode_modifiers(Inst& inst) const {
    auto get = [&](const Field& field) { return static_cast<uint8_t>(field.get(word_)); };
    inst.neg = get(layout_->neg) & inst.row->modifiers & 7;
    inst.abs = get(layout_->abs) & inst.row->modifiers >> 3 & 7;
    inst.op_sel = get(layout_->op_sel) & table_.op_sel[static_cast<size_t>(inst.row - table_.rows.data())];
    inst.op_sel_hi = static_cast<uint8_t>(get(layout_->op_sel_hi) | get(layout_->op_sel_hi2) << 2);
    inst.neg_hi = get(layout_->neg_hi);
    inst.omod = get(layout_->omod);
    inst.clamp = get(layout_->clamp);
}

bool Decoder::decode_dpp(Inst& inst, uint32_t code) {
    if (next_ >= words_.size()) return fail("the DPP word is missing");
    dpp_word_ = words_[next_++];
    Dpp& dpp = inst.dpp;
    if (code != kDpp16Code) {
        dpp.kind = DppKind::dpp8;
        dpp.select = dpp_word_ >> 8;
        dpp.fi = code == kDpp8FiCode;
        return true;
    }
    dpp.kind = DppKind::dpp16;
    dpp.ctrl = dpp_word_ >> 8 & 511;
    dpp.fi = dpp_word_ >> 18 & 1;
    dpp.bound_ctrl = dpp_word_ >> 19 & 1;
    dpp.bank_mask = dpp_word_ >> 24 & 15;
    dpp.row_mask = dpp_word_ >> 28 & 15;
    if (!valid_dpp_control(dpp.ctrl)) return fail("the DPP control names no lane pattern");
    return layout_->words == 2 || dpp_modifiers(inst);
}

/// The DPP16 word of VOP1, VOP2 and VOPC carries neg and abs of two sources.
bool Decoder::dpp_modifiers(Inst& inst) {
    inst.neg = static_cast<uint8_t>((dpp_word_ >> 20 & 1) | (dpp_word_ >> 21 & 2));
    inst.abs = static_cast<uint8_t>((dpp_word_ >> 21 & 1) | (dpp_word_ >> 22 & 2));
    const Row& row = *inst.row;
    bool allowed = ((mod::neg(inst.neg) | mod::abs(inst.abs)) & ~(row.modifiers | row.ignored)) == 0;
    inst.neg &= row.modifiers & 7;
    inst.abs &= row.modifiers >> 3 & 7;
    return allowed || fail("the instruction takes no neg or abs");
}

bool Decoder::decode_vopd(const Layout& layout, Inst& inst) {
    const Row* x = table_.find(Format::VOPD, layout.op.get(word_));
    const Row* y = table_.find(Format::VOPD, layout.op_y.get(word_));
    if (!x || !y) return fail("unknown opcode");
    inst.row = x;
    inst.row_y = y;
    inst.encoding = Format::VOPD;
    uint32_t vdst = layout.dst.get(word_);
    literal_ = (x->flags | y->flags) & kLiteral;
    inst.dst[0] = {static_cast<uint16_t>(code::vgpr0 + vdst), x->dst[0]};
    inst.dst_y = {static_cast<uint16_t>(code::vgpr0 + (layout.dst_y.get(word_) << 1 | (~vdst & 1))), y->dst[0]};
    return vopd_sources(*x, layout.src.data(), inst.src.data()) &&
           vopd_sources(*y, layout.src_y.data(), inst.src_y.data());
}

bool Decoder::vopd_sources(const Row& row, const Field* fields, Operand* out) {
    if (!operand(out[0], fields[0].get(word_), row.src[0], row.src_kind[0])) return false;
    if (row.src_kind[1]) return vector(out[1], fields[1], row.src[1]);
    return fields[1].get(word_) == 0 || fail("bits that must be zero are set");
}

Result<Inst> decode(Arch arch, std::span<const uint32_t> words, int wave_size) {
    const FamilyTable& family = table(info(arch).family);
    if (words.empty()) return make_error(ErrorKind::Assembly, "no words to decode");
    Result<Inst> result(family.blank);  // filled in place: copying an Inst costs as much as decoding it
    auto run = [&](auto decoder) {
        if (!decoder.run(*result)) [[unlikely]]
            result = failure(arch, words, decoder.failure());
    };
    if (is_cdna(info(arch).family)) {
        run(CdnaDecoder(family, words));
    } else {
        run(Decoder(family, words, wave_size));
    }
    return result;
}

}  // namespace strata::isa
