#include "strata/asm/isa/names.h"
#include "strata/asm/isa/print/print_p.h"

namespace strata::isa {
namespace {

std::string dpp16_text(Family family, uint32_t ctrl) {
    for (const Dpp16Pattern& row : kDpp16Patterns)
        if (row.families.has(family) && row.has(ctrl))
            return row.last ? fmt::format("{}:{}", row.text, ctrl - row.control + row.first) : std::string(row.text);
    return fmt::format("quad_perm:[{},{},{},{}]", ctrl & 3, ctrl >> 2 & 3, ctrl >> 4 & 3, ctrl >> 6 & 3);
}

}  // namespace

void Printer::bit_list(const char* name, uint32_t bits, uint32_t count) {
    std::string text;
    for (uint32_t i = 0; i < count; ++i) text += fmt::format("{}{}", i ? "," : "", bits >> i & 1);
    word(fmt::format("{}:[{}]", name, text));
}

void Printer::modifiers() {
    if (row_.format == Format::MFMA) return matrix();
    uint32_t sources = 0;
    while (sources < 3 && row_.src_kind[sources]) ++sources;
    bool interpolates = row_.format == Format::VINTERP;
    if (interpolates && inst_.clamp) word("clamp");
    if (inst_.encoding == Format::VOP3P) {
        packed_modifiers(sources);
    } else {
        op_sel(sources);
    }
    if (interpolates) return word(fmt::format("wait_exp:{}", inst_.offset));
    if (inst_.clamp) word("clamp");
    static constexpr std::string_view omods[] = {"", "mul:2", "mul:4", "div:2"};
    if (inst_.omod) word(omods[inst_.omod]);
    if (inst_.sdwa.present) sdwa();
    if (inst_.dpp.kind != DppKind::none) dpp();
}

void Printer::packed_modifiers(uint32_t sources) {
    uint32_t all = (1u << sources) - 1, op_sel_hi_default = mix() ? 0 : all;
    bool index = row_.mnemonic.starts_with("v_swmmac"), selects = row_.modifiers & mod::op_sel(7);
    if (index && inst_.op_sel) word(fmt::format("index_key:{}", inst_.op_sel));
    if (!index && selects && inst_.op_sel & all) bit_list("op_sel", inst_.op_sel, sources);
    if (row_.modifiers & mod::op_sel_hi(7) && (inst_.op_sel_hi & all) != op_sel_hi_default)
        bit_list("op_sel_hi", inst_.op_sel_hi, sources);
    if (!mix() && inst_.neg & all) bit_list("neg_lo", inst_.neg, sources);
    if (!mix() && inst_.neg_hi & all) bit_list("neg_hi", inst_.neg_hi, sources);
}

/// Conversions from and to one byte: RDNA4 spells its number, CDNA all four bits, of which the upper two name it.
void Printer::op_sel(uint32_t sources) {
    uint32_t shown = inst_.op_sel & row_.modifiers >> 6 & 15, all = (1u << sources) - 1;
    if (const uint32_t halves = unlisted_halves()) {  // named by registers, but for those of scalars and constants
        uint32_t named = uint32_t{inst_.dst[0].is_vgpr()} << 3;
        for (uint32_t i = 0; i < sources; ++i) named |= uint32_t{inst_.src[i].is_vgpr()} << i;
        const bool to_half = is_half(inst_.dst[0].type);
        if (halves & ~named) bit_list("op_sel", (halves & all) | (halves >> 3) << sources, sources + to_half);
        return;
    }
    if (!shown || row_.flags & kTrue16) return;
    bool from = row_.mnemonic.starts_with("v_cvt_f32_"), to = row_.mnemonic.starts_with("v_cvt_sr_");
    if (family_ == Family::rdna4 && (from || to))
        return word(fmt::format("byte_sel:{}", to ? shown >> 2 : (shown & 1) << 1 | shown >> 1));
    if (to) return bit_list("op_sel", shown, 4);
    bool with_dst = row_.modifiers & mod::op_sel(8);         // v_permlane16's two bits are fi and bound_ctrl
    if (row_.mnemonic == "v_fmac_f16" && !cdna_) ++sources;  // the accumulator, whose bit is not used
    bit_list("op_sel", (shown & all) | (shown >> 3) << sources, with_dst ? sources + 1 : 2);
}

void Printer::matrix() {
    if (inst_.cbsz) word(fmt::format("cbsz:{}", inst_.cbsz));
    if (inst_.abid) word(fmt::format("abid:{}", inst_.abid));
    if (inst_.blgp) word(fmt::format("blgp:{}", inst_.blgp));
    if (inst_.neg) bit_list("neg", inst_.neg, 3);
}

void Printer::sdwa() {
    const Sdwa& sdwa = inst_.sdwa;
    if (row_.format != Format::VOPC && !sdwa_whole_destination(row_))
        word(fmt::format("dst_sel:{} dst_unused:{}", name_at(kSdwaSelects, sdwa.dst_sel),
                         name_at(kSdwaUnused, sdwa.dst_unused)));
    word(fmt::format("src0_sel:{}", name_at(kSdwaSelects, sdwa.src_sel[0])));
    if (row_.src_kind[1] && row_.src[1] != Type::lanes)
        word(fmt::format("src1_sel:{}", name_at(kSdwaSelects, sdwa.src_sel[1])));
}

void Printer::dpp() {
    const Dpp& dpp = inst_.dpp;
    if (dpp.kind == DppKind::dpp8) {
        std::string lanes;
        for (int i = 0; i < 8; ++i) lanes += fmt::format("{}{}", i ? "," : "", dpp.select >> 3 * i & 7);
        word("dpp8:[" + lanes + "]");
    } else {
        word(dpp16_text(family_, dpp.ctrl));
        word(fmt::format("row_mask:{:#x} bank_mask:{:#x}", dpp.row_mask, dpp.bank_mask));
        if (dpp.bound_ctrl) word("bound_ctrl:1");
    }
    if (dpp.fi) word("fi:1");
}

}  // namespace strata::isa
