#include "strata/asm/isa/decode/decode_p.h"

namespace strata::isa {
namespace {

int32_t sign_extend(uint32_t value, int bits) { return static_cast<int32_t>(value << (32 - bits)) >> (32 - bits); }

}  // namespace

bool Decoder::decode_memory(Inst& inst) {
    uint32_t takes = inst.row->modifiers;
    auto get = [&](const Field& field, uint32_t modifier) { return takes & modifier && field.get(word_); };
    inst.glc = get(layout_->glc, mod::glc);
    inst.slc = get(layout_->slc, mod::slc);
    inst.dlc = get(layout_->dlc, mod::dlc);
    inst.sc1 = get(layout_->sc1, mod::sc1);
    inst.lds = get(layout_->lds, mod::lds);
    if (inst.lds && layout_->acc.get(word_)) return fail("data that goes to LDS has no accumulation register");
    if (layout_->th.bits && takes & mod::cache) {
        inst.th = static_cast<uint8_t>(layout_->th.get(word_));
        inst.scope = static_cast<uint8_t>(layout_->scope.get(word_));
    }
    switch (layout_->format) {
        case Format::SMEM: return layout_->imm.bits ? decode_cdna_smem(inst) : decode_smem(inst);
        case Format::DS: return decode_ds(inst);
        case Format::MUBUF:
        case Format::MTBUF: return decode_buffer(inst);
        default: return decode_flat(inst);
    }
}

bool Decoder::decode_smem(Inst& inst) {
    const Row& row = *inst.row;
    if (!row.src_kind[0]) return true;
    inst.offset = sign_extend(layout_->offset.get(word_), layout_->offset.bits);
    if (!row.dst_kind[0]) {  // the immediate of s_atc_probe and prefetches: five bits in RDNA4
        inst.offset1 = static_cast<uint8_t>(layout_->dst.get(word_));
        if (layout_->th.bits && inst.offset1 > 31) return fail("bits that must be zero are set");
    }
    if (row.dst_kind[0]) {
        if (layout_->dst.get(word_) > code::null) return fail("m0 and exec cannot be loaded");
        if (!operand(inst.dst[0], layout_->dst.get(word_), row.dst[0], kSgpr)) return false;
    }
    if (!row.src_kind[1]) return operand(inst.src[0], layout_->src[1].get(word_), row.src[0], kSgpr);  // pc_rel
    return operand(inst.src[0], layout_->src[0].get(word_) << 1, row.src[0], kSgpr) &&
           operand(inst.src[1], layout_->src[1].get(word_), row.src[1], kSgpr);
}

/// The offset is a 21-bit immediate (imm), a register (soffset_en), or their sum (both). With neither, the
/// offset field has the number of a register (CDNA3 ISA, 13.2).
bool Decoder::decode_cdna_smem(Inst& inst) {
    const Row& row = *inst.row;
    uint32_t sdata = layout_->dst.get(word_);
    bool loads = returns(inst);
    if (row.dst_kind[0] || row.src_kind[2]) {
        if (sdata > 123) return fail("m0 and exec cannot be loaded or stored");
        if (loads && !operand(inst.dst[0], sdata, row.dst[0], kSgpr)) return false;
        if (row.src_kind[2] && !operand(inst.src[2], sdata, row.src[2], kSgpr)) return false;
        if (loads && row.src_kind[2]) inst.dst[0].code = inst.src[2].code;  // the start of the aligned group
    } else if (row.flags & kProbe) {
        inst.offset1 = static_cast<uint8_t>(sdata);
    }
    if (!row.src_kind[0]) return true;
    bool imm = layout_->imm.get(word_), soffset_en = layout_->soffset_en.get(word_);
    uint32_t offset = layout_->offset.get(word_);
    if (imm) inst.offset = sign_extend(offset, layout_->offset.bits);
    inst.src[1] = {code::null, Type::u32};
    if (!imm || soffset_en) {
        uint32_t code = soffset_en ? layout_->src[1].get(word_) : offset & 127;
        if (!operand(inst.src[1], code, Type::u32, kSgpr)) return false;
    }
    return operand(inst.src[0], layout_->src[0].get(word_) << 1, row.src[0], kSgpr);
}

bool Decoder::decode_ds(Inst& inst) {
    const Row& row = *inst.row;
    uint32_t offset = layout_->offset.get(word_);
    inst.gds = row.modifiers & (mod::gds | mod::gds_only) && layout_->gds.get(word_);
    if (row.modifiers & mod::gds_only && !inst.gds) return fail("the instruction exists with gds only");
    if (row.modifiers & mod::two_offsets) {
        inst.offset = static_cast<int32_t>(offset & 255);
        inst.offset1 = static_cast<uint8_t>(offset >> 8);
    } else if (row.modifiers & mod::offset) {
        inst.offset = static_cast<int32_t>(offset);
    }
    if (row.dst_kind[0] && !data(inst.dst[0], layout_->dst, row.dst[0], row.dst_kind[0])) return false;
    for (size_t i = 0, field = first_ds_field(row); i < 4 && row.src_kind[i]; ++i, ++field)
        if (!data(inst.src[i], layout_->src[field], row.src[i], row.src_kind[i])) return false;
    return true;
}

bool Decoder::decode_flat(Inst& inst) {
    const Row& row = *inst.row;
    FlatShape shape = flat_shape(row);
    uint32_t offset = get(layout_->offset);  // FLAT's before RDNA4: 12 bits without sign (RDNA3 ISA, 11.1)
    bool flat = layout_->format == Format::FLAT, scratch = layout_->format == Format::SCRATCH;
    bool unsigned_offset = flat && layout_->words == 2;
    inst.offset = unsigned_offset ? static_cast<int32_t>(offset) : sign_extend(offset, layout_->offset.bits);
    if (returns(inst) && !data(inst.dst[0], layout_->dst, row.dst[0], row.dst_kind[0])) return false;
    if (!row.src_kind[0]) return inst.offset = 0, true;  // cache control
    uint32_t saddr = layout_->src[2].get(word_);
    bool off = flat || saddr == rules().saddr_off;
    if (scratch && !off && saddr == code::exec_hi) return fail("saddr cannot be exec_hi");
    // Scratch of CDNA2 has one address register: the scalar one unless that is off.
    bool addressed = !scratch || (layout_->sve.bits ? layout_->sve.get(word_) : off);
    if (shape.address >= 0 && addressed) {
        Type type = layout_->format == Format::GLOBAL && !off ? Type::u32 : row.src[0];
        if (!vector(inst.src[0], layout_->src[0], type)) return false;
    }
    if (shape.data >= 0) {
        auto at = static_cast<size_t>(shape.data);
        if (!data(inst.src[at], layout_->src[1], row.src[at], row.src_kind[at])) return false;
    }
    if (off) return true;
    auto at = static_cast<size_t>(shape.saddr);
    return operand(inst.src[at], saddr, row.src[at], kSgpr);
}

bool Decoder::decode_buffer(Inst& inst) {
    const Row& row = *inst.row;
    if (!row.src_kind[0]) return true;
    uint32_t offset = get(layout_->offset);
    inst.offset = layout_->words == 3 ? sign_extend(offset, 24) : static_cast<int32_t>(offset);
    inst.offen = layout_->offen.get(word_);
    inst.idxen = layout_->idxen.get(word_);
    inst.tfe = layout_->tfe.get(word_);
    if (stores_from_lds(row) && (!inst.lds || inst.offen || inst.idxen))
        return fail("the store from LDS has no address");
    inst.buffer_format = static_cast<uint8_t>(layout_->buffer_format.get(word_));
    if (returns(inst) && !data(inst.dst[0], layout_->dst, row.dst[0], row.dst_kind[0])) return false;
    if (inst.offen || inst.idxen) {
        Type type = inst.offen && inst.idxen ? Type::b64 : Type::u32;
        if (!vector(inst.src[0], layout_->src[0], type)) return false;
    }
    if (row.src_kind[3] && !data(inst.src[3], layout_->dst, row.src[3], row.src_kind[3])) return false;
    const Operand& moved = row.src_kind[3] ? inst.src[3] : inst.dst[0];  // tfe adds a status dword
    if (inst.tfe && moved.vgpr() + span_of(moved.type) > 255) return fail("vector registers past v255");
    uint32_t first = layout_->src[1].get(word_) << (layout_->src[1].bits == 5 ? 2 : 0);
    return operand(inst.src[1], first, row.src[1], kSgpr) &&
           operand(inst.src[2], layout_->src[2].get(word_), row.src[2], row.src_kind[2]);
}

}  // namespace strata::isa
