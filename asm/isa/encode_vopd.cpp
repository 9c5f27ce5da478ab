#include "strata/asm/isa/encode_p.h"

namespace strata::isa {

bool Encoder::vopd_half(const Row& row, const Operand* sources, const Field* fields, char half) {
    if (!reg(sources[0], fields[0], row.src[0], row.src_kind[0],
             half == 'X' ? "src0 of the X half" : "src0 of the Y half"))
        return false;
    std::string_view second = half == 'X' ? "src1 of the X half" : "src1 of the Y half";
    if (row.src_kind[1]) return reg(sources[1], fields[1], row.src[1], kVgpr, second);
    return absent(sources[1], second);
}

/// RDNA3 ISA, 7.6: the halves' sources of the same position come from different banks of four, one destination is even
/// and the other odd, and both halves together read at most two scalar registers and literals.
bool Encoder::vopd_rules() {
    if (((inst_.dst[0].code ^ inst_.dst_y.code) & 1) == 0)
        return fail("one half must write an even VGPR, the other an odd one");
    for (size_t i = 0; i < 2; ++i) {
        const Operand &x = inst_.src[i], &y = inst_.src_y[i];
        if (x.present() && y.present() && x.is_vgpr() && y.is_vgpr() && x.vgpr() % 4 == y.vgpr() % 4)
            return fail("src{} of both halves is in VGPR bank {}", i, x.vgpr() % 4);
    }
    std::array<uint16_t, 4> seen{};
    size_t count = 0;
    auto read = [&](uint16_t code) {
        for (size_t i = 0; i < count; ++i)
            if (seen[i] == code) return;
        seen[count++] = code;
    };
    for (const Operand& operand : {inst_.src[0], inst_.src_y[0]})
        if (operand.is_literal() || (operand.is_sgpr() && operand.code != code::null)) read(operand.code);
    if (literal_) read(code::literal);
    if ((row_.flags | inst_.row_y->flags) & kReadsVcc) read(code::vcc_lo);
    return count <= 2 || fail("reads {} scalar registers and literals; 2 at most (constant bus limit)", count);
}

bool Encoder::encode_vopd() {
    if (!inst_.row_y || inst_.row_y->format != Format::VOPD) return fail("the Y half is missing");
    const Row& y = *inst_.row_y;
    if (row_.opcode >> layout_.op.bits) return fail("{} exists in the Y half only", row_.mnemonic);
    put(layout_.op_y, y.opcode);
    literal_ = (row_.flags | y.flags) & kLiteral;
    if (!reg(inst_.dst[0], layout_.dst, row_.dst[0], kVgpr, "dst of the X half")) return false;
    if (!inst_.dst_y.present()) return fail("dst of the Y half is missing");
    if (!check_operand(inst_.dst_y, y.dst[0], kVgpr, "dst of the Y half")) return false;
    put(layout_.dst_y, static_cast<uint32_t>(inst_.dst_y.vgpr()) >> 1);
    return vopd_half(row_, inst_.src.data(), layout_.src.data(), 'X') &&
           vopd_half(y, inst_.src_y.data(), layout_.src_y.data(), 'Y') && vopd_rules();
}

}  // namespace strata::isa
