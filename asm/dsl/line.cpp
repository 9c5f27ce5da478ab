#include <algorithm>
#include <vector>

#include "strata/asm/dsl/assembler.h"

// One line of LLVM-syntax text, taken apart and handed to emit().
namespace strata::isa {
namespace {

constexpr std::string_view kBlank = " \t\r\n";

std::string_view trim(std::string_view text) {
    const size_t first = text.find_first_not_of(kBlank);
    if (first == text.npos) return {};
    return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string_view without_comment(std::string_view text) {
    for (std::string_view mark : {"//", ";"}) text = text.substr(0, text.find(mark));
    return trim(text);
}

/// Cuts at the separators that stand outside brackets and, with `bars`, outside |...|.
template <class IsSeparator>
std::vector<std::string_view> split(std::string_view text, IsSeparator is_separator) {
    std::vector<std::string_view> parts;
    int depth = 0;
    size_t start = 0;
    for (size_t i = 0; i <= text.size(); i++) {
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

Result<ParsedLine> parse_line(Assembler& assembler, std::string_view text) {
    ParsedLine line;
    const size_t end = text.find_first_of(kBlank);
    line.mnemonic = text.substr(0, end);
    const std::string_view rest = end == text.npos ? std::string_view() : trim(text.substr(end));
    if (auto immediate = parse_immediate(line.mnemonic, rest)) {
        line.operands = {DynOperand(static_cast<int>(*immediate))};
        return line;
    }
    const std::vector<std::string_view> parts = split(rest, [](char c) { return c == ','; });
    for (size_t i = 0; i < parts.size(); i++) {
        std::string_view part = parts[i];
        if (i + 1 == parts.size()) {  // modifiers follow the last operand, separated by blanks
            std::vector<std::string_view> words = split(part, [](char c) { return c == ' ' || c == '\t'; });
            size_t first = 1;
            if (parts.size() == 1 && parse_modifier(words[0], line.modifiers)) first = 0, part = {};
            if (!part.empty()) part = words[0];
            if (words.size() > 1 && (words[0] == "-" || words[0] == "|"))
                return make_error(ErrorKind::Assembly, "'{}': write operands without blanks", parts[i]);
            for (size_t w = std::max<size_t>(first, 1); w < words.size(); w++)
                STRATA_TRY_VOID(parse_modifier(words[w], line.modifiers));
        }
        if (part.empty()) continue;
        if (auto immediate = parse_immediate(line.mnemonic, part)) {
            line.operands.push_back(DynOperand(static_cast<int>(*immediate)));
            continue;
        }
        STRATA_TRY(DynOperand operand, assembler.operand(part));
        line.operands.push_back(operand);
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
