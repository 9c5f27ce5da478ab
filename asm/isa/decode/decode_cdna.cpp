#include "strata/asm/isa/decode/decode_p.h"

namespace strata::isa {

/// CDNA3 ISA, 13.3.8 and 13.3.9 (SDWA, SDWAB).
bool Decoder::decode_sdwa(Inst& inst) {
    if (next_ >= words_.size()) return fail("the SDWA word is missing");
    uint32_t word = extra_word_ = words_[next_++];
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
    } else {
        word &= 0xffffff;  // the second source's bits
    }
    inst.neg = static_cast<uint8_t>((word >> 20 & 1) | (word >> 27 & 2));
    inst.abs = static_cast<uint8_t>((word >> 21 & 1) | (word >> 28 & 2));
    sdwa.sext = static_cast<uint8_t>((word >> 19 & 1) | (word >> 26 & 2));
    if (sdwa.dst_sel > Sdwa::dword || sdwa.src_sel[0] > Sdwa::dword || sdwa.src_sel[1] > Sdwa::dword)
        return fail("no such SDWA selection");
    if ((mod::neg(inst.neg) | mod::abs(inst.abs)) & ~row.modifiers || sdwa.sext & ~sext_sources(row))
        return fail("the source takes no such modifier");
    return true;
}

bool Decoder::decode_matrix(Inst& inst) {
    const Row& row = *inst.row;
    uint32_t sources_acc = layout_->acc.get(word_) | layout_->acc_cd.get(word_) << 2;
    uint8_t acc_cd = layout_->acc_cd.get(word_) ? kAgpr : kVgpr;
    inst.cbsz = static_cast<uint8_t>(layout_->cbsz.get(word_));
    inst.abid = static_cast<uint8_t>(layout_->abid.get(word_));
    auto blgp = static_cast<uint8_t>(layout_->blgp.get(word_));
    (blgp_negates(row) ? inst.neg : inst.blgp) = blgp;
    if (!vector(inst.dst[0], layout_->dst, row.dst[0], acc_cd)) return false;
    for (size_t i = 0; i < 3; ++i) {
        uint32_t code = layout_->src[i].get(word_);
        bool accumulator = sources_acc >> i & 1 && row.src_kind[i] & kAgpr && code >= code::vgpr0;
        uint8_t kind = accumulator ? uint8_t{kAgpr} : uint8_t(row.src_kind[i] & ~kAgpr);
        if (!operand(inst.src[i], code, row.src[i], kind)) return false;
    }
    return true;
}

}  // namespace strata::isa
