#include "strata/asm/isa/decode_p.h"

#include <fmt/ranges.h>

namespace strata::isa {
namespace {

/// One call of decode: the words, and what has been read of them.
class Decoder {
  public:
    Decoder(const FamilyTable& table, std::span<const uint32_t> words) : table_(table), words_(words) {}

    /// Fills `inst`; false when the bits are no instruction (failure() says why).
    bool run(Inst& inst) {
        const Layout* layout = table_.by_prefix[words_[0] >> 23];
        if (!layout) return fail("unknown encoding");
        if (layout->segment.bits) {
            uint32_t segment = layout->segment.get(words_[0]);
            if (segment == 3) return fail("unknown segment");
            layout = table_.layouts[index_of(Format::FLAT) + segment];
        }
        if (words_.size() < layout->words) return fail("the instruction is longer than the words given");
        word_ = layout->words == 2 ? words_[0] | uint64_t{words_[1]} << 32 : words_[0];
        next_ = layout->words;
        if (layout->format == Format::VOPD) return decode_vopd(*layout, inst) && finish(inst);
        const Row* row = table_.find(layout->format, layout->op.get(word_));
        if (!row) return fail("unknown opcode");
        if (row->flags & kGraphics) return fail("graphics instructions are not decoded");
        if (row->format != layout->format) layout = &table_.layout(row->format);
        if (word_ & ~table_.allowed_bits(*row)) return fail("bits that must be zero are set");
        inst.row = row;
        inst.encoding = layout->format;
        layout_ = layout;
        true16_ = row->flags & kTrue16;
        return (is_memory(layout->format) ? decode_memory(inst) : decode_alu(inst)) && finish(inst);
    }

    const char* failure() const { return failure_; }

  private:
    bool fail(const char* why) {
        failure_ = why;
        return false;
    }

    bool finish(Inst& inst) {
        if (literal_) {
            if (next_ >= words_.size()) return fail("the literal is missing");
            inst.literal = words_[next_++];
        }
        inst.size = static_cast<uint8_t>(next_ * 4);
        return true;
    }

    /// Resolves a register or constant code against what the operand may be.
    bool operand(Operand& out, uint32_t code, Type type, uint8_t kind) {
        int span = dwords(type, 32);
        if (code >= code::vgpr0) {
            if (!(kind & kVgpr)) return fail("a vector register where none is allowed");
            if (code - code::vgpr0 + static_cast<uint32_t>(span) > 256) return fail("vector registers past v255");
        } else if (!scalar(code, span, kind)) {
            return fail("operand code is not allowed here");
        }
        if (code >= code::vgpr0 + 128 && layout_ && half_registers(type))
            return fail("upper register halves are not supported");
        out = {static_cast<uint16_t>(code), type};
        return true;
    }

    /// VOP1, VOP2 and VOPC name 16-bit operands by seven bits and a half (RDNA3 ISA, 7.1).
    bool half_registers(Type type) const {
        bool half = type == Type::f16 || type == Type::i16 || type == Type::u16 || type == Type::b16;
        bool native =
            layout_->format == Format::VOP1 || layout_->format == Format::VOP2 || layout_->format == Format::VOPC;
        return half && native && !true16_;
    }

    bool scalar(uint32_t& code, int span, uint8_t kind) {
        switch (scalar_class(code)) {
            case ScalarClass::invalid: return false;
            case ScalarClass::literal: return kind & kLiteralConstant ? literal_ = true : false;
            case ScalarClass::constant: return kind & kInline;
            case ScalarClass::special: return kind & kInline;
            case ScalarClass::sgpr: break;
        }
        if (!(kind & kSgpr) || !scalar_fits(code, span)) return false;
        if (span >= 2 && code != code::null) code &= span == 2 ? ~1u : ~3u;  // low bits of a group are ignored
        return true;
    }

    bool decode_alu(Inst& inst) {
        const Row& row = *inst.row;
        if (!decode_destinations(inst)) return false;
        decode_modifiers(inst);
        size_t field = 0;
        for (size_t i = 0; i < 4 && row.src_kind[i]; ++i) {
            if (row.src_kind[i] == kLiteralConstant) {
                inst.src[i] = {code::literal, row.src[i]};
                literal_ = true;
                continue;
            }
            if (field == 3 || layout_->src[field].bits == 0) {  // carry in and select mask of VOP2
                inst.src[i] = {code::vcc_lo, Type::lanes};
                continue;
            }
            const Field& bits = layout_->src[field++];
            uint32_t code = bits.get(word_);
            if (bits.bits == 8 && row.src_kind[i] == kVgpr) code += code::vgpr0;
            if (field == 1 && is_dpp(code) && row.modifiers & mod::dpp && !decode_dpp(inst, code)) return false;
            if (field == 1 && inst.dpp.kind != DppKind::none) code = code::vgpr0 + (dpp_word_ & 255);
            if (!operand(inst.src[i], code, row.src[i], row.src_kind[i])) return false;
            if (row.flags & kTrue16) select_half(inst, inst.src[i].code, i);
        }
        if (layout_->simm.bits) inst.offset = static_cast<int16_t>(layout_->simm.get(word_));
        return true;
    }

    bool decode_destinations(Inst& inst) {
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
            if (code < code::vgpr0 && code >= code::inline_zero) return fail("destination is not a register");
            if (!operand(inst.dst[i], code, row.dst[i], row.dst_kind[i])) return false;
            if (row.flags & kTrue16) select_half(inst, inst.dst[i].code, 3);
        }
        return true;
    }

    /// 16-bit operands of VOP1, VOP2 and VOPC: bit 7 of the register number is the half (RDNA3 ISA, 7.1).
    static void select_half(Inst& inst, uint16_t& code, size_t bit) {
        if (code < code::vgpr0 + 128) return;
        code = static_cast<uint16_t>(code - 128);
        inst.op_sel = static_cast<uint8_t>(inst.op_sel | 1u << bit);
    }

    void decode_modifiers(Inst& inst) const {
        if (layout_->words == 1) return;
        auto get = [&](const Field& field) { return static_cast<uint8_t>(field.get(word_)); };
        inst.neg = get(layout_->neg);
        inst.abs = get(layout_->abs);
        inst.op_sel = get(layout_->op_sel);
        inst.op_sel_hi = static_cast<uint8_t>(get(layout_->op_sel_hi) | get(layout_->op_sel_hi2) << 2);
        inst.neg_hi = get(layout_->neg_hi);
        inst.omod = get(layout_->omod);
        inst.clamp = get(layout_->clamp);
    }

    static bool is_dpp(uint32_t code) { return code == kDpp16Code || code == kDpp8Code || code == kDpp8FiCode; }

    bool decode_dpp(Inst& inst, uint32_t code) {
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
        if (layout_->words == 1) {
            inst.neg = static_cast<uint8_t>((dpp_word_ >> 20 & 1) | (dpp_word_ >> 21 & 2));
            inst.abs = static_cast<uint8_t>((dpp_word_ >> 21 & 1) | (dpp_word_ >> 22 & 2));
        }
        return dpp_word_ & 1u << 17 ? fail("bits that must be zero are set") : true;
    }

    bool decode_vopd(const Layout& layout, Inst& inst) {
        const Row* x = table_.find(Format::VOPD, layout.op.get(word_));
        const Row* y = table_.find(Format::VOPD, layout.op_y.get(word_));
        if (!x || !y || x->opcode > 15) return fail("unknown opcode");
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

    bool vopd_sources(const Row& row, const Field* fields, Operand* out) {
        if (!operand(out[0], fields[0].get(word_), row.src[0], row.src_kind[0])) return false;
        if (row.src_kind[1]) return operand(out[1], code::vgpr0 + fields[1].get(word_), row.src[1], row.src_kind[1]);
        return fields[1].get(word_) == 0 || fail("bits that must be zero are set");
    }

    bool decode_memory(Inst& inst);
    bool decode_smem(Inst& inst);
    bool decode_ds(Inst& inst);
    bool decode_flat(Inst& inst);
    bool decode_buffer(Inst& inst);
    bool vector(Operand& out, const Field& field, Type type) {
        return operand(out, code::vgpr0 + field.get(word_), type, kVgpr);
    }

    const FamilyTable& table_;
    std::span<const uint32_t> words_;
    const Layout* layout_ = nullptr;
    uint64_t word_ = 0;
    size_t next_ = 0;
    uint32_t dpp_word_ = 0;
    bool literal_ = false, true16_ = false;
    const char* failure_ = "";
};

bool Decoder::decode_memory(Inst& inst) {
    auto get = [&](const Field& field) { return field.bits && field.get(word_); };
    inst.glc = get(layout_->glc);
    inst.slc = get(layout_->slc);
    inst.dlc = get(layout_->dlc);
    switch (layout_->format) {
        case Format::SMEM: return decode_smem(inst);
        case Format::DS: return decode_ds(inst);
        case Format::MUBUF:
        case Format::MTBUF: return decode_buffer(inst);
        default: return decode_flat(inst);
    }
}

int32_t sign_extend(uint32_t value, int bits) { return static_cast<int32_t>(value << (32 - bits)) >> (32 - bits); }

bool Decoder::decode_smem(Inst& inst) {
    const Row& row = *inst.row;
    if (!row.src_kind[0]) return true;
    inst.offset = sign_extend(layout_->offset.get(word_), layout_->offset.bits);
    if (row.dst_kind[0]) {
        if (!operand(inst.dst[0], layout_->dst.get(word_), row.dst[0], kSgpr)) return false;
    }
    return operand(inst.src[0], layout_->src[0].get(word_) << 1, row.src[0], kSgpr) &&
           operand(inst.src[1], layout_->src[1].get(word_), row.src[1], kSgpr);
}

/// Rows without an address operand keep address, data0, data1 in fixed places all the same.
bool Decoder::decode_ds(Inst& inst) {
    const Row& row = *inst.row;
    uint32_t offset = layout_->offset.get(word_);
    inst.gds = layout_->gds.get(word_);
    if (two_addresses(row)) {
        inst.offset = static_cast<int32_t>(offset & 255);
        inst.offset1 = static_cast<uint8_t>(offset >> 8);
    } else {
        inst.offset = static_cast<int32_t>(offset);
    }
    if (row.dst_kind[0] && !vector(inst.dst[0], layout_->dst, row.dst[0])) return false;
    for (size_t i = 0, field = first_ds_field(row); i < 4 && row.src_kind[i]; ++i, ++field)
        if (!vector(inst.src[i], layout_->src[field], row.src[i])) return false;
    return true;
}

bool Decoder::decode_flat(Inst& inst) {
    const Row& row = *inst.row;
    FlatShape shape = flat_shape(row);
    inst.offset = sign_extend(layout_->offset.get(word_), layout_->offset.bits);
    bool returns = row.dst_kind[0] && (!(row.flags & kAtomic) || inst.glc);
    if (returns && !vector(inst.dst[0], layout_->dst, row.dst[0])) return false;
    uint32_t saddr = layout_->src[2].get(word_);
    bool off = saddr == code::null;
    if (saddr == code::m0 || saddr >= code::exec_lo) return fail("saddr is not a scalar register");
    if (layout_->format == Format::FLAT && !off) return fail("flat instructions have no saddr");
    if (shape.address >= 0) {
        Operand& address = inst.src[static_cast<size_t>(shape.address)];
        bool present = layout_->sve.bits == 0 || layout_->sve.get(word_);
        Type type = layout_->format == Format::GLOBAL && !off ? Type::u32 : row.src[0];
        if (present && !vector(address, layout_->src[0], type)) return false;
        if (!present) address = {code::null, Type::none};
    }
    if (shape.data >= 0) {
        auto data = static_cast<size_t>(shape.data);
        if (!vector(inst.src[data], layout_->src[1], row.src[data])) return false;
    }
    if (shape.saddr < 0 || off) return true;
    auto at = static_cast<size_t>(shape.saddr);
    return operand(inst.src[at], saddr, row.src[at], kSgpr);
}

bool Decoder::decode_buffer(Inst& inst) {
    const Row& row = *inst.row;
    if (!row.src_kind[0]) return true;
    inst.offset = static_cast<int32_t>(layout_->offset.get(word_));
    inst.offen = layout_->offen.get(word_);
    inst.idxen = layout_->idxen.get(word_);
    inst.tfe = layout_->tfe.get(word_);
    inst.buffer_format = static_cast<uint8_t>(layout_->buffer_format.get(word_));
    bool returns = row.dst_kind[0] && (!(row.flags & kAtomic) || inst.glc);
    if (returns && !vector(inst.dst[0], layout_->dst, row.dst[0])) return false;
    if (inst.offen || inst.idxen) {
        Type type = inst.offen && inst.idxen ? Type::b64 : Type::u32;
        if (!vector(inst.src[0], layout_->src[0], type)) return false;
    }
    if (row.src_kind[3] && !vector(inst.src[3], layout_->dst, row.src[3])) return false;
    return operand(inst.src[1], layout_->src[1].get(word_) << 2, row.src[1], kSgpr) &&
           operand(inst.src[2], layout_->src[2].get(word_), row.src[2], kSgpr | kInline);
}

}  // namespace

bool two_addresses(const Row& row) { return row.mnemonic.find("2addr") != std::string_view::npos; }

size_t first_ds_field(const Row& row) {
    bool data_only = row.mnemonic.find("addtid") != std::string_view::npos && row.flags & kStore;
    return data_only ? 1 : 0;
}

FlatShape flat_shape(const Row& row) {
    bool no_address = row.mnemonic.find("addtid") != std::string_view::npos;
    int8_t next = 0;
    FlatShape shape;
    if (!no_address) shape.address = next++;
    if (row.flags & (kStore | kAtomic)) shape.data = next++;
    if (row.format != Format::FLAT) shape.saddr = next;
    return shape;
}

Result<Inst> decode(Arch arch, std::span<const uint32_t> words) {
    const FamilyTable& family = table(info(arch).family);
    if (words.empty()) return make_error(ErrorKind::Assembly, "no words to decode");
    Inst inst;
    Decoder decoder(family, words);
    if (decoder.run(inst)) return inst;
    return make_error(ErrorKind::Assembly, "{:08x} is no {} instruction: {}",
                      fmt::join(words.first(std::min<size_t>(words.size(), 3)), " "), info(arch).name,
                      decoder.failure());
}

}  // namespace strata::isa
