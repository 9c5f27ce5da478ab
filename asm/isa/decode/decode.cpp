#include <fmt/ranges.h>

#include "strata/asm/isa/decode/decode_p.h"

namespace strata::isa {
namespace {

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
    if (row->flags & absent_) return fail("unknown opcode");
    if (layout->format == Format::MIMG && !layout->families.has(Family::cdna2)) {
        inst.row = row;
        return decode_image(inst, *layout) && finish(inst);
    }
    if (row->flags & kGraphics)
        return fail("graphics (exports, parameters, images of CDNA) are not there; read data through pointers");
    if (row->format != layout->format) layout = &table_.layout(row->format);
    bits_ = &table_.bits[number];
    if (const uint64_t wrong = (word_ ^ bits_->ones) & bits_->fixed)
        return fail(word_ & wrong ? "bits that must be zero are set" : "bits that must be one are not");
    inst.row = row;
    inst.encoding = layout->format;
    layout_ = layout;
    names_halves_ = rules().half_registers && has_half_registers(layout->format);
    bool ok = is_memory(layout->format)        ? decode_memory(inst)
              : layout->format == Format::MFMA ? decode_matrix(inst)
                                               : decode_alu(inst);
    return ok && finish(inst);
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

/// Groups of registers, accumulation registers, literals and CDNA's M0: what the code alone does not tell.
bool Decoder::resolve(uint32_t& code, Type type, uint8_t kind) {
    auto span = static_cast<uint32_t>(rules().span(type));
    literal_ |= code == code::literal;
    if (code >= code::vgpr0) {
        if (code - code::vgpr0 + span > 256) return fail("vector registers past v255");
        if (kind == kAgpr) code += code::agpr0 - code::vgpr0;
    } else if (code < code::inline_zero) {
        code = rules().swap_m0(code);
        if (!rules().scalar_fits(code, span)) return fail("no such group of scalar registers");
        if (span > 1 && code != code::null) code &= span == 2 ? ~1u : ~3u;  // low bits of a group are ignored
    }
    return true;
}

bool Decoder::decode_alu(Inst& inst) {
    const Row& row = *inst.row;
    if (!decode_destinations(inst)) return false;
    if (layout_->words == 2) decode_modifiers(inst);
    if (row.modifiers & mod::simm) {
        auto simm = static_cast<uint16_t>(layout_->simm.get(word_));
        inst.offset = layout_->simm.bits == 16 ? static_cast<int16_t>(simm) : simm;
    }
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
    uint8_t kind = row.src_kind[index];
    if (bits.bits == 8 && kind == kVgpr) code += code::vgpr0;
    if (row.src[index] == Type::lanes && is_exec(code)) return fail("exec cannot be a mask operand");
    if (row.format == Format::VOP3P && inst.dpp.kind != DppKind::none && code < code::vgpr0 &&
        !dpp_takes_scalar(row, index))
        return fail("the source is a VGPR with DPP");
    if (field == 0 && rules().kinds[code] == kAnnounces) {
        bool sdwa = code == kSdwaCode;
        if (!(row.modifiers & (sdwa ? mod::sdwa : mod::dpp))) return fail("the instruction takes no DPP or SDWA");
        if (!(sdwa ? decode_sdwa(inst) : decode_dpp(inst, code))) return false;
        code = code::vgpr0 + (extra_word_ & 255);
    }
    if (inst.sdwa.present && extra_word_ >> (index ? 31 : 23) & 1) {  // a scalar register in the place of a VGPR
        code -= code::vgpr0;
        kind = kSgpr;
    }
    if (!operand(inst.src[index], code, row.src[index], kind)) return false;
    if (names_halves_ && is_half(row.src[index])) select_half(inst, inst.src[index].code, index);
    return true;
}

bool Decoder::decode_destinations(Inst& inst) {
    const Row& row = *inst.row;
    for (size_t i = 0; i < 2 && row.dst_kind[i]; ++i) {
        const Field& bits = i == 0 ? layout_->dst : layout_->sdst;
        bool exec = rules().cmpx_has_exec && row.flags & kWritesExec && row.dst[i] == Type::lanes;
        if (exec || bits.bits == 0) {
            inst.dst[i] = {exec ? code::exec_lo : code::vcc_lo, Type::lanes};
            continue;
        }
        uint32_t code = bits.get(word_);
        if (row.dst_kind[i] != kSgpr) code += code::vgpr0;
        if (row.flags & kTrans && is_exec(code)) return fail("exec cannot be written");
        if (!operand(inst.dst[i], code, row.dst[i], row.dst_kind[i])) return false;
        if (names_halves_ && is_half(row.dst[i])) select_half(inst, inst.dst[i].code, 3);
    }
    return true;
}

void Decoder::decode_modifiers(Inst& inst) const {
    uint32_t takes = inst.row->modifiers;
    auto get = [&](const Field& field, uint32_t mask) { return static_cast<uint8_t>(field.get(word_) & mask); };
    inst.neg = get(layout_->neg, takes & 7);
    inst.abs = get(layout_->abs, takes >> 3 & 7);
    inst.op_sel = get(layout_->op_sel, bits_->op_sel);
    const int op_sel_hi = get(layout_->op_sel_hi, 3) | get(layout_->op_sel_hi2, 1) << 2;
    inst.op_sel_hi = static_cast<uint8_t>((op_sel_hi & bits_->op_sel_hi_read) | bits_->op_sel_hi_default);
    inst.neg_hi = get(layout_->neg_hi, takes >> 13 & 7);
    inst.omod = get(layout_->omod, takes & mod::omod ? 3 : 0);
    inst.clamp = get(layout_->clamp, takes & mod::clamp ? 1 : 0);
}

bool Decoder::decode_dpp(Inst& inst, uint32_t code) {
    if (next_ >= words_.size()) return fail("the DPP word is missing");
    extra_word_ = words_[next_++];
    Dpp& dpp = inst.dpp;
    if (code != kDpp16Code) {
        dpp.kind = DppKind::dpp8;
        dpp.select = extra_word_ >> 8;
        dpp.fi = code == kDpp8FiCode;
        return true;
    }
    dpp.kind = DppKind::dpp16;
    dpp.ctrl = extra_word_ >> 8 & 511;
    dpp.fi = rules().dpp8 && extra_word_ >> 18 & 1;
    dpp.bound_ctrl = extra_word_ >> 19 & 1;
    dpp.bank_mask = extra_word_ >> 24 & 15;
    dpp.row_mask = extra_word_ >> 28 & 15;
    if (!rules().knows_dpp16(*inst.row, dpp.ctrl))
        return fail("the DPP control names no lane pattern of the operation");
    return layout_->words == 2 || dpp_modifiers(inst);
}

/// The DPP16 word of VOP1, VOP2 and VOPC carries neg and abs of two sources; those of an absent one are not read.
bool Decoder::dpp_modifiers(Inst& inst) {
    const Row& row = *inst.row;
    const uint8_t sources = row.src_kind[1] ? 3 : 1;
    inst.neg = static_cast<uint8_t>(((extra_word_ >> 20 & 1) | (extra_word_ >> 21 & 2)) & sources);
    inst.abs = static_cast<uint8_t>(((extra_word_ >> 21 & 1) | (extra_word_ >> 22 & 2)) & sources);
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
    return !row.src_kind[1] || vector(out[1], fields[1], row.src[1]);  // v_dual_mov_b32 ignores it (RDNA3 ISA 7.6)
}

Result<Inst> decode(Arch arch, std::span<const uint32_t> words, int wave_size) {
    const FamilyTable& family = table(info(arch).family);
    if (words.empty()) return make_error(ErrorKind::Assembly, "no words to decode");
    Result<Inst> result(family.blank);  // filled in place: copying an Inst costs as much as decoding it
    Decoder decoder(family, words, wave_size, kRdna35 & ~info(arch).extra_rows);
    if (!decoder.run(*result)) [[unlikely]]
        result = failure(arch, words, decoder.failure());
    return result;
}

}  // namespace strata::isa
