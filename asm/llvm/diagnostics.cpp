#include "strata/asm/llvm/diagnostics_p.h"

#include <algorithm>
#include <charconv>

namespace strata::isa {
namespace {

/// Reads a number and the ':' after it off the front of `text`; 0 and no change when there is none.
int take_number(std::string_view& text) {
    int number = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    const auto used = static_cast<size_t>(end - text.data());
    if (status != std::errc() || used >= text.size() || text[used] != ':') return 0;
    text.remove_prefix(used + 1);
    return number;
}

std::string_view line_of(std::string_view source, int line) {
    for (; line > 1; --line) {
        const size_t end = source.find('\n');
        if (end == source.npos) return {};
        source.remove_prefix(end + 1);
    }
    return source.substr(0, source.find('\n'));
}

/// Spaces up to the column; tabs stay tabs, so that the caret stands under the character in any terminal.
std::string indent_to(std::string_view line, int column) {
    std::string indent;
    for (int i = 0; i + 1 < column; ++i) indent += static_cast<size_t>(i) < line.size() && line[i] == '\t' ? '\t' : ' ';
    return indent;
}

std::string located(const Diagnostic& diagnostic, std::string_view source, std::string_view file_name) {
    if (!diagnostic.line) return fmt::format("{}: error: {}", file_name, diagnostic.message);
    const std::string_view line = line_of(source, diagnostic.line);
    return fmt::format("{}:{}:{}: error: {}\n{}\n{}^", file_name, diagnostic.line, diagnostic.column,
                       diagnostic.message, line, indent_to(line, diagnostic.column));
}

}  // namespace

Diagnostic parse_diagnostic(std::string_view text) {
    Diagnostic result;
    constexpr std::string_view kBuffer = "<inline asm>:", kError = "error: ";
    if (const size_t at = text.find(kBuffer); at != text.npos) {
        text.remove_prefix(at + kBuffer.size());
        result.line = take_number(text);
        result.column = take_number(text);
    }
    if (const size_t at = text.find(kError); at != text.npos) text.remove_prefix(at + kError.size());
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    const size_t end = text.find('\n');
    result.message = std::string(text.substr(0, end));
    return result;
}

Error assembly_error(const std::vector<Diagnostic>& diagnostics, std::string_view source, std::string_view file_name) {
    Error error{ErrorKind::Assembly};
    if (diagnostics.empty()) {
        error.message = fmt::format("{}: error: the assembler failed without a message", file_name);
        return error;
    }
    const Diagnostic& first = diagnostics.front();
    error.message = located(first, source, file_name);
    if (diagnostics.size() > 1) error.message += fmt::format("\n({} more errors; see the log)", diagnostics.size() - 1);
    for (const Diagnostic& diagnostic : diagnostics) error.log += located(diagnostic, source, file_name) + "\n";
    error.source = std::string(source);
    error.file = std::string(file_name);
    error.line = first.line;
    error.column = first.column;
    return error;
}

}  // namespace strata::isa
