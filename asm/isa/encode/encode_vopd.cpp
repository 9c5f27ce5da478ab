#include "strata/asm/isa/encode/encode_p.h"

namespace strata::isa {

bool Encoder::vopd_half(const Row& row, const Operand* sources, const Field* fields, char half) {
    if (!reg(sources[0], fields[0], row.src[0], row.src_kind[0],
             half == 'X' ? "src0 of the X half" : "src0 of the Y half"))
        return false;
    std::string_view second = half == 'X' ? "src1 of the X half" : "src1 of the Y half";
    if (row.src_kind[1]) return reg(sources[1], fields[1], row.src[1], kVgpr, second);
    return absent(sources[1], second);
}

namespace {

/// The register a half reads as its third source: the accumulator of fmac and dot2acc, fmamk's addend.
Operand third_source(const Row& row, const Operand& dst, const Operand& src1) {
    if (row.flags & kLiteralSecond) return src1;
    bool accumulates =
        row.mnemonic.find("fmac") != std::string_view::npos || row.mnemonic.find("acc") != std::string_view::npos;
    return accumulates ? dst : Operand{};
}

/// fmamk's K stands in the place of the second source.
Operand second_source(const Row& row, const Operand& src1) { return row.flags & kLiteralSecond ? Operand{} : src1; }

bool collide(const Operand& x, const Operand& y, int banks) {
    return x.present() && y.present() && x.is_vgpr() && y.is_vgpr() && x.vgpr() % banks == y.vgpr() % banks;
}

}  // namespace

/// RDNA3 ISA, 7.6: first and second sources of the halves come from different ones of four banks. Third sources, and
/// destinations, are one even and one odd. Both halves together read at most two scalar registers and literals. Halves
/// of RDNA4 may read one register as the same source (RDNA4 ISA, 7.6), and two moves one bank (LLVM's
/// validateVOPDRegBankConstraints).
bool Encoder::vopd_banks() {
    const Row& y = *inst_.row_y;
    if (collide(inst_.dst[0], inst_.dst_y, 2)) return fail("one half must write an even VGPR, the other an odd one");
    const auto clash = [&](const Operand& x_source, const Operand& y_source, int banks) {
        return collide(x_source, y_source, banks) && !(rules_.dual_reads_share && x_source.vgpr() == y_source.vgpr());
    };
    const bool moves = row_.mnemonic == "v_dual_mov_b32" && y.mnemonic == row_.mnemonic;
    if (!(moves && rules_.dual_moves_share) && clash(inst_.src[0], inst_.src_y[0], 4))
        return fail("src0 of both halves is in VGPR bank {}", inst_.src[0].vgpr() % 4);
    if (clash(second_source(row_, inst_.src[1]), second_source(y, inst_.src_y[1]), 4))
        return fail("src1 of both halves is in VGPR bank {}", inst_.src[1].vgpr() % 4);
    bool third = clash(third_source(row_, inst_.dst[0], inst_.src[1]), third_source(y, inst_.dst_y, inst_.src_y[1]), 2);
    return !third ||
           fail("the third sources of both halves are in the same VGPR bank, one must be even, the other odd");
}

bool Encoder::vopd_scalars() {
    ScalarReads reads;
    reads.add(inst_.src[0]);
    reads.add(inst_.src_y[0]);
    if (literal_) reads.add({code::literal, Type::b32});
    if ((row_.flags | inst_.row_y->flags) & kReadsVcc) reads.add({code::vcc_lo, Type::lanes});
    return reads.count <= 2 ||
           fail("reads {} scalar registers and literals; 2 at most (constant bus limit)", reads.count);
}

bool Encoder::encode_vopd() {
    if (!inst_.row_y || inst_.row_y->format != Format::VOPD) return fail("the Y half is missing");
    const Row& y = *inst_.row_y;
    if (row_.opcode >> layout_.op.bits) return fail("{} exists in the Y half only", row_.mnemonic);
    put(layout_.op_y, y.opcode);
    literal_ = (row_.flags | y.flags) & kLiteral;
    if (!reg(inst_.dst[0], layout_.dst, row_.dst[0], kVgpr, "dst of the X half")) return false;
    if (!check(inst_.dst_y, y.dst[0], kVgpr, "dst of the Y half")) return false;
    put(layout_.dst_y, static_cast<uint32_t>(inst_.dst_y.vgpr()) >> 1);
    return vopd_half(row_, inst_.src.data(), layout_.src.data(), 'X') &&
           vopd_half(y, inst_.src_y.data(), layout_.src_y.data(), 'Y') && vopd_banks() && vopd_scalars();
}

}  // namespace strata::isa
