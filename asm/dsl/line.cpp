#include <algorithm>
#include <vector>

#include "strata/asm/dsl/assembler.h"
#include "strata/asm/dsl/text_p.h"

// One line of LLVM-syntax text, taken apart and handed to emit().
namespace strata::isa {
namespace {

std::string_view without_comment(std::string_view text) {
    for (std::string_view mark : {"//", ";"}) text = text.substr(0, text.find(mark));
    return trim(text);
}

/// Cuts at the separators that stand outside brackets; empty parts are dropped.
template <class IsSeparator>
std::vector<std::string_view> split(std::string_view text, IsSeparator is_separator) {
    std::vector<std::string_view> parts;
    int depth = 0;
    size_t start = 0;
    for (size_t i = 0; i <= text.size(); ++i) {
        const char c = i < text.size() ? text[i] : 0;
        depth += c == '(' || c == '[';
        depth -= c == ')' || c == ']';
        if (i < text.size() && (depth > 0 || !is_separator(c))) continue;
        if (std::string_view part = trim(text.substr(start, i - start)); !part.empty()) parts.push_back(part);
        start = i + 1;
    }
    return parts;
}

bool is_identifier(std::string_view text) {
    return !text.empty() && !(text[0] >= '0' && text[0] <= '9') && std::ranges::all_of(text, [](char c) {
        return c == '_' || c == '.' || c == '$' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
               (c >= 'A' && c <= 'Z');
    });
}

struct ParsedLine {
    std::string_view mnemonic;
    std::vector<DynOperand> operands;
    Modifiers modifiers;
};

/// The last part holds the modifiers too, separated by blanks; returns what is left of it, the operand. Where there is
/// no other part, the instruction may have no operand at all.
Result<std::string_view> take_modifiers(std::string_view part, bool only_part, Modifiers& modifiers) {
    std::vector<std::string_view> words = split(part, [](char c) { return c == ' ' || c == '\t'; });
    std::string_view operand = words.front();
    if (only_part && parse_modifier(operand, modifiers)) operand = {};
    for (size_t i = 1; i < words.size(); ++i) STRATA_TRY_VOID(parse_modifier(words[i], modifiers));
    return operand;
}

Result<DynOperand> parse_operand(Assembler& assembler, std::string_view mnemonic, std::string_view text) {
    if (auto immediate = parse_immediate(info(assembler.arch()).family, mnemonic, text))
        return DynOperand(static_cast<int>(*immediate));
    return assembler.operand(text);
}

Result<ParsedLine> parse_line(Assembler& assembler, std::string_view text) {
    ParsedLine line;
    const size_t end = text.find_first_of(kBlank);
    line.mnemonic = text.substr(0, end);
    const std::string_view rest = end == text.npos ? std::string_view() : trim(text.substr(end));
    if (auto immediate = parse_immediate(info(assembler.arch()).family, line.mnemonic,
                                         rest)) {  // several words: "vmcnt(0) lgkmcnt(0)"
        line.operands = {DynOperand(static_cast<int>(*immediate))};
        return line;
    }
    std::vector<std::string_view> parts = split(rest, [](char c) { return c == ','; });
    if (!parts.empty()) {
        STRATA_TRY(parts.back(), take_modifiers(parts.back(), parts.size() == 1, line.modifiers));
    }
    for (std::string_view part : parts) {
        if (part.empty()) continue;
        const bool is_list = part.starts_with('[') && part.ends_with(']');  // address registers of images
        for (std::string_view one :
             is_list ? split(part.substr(1, part.size() - 2), [](char c) { return c == ','; }) : std::vector{part}) {
            STRATA_TRY(DynOperand operand, parse_operand(assembler, line.mnemonic, one));
            line.operands.push_back(operand);
        }
    }
    return line;
}

}  // namespace

Result<DynOperand> Assembler::operand(std::string_view text) {
    Result<DynOperand> parsed = DynOperand::parse(text);
    if (parsed || !is_identifier(trim(text))) return parsed;
    return DynOperand(label(trim(text)));
}

void Assembler::emit_line(std::string_view line, const Location& where) {
    std::string_view text = without_comment(line);
    if (const size_t colon = text.find(':'); colon != text.npos && is_identifier(trim(text.substr(0, colon))) &&
                                             text.find_first_of(kBlank) >= colon &&
                                             !text.substr(colon).starts_with("::")) {
        bind(label(trim(text.substr(0, colon))), where);
        text = trim(text.substr(colon + 1));
    }
    if (text.empty()) return;
    if (const size_t middle = text.find("::"); middle != text.npos) {
        Result<ParsedLine> x = parse_line(*this, trim(text.substr(0, middle))),
                           y = parse_line(*this, trim(text.substr(middle + 2)));
        if (!x) return fail(x.error(), where);
        if (!y) return fail(y.error(), where);
        return emit_dual(x->mnemonic, x->operands, y->mnemonic, y->operands, where);
    }
    Result<ParsedLine> parsed = parse_line(*this, text);
    if (!parsed) return fail(parsed.error(), where);
    emit(parsed->mnemonic, parsed->operands, parsed->modifiers, where);
}

}  // namespace strata::isa
