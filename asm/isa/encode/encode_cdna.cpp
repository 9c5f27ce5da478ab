#include "strata/asm/isa/encode/encode_p.h"

namespace strata::isa {

bool Encoder::sdwa_word() {
    const Sdwa& sdwa = inst_.sdwa;
    if (sdwa.dst_sel > Sdwa::dword || sdwa.src_sel[0] > Sdwa::dword || sdwa.src_sel[1] > Sdwa::dword ||
        sdwa.dst_unused > Sdwa::preserve)
        return fail("no such SDWA selection");
    if (sdwa.sext & ~sext_sources(row_)) return fail("only integer sources are sign-extended");
    uint32_t word =
        (hardware_code(inst_.src[0]) & 255) | uint32_t{sdwa.src_sel[0]} << 16 | uint32_t{!inst_.src[0].is_vgpr()} << 23;
    word |= (sdwa.sext & 1u) << 19 | (inst_.neg & 1u) << 20 | (inst_.abs & 1u) << 21;
    if (row_.src_kind[1] && row_.src[1] != Type::lanes)
        word |= uint32_t{sdwa.src_sel[1]} << 24 | (sdwa.sext & 2u) << 26 | (inst_.neg & 2u) << 27 |
                (inst_.abs & 2u) << 28 | uint32_t{!inst_.src[1].is_vgpr()} << 31;
    if (row_.format == Format::VOPC) {
        const Operand& to = inst_.dst[0];
        if (!check(to, Type::lanes, kSgpr, "dst")) return false;
        if (to.code != code::vcc_lo) word |= uint32_t{1} << 15 | hardware_code(to) << 8;
    } else {
        bool whole = sdwa_whole_destination(row_);
        if (whole && (sdwa.dst_sel != Sdwa::dword || sdwa.dst_unused)) return fail("SDWA writes whole registers here");
        word |= uint32_t{sdwa.dst_sel} << 8 | uint32_t{sdwa.dst_unused} << 11 | uint32_t{inst_.clamp} << 13 |
                uint32_t{inst_.omod} << 14;
    }
    extra_word_ = word;
    return true;
}

bool Encoder::encode_matrix() {
    static constexpr std::string_view names[] = {"src0", "src1", "src2"};
    bool sparse = row_.src[2] == Type::b32;
    if (!reg(inst_.dst[0], layout_.dst, row_.dst[0], row_.dst_kind[0], "dst")) return false;
    for (size_t i = 0; i < 3; ++i)
        if (!reg(inst_.src[i], layout_.src[i], row_.src[i], row_.src_kind[i], names[i])) return false;
    bool accumulator = inst_.dst[0].is_agpr();
    if (!sparse && inst_.src[2].is_vector() && inst_.src[2].is_agpr() != accumulator)
        return fail("src2 must be in the register file of dst");
    put(layout_.acc_cd, accumulator);
    put(layout_.acc, uint32_t{inst_.src[0].is_agpr()} | uint32_t{inst_.src[1].is_agpr()} << 1);
    uint32_t permutation = blgp_negates(row_) ? inst_.neg : inst_.blgp;
    if (inst_.cbsz > 7 || inst_.abid > 15 || permutation > 7) return fail("cbsz is 0 to 7, abid 0 to 15, blgp 0 to 7");
    if (sparse && permutation) return fail("sparse products take no blgp");
    if (blgp_negates(row_) ? inst_.blgp : inst_.neg) return fail("the instruction takes no such modifier");
    put(layout_.cbsz, inst_.cbsz);
    put(layout_.abid, inst_.abid);
    put(layout_.blgp, permutation);
    return true;
}

}  // namespace strata::isa
