#include <algorithm>
#include <cstdlib>

#include "strata/asm/isa/print_p.h"
#include "strata/asm/isa/table_p.h"

namespace strata::isa {
namespace {

std::string print_group(char file, int first, int dwords) {
    return dwords == 1 ? fmt::format("{}{}", file, first) : fmt::format("{}[{}:{}]", file, first, first + dwords - 1);
}

std::string print_cdna_register(uint32_t code, int dwords) {
    if (code >= code::agpr0) return print_group('a', static_cast<int>(code - code::agpr0), dwords);
    if (code < 102 || code >= code::vcc_lo) return print_register(code, dwords);
    std::string name = code < 104 ? "flat_scratch" : "xnack_mask";
    return dwords == 2 ? name : name + (code % 2 ? "_hi" : "_lo");
}

class CdnaPrinter : InstText {
  public:
    CdnaPrinter(const Inst& inst, Family family) : inst_(inst), row_(*inst.row), family_(family) {}

    std::string run() {
        out_ = mnemonic();
        if (is_memory(row_.format)) {
            memory();
        } else {
            alu();
        }
        return out_;
    }

  private:
    bool dpp_form() const { return inst_.dpp.kind != DppKind::none; }
    bool mix() const { return row_.mnemonic.starts_with("v_fma_mix"); }

    std::string mnemonic() const {
        std::string text(row_.mnemonic);
        if (dpp_form()) return text + "_dpp";
        if (inst_.sdwa.present) return text + "_sdwa";
        bool operands = row_.src_kind[0];
        if (inst_.encoding == Format::VOP3 || inst_.encoding == Format::VOP3SD) {
            const Row* native = find_row(family_, row_.mnemonic);
            return text + (native && has_half_registers(native->format) && operands ? "_e64" : "");
        }
        bool both = has_half_registers(row_.format) && table(family_).vop3_form(row_) && operands;
        both |= row_.mnemonic == "v_pk_fmac_f16";  // though it has no other encoding
        return text + (both ? "_e32" : "");
    }

    std::string operand(const Operand& operand) const {
        bool constant = operand.code >= code::inline_zero && operand.code < code::vgpr0;
        if (!constant) return print_cdna_register(operand.code, dwords(operand.type, 64));
        return print_operand(operand, inst_.literal, row_.mnemonic.ends_with("f16") ? Packed::f16 : Packed::integer);
    }

    std::string source(size_t index) const {
        const Operand& from = inst_.src[index];
        if (row_.src_kind[index] == kLiteralConstant && row_.format != Format::SOPK)
            return fmt::format("{:#x}", inst_.literal);
        bool half = index == 1 && inst_.encoding == Format::VOP3 &&
                    (row_.mnemonic == "v_ldexp_f16" || row_.mnemonic.ends_with("_class_f16"));
        bool constant64 =
            row_.format == Format::MFMA && from.code < code::vgpr0 && row_.mnemonic.starts_with("v_mfma_f64");
        Type type = half ? Type::f16 : constant64 ? Type::f64 : from.type;  // what LLVM takes the constant for
        std::string text = operand({from.code, type});
        if (inst_.sdwa.sext >> index & 1) return "sext(" + text + ")";
        if (row_.format == Format::MFMA) return text;
        bool packed = inst_.encoding == Format::VOP3P && !mix();
        bool neg = !packed && inst_.neg >> index & 1;
        bool abs = !packed && (mix() ? inst_.neg_hi : inst_.abs) >> index & 1;
        if (abs) text = "|" + text + "|";
        if (!neg) return text;
        bool special = (from.code >= 235 && from.code <= 239) || (from.code >= code::vccz && from.code <= code::scc);
        bool constant = from.code >= code::inline_zero && from.code < code::vgpr0 && !special;
        return constant && !abs ? "neg(" + text + ")" : "-" + text;
    }

    void alu() {
        bool setreg = row_.mnemonic.starts_with("s_setreg");
        bool simm = row_.modifiers & mod::simm;
        auto immediate = static_cast<uint16_t>(inst_.offset);
        if (setreg) item(print_cdna_simm(row_.mnemonic, immediate, family_));
        for (size_t i = 0; i < 2; ++i)
            if (row_.dst_kind[i]) item(operand(inst_.dst[i]));
        for (size_t i = 0; i < 4 && row_.src_kind[i]; ++i) item(source(i));
        if (simm && !setreg && !(row_.mnemonic == "s_endpgm" && immediate == 0))
            item(print_cdna_simm(row_.mnemonic, immediate, family_));
        if (row_.format == Format::MFMA) return matrix();
        modifiers();
        if (inst_.sdwa.present) sdwa();
        if (dpp_form()) dpp();
    }

    void modifiers() {
        uint32_t sources = 0;
        while (sources < 3 && row_.src_kind[sources]) ++sources;
        uint32_t all = (1u << sources) - 1;
        if (inst_.encoding == Format::VOP3P) {
            if (row_.modifiers & mod::op_sel(7) && inst_.op_sel & all) bit_list("op_sel", inst_.op_sel, sources);
            if (row_.modifiers & mod::op_sel_hi(7) && (inst_.op_sel_hi & all) != (mix() ? 0 : all))
                bit_list("op_sel_hi", inst_.op_sel_hi, sources);
            if (!mix() && inst_.neg & all) bit_list("neg_lo", inst_.neg, sources);
            if (!mix() && inst_.neg_hi & all) bit_list("neg_hi", inst_.neg_hi, sources);
        } else if (uint32_t shown = inst_.op_sel & row_.modifiers >> 6 & 15; shown) {
            bool byte = row_.mnemonic.starts_with("v_cvt_sr");  // the upper two bits name the byte to write
            bit_list("op_sel", byte ? shown : (shown & all) | (shown >> 3) << sources, byte ? 4 : sources + 1);
        }
        if (inst_.clamp) word("clamp");
        static constexpr std::string_view omods[] = {"", "mul:2", "mul:4", "div:2"};
        if (inst_.omod) word(omods[inst_.omod]);
    }

    void matrix() {
        if (inst_.cbsz) word(fmt::format("cbsz:{}", inst_.cbsz));
        if (inst_.abid) word(fmt::format("abid:{}", inst_.abid));
        if (inst_.blgp) word(fmt::format("blgp:{}", inst_.blgp));
        if (inst_.neg) bit_list("neg", inst_.neg, 3);
    }

    void sdwa() {
        static constexpr std::string_view selects[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                                       "WORD_0", "WORD_1", "DWORD",  "?"};
        static constexpr std::string_view unused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "?"};
        const Sdwa& sdwa = inst_.sdwa;
        if (row_.format != Format::VOPC && !sdwa_whole_destination(row_))
            word(fmt::format("dst_sel:{} dst_unused:{}", selects[sdwa.dst_sel & 7], unused[sdwa.dst_unused & 3]));
        word(fmt::format("src0_sel:{}", selects[sdwa.src_sel[0] & 7]));
        if (row_.src_kind[1] && row_.src[1] != Type::lanes)
            word(fmt::format("src1_sel:{}", selects[sdwa.src_sel[1] & 7]));
    }

    void dpp() {
        const Dpp& dpp = inst_.dpp;
        word(control(dpp.ctrl));
        word(fmt::format("row_mask:{:#x} bank_mask:{:#x}", dpp.row_mask, dpp.bank_mask));
        if (dpp.bound_ctrl) word("bound_ctrl:1");
    }

    static std::string control(uint32_t ctrl) {
        switch (ctrl) {
            case 0x130: return "wave_shl:1";
            case 0x134: return "wave_rol:1";
            case 0x138: return "wave_shr:1";
            case 0x13c: return "wave_ror:1";
            case 0x142: return "row_bcast:15";
            case 0x143: return "row_bcast:31";
            default: return ctrl >= 0x150 ? fmt::format("row_newbcast:{}", ctrl & 15) : print_dpp_control(ctrl);
        }
    }

    void cache_bits() {
        bool sc = family_ == Family::cdna3 && row_.format != Format::SMEM;
        if (inst_.glc) word(sc ? "sc0" : "glc");
        if (inst_.slc) word(sc ? "nt" : "slc");
        if (inst_.sc1) word(sc ? "sc1" : "scc");
    }

    void memory() {
        switch (row_.format) {
            case Format::SMEM: smem(); break;
            case Format::DS: return ds();
            case Format::MUBUF:
            case Format::MTBUF: buffer(); break;
            default: flat(); break;
        }
        cache_bits();
        if (inst_.lds && !stores_from_lds(row_)) word("lds");
    }

    void smem() {
        if (row_.mnemonic.starts_with("s_atc_probe"))
            item(inst_.offset1 <= 64 ? std::to_string(inst_.offset1) : fmt::format("{:#x}", inst_.offset1));
        if (row_.src_kind[2]) {
            item(operand(inst_.src[2]));
        } else if (row_.dst_kind[0]) {
            item(operand(inst_.dst[0]));
        }
        if (!row_.src_kind[0]) return;
        item(operand(inst_.src[0]));
        std::string offset = fmt::format("{}{:#x}", inst_.offset < 0 ? "-" : "", std::abs(inst_.offset));
        bool has_soffset = inst_.src[1].present() && inst_.src[1].code != code::null;
        item(has_soffset ? operand(inst_.src[1]) : offset);
        if (has_soffset && inst_.offset) word("offset:" + offset);
    }

    void ds() {
        if (row_.dst_kind[0]) item(operand(inst_.dst[0]));
        for (size_t i = 0; i < 4 && row_.src_kind[i]; ++i) item(operand(inst_.src[i]));
        if (row_.modifiers & mod::two_offsets) {
            if (inst_.offset) word(fmt::format("offset0:{}", inst_.offset));
            if (inst_.offset1) word(fmt::format("offset1:{}", inst_.offset1));
        } else if (inst_.offset) {
            bool swizzle = row_.mnemonic == "ds_swizzle_b32";
            word("offset:" +
                 (swizzle ? print_swizzle(static_cast<uint16_t>(inst_.offset)) : std::to_string(inst_.offset)));
        }
        if (inst_.gds) word("gds");
    }

    void flat() {
        FlatShape shape = flat_shape(row_);
        if (inst_.dst[0].present()) item(operand(inst_.dst[0]));
        auto shown = [&](int at) {
            const Operand& from = inst_.src[static_cast<size_t>(at)];
            return from.present() ? operand(from) : std::string("off");
        };
        item(shown(0));
        if (shape.data >= 0) item(shown(shape.data));
        if (shape.saddr >= 0) item(shown(shape.saddr));
        if (inst_.offset) word(fmt::format("offset:{}", inst_.offset));
    }

    void buffer_format() {
        static constexpr std::string_view data[] = {
            "INVALID",    "8",          "16",      "8_8",   "32",          "16_16",    "10_11_11",    "11_11_10",
            "10_10_10_2", "2_10_10_10", "8_8_8_8", "32_32", "16_16_16_16", "32_32_32", "32_32_32_32", "RESERVED_15"};
        static constexpr std::string_view numbers[] = {"UNORM", "SNORM", "USCALED",    "SSCALED",
                                                       "UINT",  "SINT",  "RESERVED_6", "FLOAT"};
        uint32_t format = inst_.buffer_format & 15, number = inst_.buffer_format >> 4 & 7;
        std::string text;
        if (format != 1) text = fmt::format("BUF_DATA_FORMAT_{}", data[format]);
        if (number) text += fmt::format("{}BUF_NUM_FORMAT_{}", text.empty() ? "" : ",", numbers[number]);
        if (!text.empty()) word("format:[" + text + "]");
    }

    void buffer() {
        if (!row_.src_kind[0]) return;
        const Operand& data = row_.src_kind[3] ? inst_.src[3] : inst_.dst[0];
        if (data.present()) item(operand(data));
        if (!stores_from_lds(row_)) item(inst_.src[0].present() ? operand(inst_.src[0]) : "off");
        item(operand(inst_.src[1]));
        item(operand(inst_.src[2]));
        if (row_.format == Format::MTBUF) buffer_format();
        if (inst_.idxen) word("idxen");
        if (inst_.offen) word("offen");
        if (inst_.offset) word(fmt::format("offset:{}", inst_.offset));
        if (stores_from_lds(row_)) word("lds");
    }

    const Inst& inst_;
    const Row& row_;
    Family family_;
};

}  // namespace

std::string print_cdna(const Inst& inst, Family family) { return CdnaPrinter(inst, family).run(); }

}  // namespace strata::isa
