#include "strata/asm/isa/print.h"

#include <algorithm>
#include <iterator>

#include "strata/asm/isa/print_p.h"
#include "strata/asm/isa/table_p.h"

namespace strata::isa {
namespace {

class Printer : InstText {
  public:
    Printer(const Inst& inst, Family family) : inst_(inst), row_(*inst.row), family_(family) {}

    std::string run() {
        if (inst_.encoding == Format::VOPD) return vopd();
        out_ = mnemonic();
        if (is_memory(row_.format)) {
            memory();
        } else {
            alu();
        }
        return out_;
    }

  private:
    std::string operand(const Operand& operand) const {
        bool real = row_.mnemonic.ends_with("f16"), brain = row_.mnemonic.ends_with("bf16");
        return print_operand(operand, inst_.literal, brain ? Packed::bf16 : real ? Packed::f16 : Packed::integer);
    }

    Type printed_accumulator() const {
        if (family_ == Family::rdna3) return Type::f64;
        bool real = row_.mnemonic.starts_with("v_wmma_f16"), brain = row_.mnemonic.starts_with("v_wmma_bf16");
        return real ? Type::f16 : brain ? Type::bf16 : Type::b32;
    }

    /// What LLVM 19 takes a source for when it prints a constant, where that is not the source's type.
    Operand printed(const Operand& source) const {
        bool real = source.type == Type::f16, integer = source.type == Type::i16 || source.type == Type::b16;
        if (mix()) return {source.code, Type::f16};
        if (row_.flags & kMatrix && !source.is_vgpr()) return {source.code, printed_accumulator()};
        if (source.type == Type::bf16) return {source.code, Type::pk16};
        if (real && row_.format == Format::SOP1) return {source.code, Type::b32};
        if (real && row_.format == Format::SOPC) return {source.code, Type::i16};
        if (integer && row_.mnemonic == "v_ldexp_f16") return {source.code, Type::f16};
        if (integer && row_.mnemonic.ends_with("class_f16")) return {source.code, Type::b32};
        return source;
    }

    std::string mnemonic() const {
        std::string text(row_.mnemonic);
        bool dpp = inst_.dpp.kind != DppKind::none;
        const FamilyTable& rows = table(family_);
        bool wide =
            inst_.encoding == Format::VOP3 || inst_.encoding == Format::VOP3SD || inst_.encoding == Format::VOP3P;
        bool operands = row_.src_kind[0];
        if (wide) {
            const Row* native = find_row(family_, row_.mnemonic);
            bool promoted = native && has_half_registers(native->format) && operands;
            return text + (dpp ? "_e64_dpp" : promoted ? "_e64" : "");
        }
        if (!has_half_registers(row_.format)) return text;
        bool both = (rows.vop3_form(row_) && operands) || row_.flags & kTrue16;
        if (row_.format == Format::VOPC && dpp) return text;  // as LLVM 19 prints it
        return text + (dpp ? "_dpp" : both ? "_e32" : "");
    }

    /// LLVM 19 spells halves in the forms that it knows to have them (kTrue16). In others the lower half is the whole
    /// register's name unless the instruction has an upper one.
    std::string half(const Operand& from, std::string text, size_t bit) const {
        bool named = row_.flags & kTrue16 || (has_half_registers(inst_.encoding) && inst_.op_sel);
        if (named && is_half(from.type) && from.is_vgpr()) text += inst_.op_sel >> bit & 1 ? ".h" : ".l";
        return text;
    }

    std::string source(size_t index) const {
        const Operand& from = inst_.src[index];
        if (row_.src_kind[index] == kLiteralConstant && row_.format != Format::SOPK)
            return fmt::format("{:#x}", inst_.literal);
        std::string text = half(from, operand(printed(from)), index);
        bool packed = inst_.encoding == Format::VOP3P && !mix();
        bool neg = !packed && inst_.neg >> index & 1;
        bool abs = !packed && (mix() ? inst_.neg_hi : inst_.abs) >> index & 1;
        if (abs) text = "|" + text + "|";
        if (!neg) return text;
        bool special = (from.code >= 235 && from.code <= 239) || (from.code >= code::vccz && from.code <= code::scc);
        bool constant = from.code >= code::inline_zero && !from.is_vgpr() && !special;
        return constant && !abs ? "neg(" + text + ")" : "-" + text;
    }

    /// v_fma_mix_*: neg_hi is abs, and op_sel_hi says which sources are f16.
    bool mix() const { return row_.mnemonic.starts_with("v_fma_mix"); }

    void alu() {
        bool setreg = row_.mnemonic.starts_with("s_setreg");
        bool simm = row_.modifiers & mod::simm;
        auto immediate = static_cast<uint16_t>(inst_.offset);
        if (setreg) item(print_simm(row_.mnemonic, immediate, family_));
        for (size_t i = 0; i < 2; ++i) {
            bool implied_exec = row_.dst[i] == Type::lanes && row_.flags & kWritesExec;
            if (row_.dst_kind[i] && !implied_exec) item(half(inst_.dst[i], operand(inst_.dst[i]), 3));
        }
        for (size_t i = 0; i < 4 && row_.src_kind[i]; ++i) item(source(i));
        if (simm && !setreg && !(row_.mnemonic == "s_endpgm" && immediate == 0))
            item(print_simm(row_.mnemonic, immediate, family_));
        if (row_.mnemonic.starts_with("s_sendmsg_rtn")) item(print_message(immediate, family_));
        modifiers();
        dpp();
    }

    /// RDNA4 spells op_sel of conversions from and to one byte as the byte's number.
    bool byte_select() {
        bool from = row_.mnemonic.starts_with("v_cvt_f32_"), to = row_.mnemonic.starts_with("v_cvt_sr_");
        if (!(from || to) || !(row_.modifiers & mod::op_sel(15))) return false;
        int byte = to ? inst_.op_sel >> 2 : (inst_.op_sel & 1) << 1 | inst_.op_sel >> 1;
        if (byte) word(fmt::format("byte_sel:{}", byte));
        return true;
    }

    void modifiers() {
        uint32_t sources = 0;
        while (sources < 3 && row_.src_kind[sources]) ++sources;
        uint32_t all = (1u << sources) - 1;
        if (inst_.encoding == Format::VOP3P) {
            uint32_t op_sel_hi_default = mix() ? 0 : all;
            bool selects = row_.modifiers & mod::op_sel(7);
            bool index = row_.mnemonic.starts_with("v_swmmac");
            if (index && inst_.op_sel) word(fmt::format("index_key:{}", inst_.op_sel));
            if (!index && selects && inst_.op_sel & all) bit_list("op_sel", inst_.op_sel, sources);
            if (row_.modifiers & mod::op_sel_hi(7) && (inst_.op_sel_hi & all) != op_sel_hi_default)
                bit_list("op_sel_hi", inst_.op_sel_hi, sources);
            if (!mix() && inst_.neg & all) bit_list("neg_lo", inst_.neg, sources);
            if (!mix() && inst_.neg_hi & all) bit_list("neg_hi", inst_.neg_hi, sources);
        } else if (family_ == Family::rdna4 && byte_select()) {
        } else if (uint32_t shown = inst_.op_sel & row_.modifiers >> 6 & 15; shown && !(row_.flags & kTrue16)) {
            bool with_dst = row_.modifiers & mod::op_sel(8);  // v_permlane16's two bits are fi and bound_ctrl
            if (row_.mnemonic == "v_fmac_f16") ++sources;     // the accumulator, whose bit is not used
            bit_list("op_sel", (shown & all) | (shown >> 3) << sources, with_dst ? sources + 1 : 2);
        }
        if (inst_.clamp) word("clamp");
        static constexpr std::string_view omods[] = {"", "mul:2", "mul:4", "div:2"};
        if (inst_.omod) word(omods[inst_.omod]);
    }

    void dpp() {
        const Dpp& dpp = inst_.dpp;
        if (dpp.kind == DppKind::none) return;
        if (dpp.kind == DppKind::dpp8) {
            std::string lanes;
            for (int i = 0; i < 8; ++i) lanes += fmt::format("{}{}", i ? "," : "", dpp.select >> 3 * i & 7);
            word("dpp8:[" + lanes + "]");
        } else {
            word(print_dpp_control(dpp.ctrl));
            word(fmt::format("row_mask:{:#x} bank_mask:{:#x}", dpp.row_mask, dpp.bank_mask));
            if (dpp.bound_ctrl) word("bound_ctrl:1");
        }
        if (dpp.fi) word("fi:1");
    }

    std::string vopd() {
        auto half = [&](const Row& row, const Operand& dst, const Operand* src) {
            std::string text = fmt::format("{} {}, {}", row.mnemonic, operand(dst), operand(src[0]));
            bool literal = row.flags & kLiteral, middle = row.mnemonic.find("fmamk") != std::string_view::npos;
            if (literal && middle) text += fmt::format(", {:#x}", inst_.literal);
            if (src[1].present()) text += ", " + operand(src[1]);
            if (literal && !middle) text += fmt::format(", {:#x}", inst_.literal);
            return text;
        };
        return half(row_, inst_.dst[0], inst_.src.data()) +
               " :: " + half(*inst_.row_y, inst_.dst_y, inst_.src_y.data());
    }

    void memory() {
        switch (row_.format) {
            case Format::SMEM: smem(); break;
            case Format::DS: return ds();
            case Format::MUBUF:
            case Format::MTBUF: buffer(); break;
            default: flat(); break;
        }
        if (inst_.glc) word("glc");
        if (inst_.slc) word("slc");
        if (inst_.dlc) word("dlc");
        out_ += print_cache_control(inst_);
        if (inst_.tfe) word("tfe");
    }

    void smem() {
        if (!row_.src_kind[0]) return;
        std::string offset = fmt::format("{}{:#x}", inst_.offset < 0 ? "-" : "", std::abs(inst_.offset));
        if (row_.mnemonic.find("prefetch") != std::string_view::npos) {
            if (row_.src_kind[1]) item(operand(inst_.src[0]));
            item(offset);
            item(operand(inst_.src[row_.src_kind[1] ? 1 : 0]));
            item(std::to_string(inst_.offset1));
            return;
        }
        std::string immediate = fmt::format("{}", inst_.offset1);
        if (inst_.offset1 > 64) immediate = fmt::format("{:#x}", inst_.offset1);
        item(row_.dst_kind[0] ? operand(inst_.dst[0]) : immediate);
        item(operand(inst_.src[0]));
        bool has_soffset = inst_.src[1].present() && inst_.src[1].code != code::null;
        item(has_soffset ? operand(inst_.src[1]) : offset);
        if (has_soffset && (inst_.offset || family_ == Family::rdna4)) word("offset:" + offset);
    }

    void ds() {
        if (row_.dst_kind[0]) item(operand(inst_.dst[0]));
        for (size_t i = 0; i < 4 && row_.src_kind[i]; ++i) item(operand(inst_.src[i]));
        if (row_.modifiers & mod::two_offsets) {
            if (inst_.offset) word(fmt::format("offset0:{}", inst_.offset));
            if (inst_.offset1) word(fmt::format("offset1:{}", inst_.offset1));
        } else if (inst_.offset) {
            bool swizzle = row_.mnemonic == "ds_swizzle_b32";
            auto offset = static_cast<uint16_t>(inst_.offset);
            word("offset:" + (swizzle ? print_swizzle(offset) : std::to_string(offset)));
        }
        if (inst_.gds) word("gds");
    }

    void flat() {
        if (!row_.src_kind[0]) return;  // cache control
        FlatShape shape = flat_shape(row_);
        if (inst_.dst[0].present()) item(operand(inst_.dst[0]));
        auto position = [&](int at) { return at >= 0 && inst_.src[static_cast<size_t>(at)].present(); };
        if (shape.address >= 0) item(position(shape.address) ? operand(inst_.src[0]) : "off");
        if (shape.data >= 0) item(operand(inst_.src[static_cast<size_t>(shape.data)]));
        if (shape.saddr >= 0)
            item(position(shape.saddr) ? operand(inst_.src[static_cast<size_t>(shape.saddr)]) : "off");
        if (inst_.offset) word(fmt::format("offset:{}", inst_.offset));
    }

    void buffer_format() {
        static constexpr std::string_view names[] = {
#define BUFFER_FORMAT(number, name) "BUF_FMT_" #name,
#include "strata/asm/isa/rdna3_buffer_formats.def"
#undef BUFFER_FORMAT
        };
        if (inst_.buffer_format == 1) return;  // 8_UNORM goes without saying
        bool known = inst_.buffer_format < std::size(names);
        word(known ? fmt::format("format:[{}]", names[inst_.buffer_format])
                   : fmt::format("format:{}", inst_.buffer_format));
    }

    void buffer() {
        if (!row_.src_kind[0]) return;
        const Operand& data = row_.src_kind[3] ? inst_.src[3] : inst_.dst[0];
        if (data.present()) item(print_register(data.code, dwords(data.type, 32) + inst_.tfe));
        item(inst_.src[0].present() ? operand(inst_.src[0]) : "off");
        item(operand(inst_.src[1]));
        item(operand(inst_.src[2]));
        if (row_.format == Format::MTBUF) buffer_format();
        if (inst_.idxen) word("idxen");
        if (inst_.offen) word("offen");
        if (inst_.offset) word(fmt::format("offset:{}", inst_.offset));
    }

    const Inst& inst_;
    const Row& row_;
    Family family_;
};

}  // namespace

std::string print_dpp_control(uint32_t ctrl) {
    if (ctrl < 0x100)
        return fmt::format("quad_perm:[{},{},{},{}]", ctrl & 3, ctrl >> 2 & 3, ctrl >> 4 & 3, ctrl >> 6 & 3);
    if (ctrl == 0x140) return "row_mirror";
    if (ctrl == 0x141) return "row_half_mirror";
    static constexpr std::string_view names[] = {"row_shl", "row_shr", "row_ror", "", "", "row_share", "row_xmask"};
    return fmt::format("{}:{}", names[std::min(ctrl >> 4 & 7, 6u)], ctrl & 15);
}

std::string print(const Inst& inst, Arch arch) {
    if (inst.row && is_cdna(info(arch).family)) return print_cdna(inst, info(arch).family);
    return inst.row ? Printer(inst, info(arch).family).run() : "<no instruction>";
}

}  // namespace strata::isa
