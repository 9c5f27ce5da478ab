#pragma once
#include <charconv>
#include <initializer_list>
#include <string>
#include <string_view>

#include "llvm_oracle.h"

// Where LLVM 19's disassembler prints what its own assembler refuses or misreads. Everything else agrees exactly.
namespace strata::isa {

inline bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

inline bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> prefixes) {
    for (std::string_view prefix : prefixes)
        if (text.starts_with(prefix)) return true;
    return false;
}

/// Image, export, parameter and ray tracing instructions.
inline bool is_graphics(std::string_view text) {
    return starts_with_any(text, {"image_", "exp ", "export ", "lds_", "ds_param_load", "ds_direct_load", "ds_bvh",
                                  "ds_ordered", "ds_add_gs", "ds_sub_gs", "v_screen_partition"});
}

/// An SDWA word names registers only; LLVM's assembler has no constants there.
inline bool constant_in_sdwa(std::string_view text) {
    if (!has(text, "_sdwa")) return false;
    std::string_view operands = text.substr(0, text.find("_sel:"));
    for (size_t at; (at = operands.find(", ")) != std::string_view::npos;) {
        operands.remove_prefix(at + 2);
        std::string_view value = operands;
        for (std::string_view prefix : {"sext(", "neg(", "-", "|", "-"})
            if (value.starts_with(prefix)) value.remove_prefix(prefix.size());
        if (value[0] >= '0' && value[0] <= '9') return true;
    }
    return false;
}

/// Words that LLVM prints and calls invalid in the same output, in a comment ("/*Invalid register"). Also words with an
/// operand that the family lacks: LDS as a source, a literal as the offset of a buffer instruction. s_delay_alu with a
/// comment is valid: the fields are hints.
inline bool refused_in_print(const LlvmOracle::Answer& answer, Arch arch) {
    std::string_view text = answer.text;
    if (text.starts_with("v_illegal")) return true;
    if (has(text, "/*") && !text.starts_with("s_delay_alu")) return true;
    if (has(text, "src_lds_direct") || constant_in_sdwa(text)) return true;
    bool buffer = starts_with_any(text, {"buffer_", "tbuffer_"});
    return info(arch).family == Family::rdna3 && buffer && answer.size == 12;
}

inline void replace_all(std::string& text, std::string_view from, std::string_view to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
}

/// The negation bit of an integer source, which means nothing, printed as a sign extension.
inline void drop_sext(std::string& text) {
    for (size_t at; (at = text.find("sext(")) != std::string::npos;) {
        text.erase(text.find(')', at), 1);
        text.erase(at, 5);
    }
}

/// FLAT instructions before RDNA4 have 12 bits of offset; LLVM prints the ignored thirteenth (RDNA3 ISA, 11.1).
inline void cut_flat_offset(std::string& text) {
    size_t at = text.find(" offset:");
    if (!text.starts_with("flat_") || at == std::string::npos) return;
    int offset = 0;
    const char* first = text.data() + at + 8;
    const char* last = std::from_chars(first, text.data() + text.size(), offset).ptr;
    std::string kept = offset & 4095 ? " offset:" + std::to_string(offset & 4095) : "";
    text.replace(at, static_cast<size_t>(last - first) + 8, kept);
}

/// Upper halves of registers, which LLVM 19 lacks in its tables of most 16-bit instructions. v133 with a remark is the
/// upper half of v5 (RDNA3 ISA, 7.1), "v5.h" in LLVM 20.
inline void name_upper_halves(std::string& text) {
    constexpr std::string_view remark = "/*Invalid register, operand has '";
    for (size_t at = 0; (at = text.find(remark, at)) != std::string::npos;) {
        const size_t name = at + remark.size(), quote = text.find('\'', name), end = text.find("*/", quote);
        const size_t first = text.find_last_not_of("0123456789", at - 1) + 1;
        int number = 0;
        std::from_chars(text.data() + first, text.data() + at, number);
        const bool low128 = text.substr(name, quote - name).ends_with("_Lo128");
        if (!low128 || first == 0 || text[first - 1] != 'v' || number < 128) return;
        const std::string half = std::to_string(number - 128) + ".h";
        text.replace(first, end + 2 - first, half);
        at = first + half.size();
    }
}

/// LLVM's answer as it would be without its mistakes of spelling; of size 0 where it refuses the word in print.
inline LlvmOracle::Answer without_quirks(LlvmOracle::Answer answer, Arch arch) {
    if (size_t comment = answer.text.find(" ; "); comment != std::string::npos) answer.text.resize(comment);
    if (!is_cdna(info(arch).family)) name_upper_halves(answer.text);
    if (refused_in_print(answer, arch)) return {};
    replace_all(answer.text, ", vcc_lo|", "|, vcc_lo");  // |src1| of v_cndmask_b32_dpp
    if (!has(answer.text, "_sdwa")) drop_sext(answer.text);
    bool scalar = is_cdna(info(arch).family) && answer.text.starts_with("s_");
    if (scalar) replace_all(answer.text, " offset:0x0", "");  // a sum with zero
    if (info(arch).family != Family::rdna4) cut_flat_offset(answer.text);
    return answer;
}

/// Words in which upper halves of 16-bit registers in a short encoding (`halves`, op_sel of an Inst) are made lower
/// ones. LLVM 19 refuses upper destinations and those of some sources altogether.
inline Words with_lower_halves(Words words, uint32_t halves, bool dpp) {
    constexpr uint32_t kSource0 = 1u << 7, kSource1 = 1u << 16, kDestination = 1u << 24;
    if (halves & 1) words[dpp ? 1 : 0] &= ~kSource0;
    if (halves & 6) words[0] &= ~kSource1;  // bit 2: after the literal of v_fmamk_f16
    if (halves & 8) words[0] &= ~kDestination;
    return words;
}

/// Words whose unread bits are those that the assembler writes: LLVM 19 refuses others in most of them.
inline Words without_unread(const Inst& inst, Words words, Family family) {
    const Unread unread = unread_bits(family, inst);
    const uint64_t low = ((words[0] | uint64_t{words[1]} << 32) & ~unread.low) | unread.written;
    const bool short_form = has_half_registers(inst.encoding);
    words[0] = static_cast<uint32_t>(low);
    if (unread.low >> 32 || !short_form) words[1] = static_cast<uint32_t>(low >> 32);
    words[2] &= ~unread.third;
    if (unread.extra) words[short_form ? 1 : 2] &= ~unread.extra;
    return words;
}

/// LLVM counts null, the apertures, vccz, execz and scc as registers and lets them stand where only a VGPR or an SGPR
/// may.
inline bool names_no_register(std::string_view text) { return has(text, "null") || has(text, "src_"); }

}  // namespace strata::isa
