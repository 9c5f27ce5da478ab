#include "strata/codegen/compile/includes_p.h"

#include <fmt/core.h>

#include <filesystem>
#include <vector>

#include "strata/codegen/compile/options_p.h"
#include "strata/core/support/file.h"
#include "strata/core/support/hash.h"

namespace strata::codegen {
namespace {

std::string_view skip_spaces(std::string_view text) {
    size_t at = text.find_first_not_of(" \t");
    return at == text.npos ? std::string_view() : text.substr(at);
}

/// The words of a make rule; "\ " is a space within a word, a backslash at the end of a line continues it.
std::vector<std::string> words_of_rule(std::string_view rule) {
    std::vector<std::string> words(1);
    for (size_t i = 0; i < rule.size(); ++i) {
        if (rule[i] == '\\' && i + 1 < rule.size() && rule[i + 1] == ' ') {
            words.back() += ' ';
            ++i;
        } else if (rule[i] == ' ' || rule[i] == '\n' ||
                   (rule[i] == '\\' && i + 1 < rule.size() && rule[i + 1] == '\n')) {
            if (!words.back().empty()) words.emplace_back();
        } else {
            words.back() += rule[i];
        }
    }
    if (words.back().empty()) words.pop_back();
    return words;
}

}  // namespace

bool may_include_files(const HipSource& source) {
    if (may_read_files(source.options)) return true;
    std::string_view text = source.text;
    for (size_t at = 0; (at = text.find('#', at)) != text.npos; ++at) {
        std::string_view line = skip_spaces(text.substr(at + 1));
        if (!line.starts_with("include")) continue;
        line.remove_prefix(std::min(line.find_first_of(" \t<\"\n"), line.size()));
        if (!skip_spaces(line).starts_with('<')) return true;
    }
    return false;
}

std::string describe_includes(std::string_view dependencies, std::string_view header) {
    std::string description;
    size_t colon = dependencies.find(": ");
    if (colon == dependencies.npos) return description;
    for (const std::string& word : words_of_rule(dependencies.substr(colon + 2))) {
        std::error_code status;
        std::string path = std::filesystem::absolute(word, status).string();
        if (status || path == header) continue;
        if (auto content = read_file(path)) description += fmt::format("{} {}\n", content_hash(*content), path);
    }
    return description;
}

bool still_valid(std::string_view description) {
    while (!description.empty()) {
        std::string_view line = description.substr(0, description.find('\n'));
        description.remove_prefix(std::min(line.size() + 1, description.size()));
        size_t space = line.find(' ');
        auto content = read_file(std::string(line.substr(space + 1)));
        if (!content || content_hash(*content) != line.substr(0, space)) return false;
    }
    return true;
}

}  // namespace strata::codegen
