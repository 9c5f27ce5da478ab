#include "strata/asm/isa/print.h"

#include "strata/asm/isa/print/print_p.h"

namespace strata::isa {

std::string Printer::run() {
    if (inst_.encoding == Format::VOPD) return vopd();
    out_ = mnemonic();
    if (row_.format == Format::MIMG) {
        image();
    } else if (is_memory(row_.format)) {
        memory();
    } else {
        alu();
    }
    return out_;
}

std::string Printer::mnemonic() const {
    std::string text(row_.mnemonic);
    bool dpp = inst_.dpp.kind != DppKind::none, operands = row_.src_kind[0];
    if (inst_.sdwa.present) return text + "_sdwa";
    if (inst_.encoding == Format::VOP3 || inst_.encoding == Format::VOP3SD || inst_.encoding == Format::VOP3P) {
        const Row* native = find_row(family_, row_.mnemonic);
        bool promoted = native && has_half_registers(native->format) && operands;
        return text + (dpp ? "_e64_dpp" : promoted ? "_e64" : "");
    }
    if (!has_half_registers(row_.format)) return text;
    if (dpp) return text + (row_.format == Format::VOPC && !cdna_ ? "" : "_dpp");  // as LLVM 19 prints it
    bool both = (table(family_).vop3_form(row_) && operands) || row_.flags & kTrue16;
    both |= cdna_ && row_.mnemonic == "v_pk_fmac_f16";  // though it has no other encoding
    return text + (both ? "_e32" : "");
}

std::string Printer::operand(const Operand& operand) const {
    return print_operand(rules_, operand, inst_.literal, row_.packed_reals);
}

Type Printer::matrix_constant_type() const {
    if (row_.flags & kWave64 && family_ == Family::rdna3) return Type::b32;
    if (family_ == Family::rdna3 || row_.mnemonic.starts_with("v_mfma_f64")) return Type::f64;
    bool real = row_.mnemonic.starts_with("v_wmma_f16"), brain = row_.mnemonic.starts_with("v_wmma_bf16");
    return real ? Type::f16 : brain ? Type::bf16 : Type::b32;
}

/// The type that LLVM 19 takes a source for when it prints a constant, where that is not the source's type.
Type Printer::constant_type(size_t index) const {
    Type type = inst_.src[index].type;
    bool integer = type == Type::i16 || type == Type::b16;
    bool exponent = integer && row_.mnemonic == "v_ldexp_f16",
         classes = integer && row_.mnemonic.ends_with("class_f16");
    if (row_.flags & kMatrix && !inst_.src[index].is_vector()) return matrix_constant_type();
    if (cdna_) return (exponent || classes) && inst_.encoding == Format::VOP3 ? Type::f16 : type;
    if (mix() || exponent) return Type::f16;
    if (classes) return Type::b32;
    if (type == Type::bf16) return Type::pk16;
    if (type == Type::f16 && row_.format == Format::SOP1) return Type::b32;
    return type == Type::f16 && row_.format == Format::SOPC ? Type::i16 : type;
}

/// Upper halves that LLVM 19 has no text for: those of VOP3 forms whose op_sel it does not know (RDNA3 ISA, 7.2.1).
uint32_t Printer::unlisted_halves() const {
    const bool in_numbers = has_half_registers(inst_.encoding) || inst_.encoding == Format::VOP3P;
    return in_numbers ? 0 : inst_.op_sel & ~(row_.modifiers >> 6 & 15u);
}

/// LLVM 19 spells halves in the forms that it knows to have them (kTrue16). In others the lower half is the whole
/// register's name unless the instruction has an upper one.
std::string Printer::half(const Operand& from, std::string text, size_t bit) const {
    bool named = row_.flags & kTrue16 || (has_half_registers(inst_.encoding) && inst_.op_sel) || unlisted_halves();
    if (named && is_half(from.type) && from.is_vgpr()) text += inst_.op_sel >> bit & 1 ? ".h" : ".l";
    return text;
}

std::string Printer::source(size_t index) const {
    const Operand& from = inst_.src[index];
    if (row_.src_kind[index] == kLiteralConstant && row_.format != Format::SOPK)
        return fmt::format("{:#x}", inst_.literal);
    std::string text = half(from, operand({from.code, constant_type(index)}), index);
    if (inst_.sdwa.sext >> index & 1) return "sext(" + text + ")";
    bool listed = (inst_.encoding == Format::VOP3P && !mix()) || row_.format == Format::MFMA;
    bool neg = !listed && inst_.neg >> index & 1;
    bool abs = !listed && (mix() ? inst_.neg_hi : inst_.abs) >> index & 1;
    if (abs) text = "|" + text + "|";
    if (!neg) return text;
    bool special = (from.code >= code::shared_base && from.code <= code::pops_exiting_wave_id) ||
                   (from.code >= code::vccz && from.code <= code::scc);
    bool constant = from.code >= code::inline_zero && !from.is_vector() && !special;
    return constant && !abs ? "neg(" + text + ")" : "-" + text;
}

void Printer::alu() {
    bool setreg = row_.flags & kImmediateFirst;
    bool simm = row_.modifiers & mod::simm && row_.format != Format::VINTERP;
    auto immediate = static_cast<uint16_t>(inst_.offset);
    if (setreg) item(print_simm(row_.mnemonic, immediate, family_));
    for (size_t i = 0; i < 2; ++i) {
        bool implied_exec = rules_.cmpx_has_exec && row_.dst[i] == Type::lanes && row_.flags & kWritesExec;
        if (row_.dst_kind[i] && !implied_exec) item(half(inst_.dst[i], operand(inst_.dst[i]), 3));
    }
    for (size_t i = 0; i < 4 && row_.src_kind[i]; ++i) item(source(i));
    if (simm && !setreg && !(row_.mnemonic == "s_endpgm" && immediate == 0))
        item(print_simm(row_.mnemonic, immediate, family_));
    if (row_.mnemonic.starts_with("s_sendmsg_rtn")) item(print_message(immediate, family_));
    modifiers();
}

std::string Printer::vopd() const {
    auto half = [&](const Row& row, const Operand& dst, const Operand* src) {
        std::string text = fmt::format("{} {}, {}", row.mnemonic, operand(dst), operand(src[0]));
        bool literal = row.flags & kLiteral, middle = row.flags & kLiteralSecond;
        if (literal && middle) text += fmt::format(", {:#x}", inst_.literal);
        if (src[1].present()) text += ", " + operand(src[1]);
        if (literal && !middle) text += fmt::format(", {:#x}", inst_.literal);
        return text;
    };
    return half(row_, inst_.dst[0], inst_.src.data()) + " :: " + half(*inst_.row_y, inst_.dst_y, inst_.src_y.data());
}

std::string print(const Inst& inst, Arch arch) {
    return inst.row ? Printer(inst, info(arch).family).run() : "<no instruction>";
}

}  // namespace strata::isa
