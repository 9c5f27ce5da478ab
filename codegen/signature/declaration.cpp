// Reads declarations of parameters: enough of C++ to tell numbers, pointers and pointers to const.
#include "strata/codegen/signature/declaration_p.h"

#include <algorithm>
#include <array>
#include <utility>

namespace strata::codegen {
namespace {

constexpr bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string_view trim(std::string_view text) {
    constexpr std::string_view blank = " \t\r\n";
    size_t begin = text.find_first_not_of(blank);
    return begin == text.npos ? std::string_view() : text.substr(begin, text.find_last_not_of(blank) - begin + 1);
}

std::string without_comments(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size();) {
        std::string_view rest = text.substr(i);
        if (rest.starts_with("//")) {
            i = std::min(text.find('\n', i), text.size());
        } else if (rest.starts_with("/*")) {
            size_t end = text.find("*/", i + 2);
            i = end == text.npos ? text.size() : end + 2;
            out += ' ';
        } else {
            out += text[i++];
        }
    }
    return out;
}

/// The words of a type, "::" and brackets left out.
std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    for (size_t i = 0; i < text.size();) {
        size_t begin = i;
        while (i < text.size() && is_word(text[i])) ++i;
        if (i == begin)
            ++i;
        else
            words.push_back(text.substr(begin, i - begin));
    }
    return words;
}

/// Where the word stands alone, from `at` on.
size_t find_word(std::string_view text, std::string_view word, size_t at = 0) {
    for (; (at = text.find(word, at)) != text.npos; ++at) {
        size_t end = at + word.size();
        if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) return at;
    }
    return text.npos;
}

/// The end of the group that opens at `at`.
size_t closing(std::string_view text, size_t at) {
    int depth = 0;
    for (; at < text.size(); ++at) {
        if (text[at] == '(') ++depth;
        if (text[at] == ')' && --depth == 0) return at;
    }
    return text.npos;
}

std::vector<std::string_view> split_parameters(std::string_view list) {
    std::vector<std::string_view> parts;
    int depth = 0;
    size_t begin = 0;
    for (size_t i = 0; i <= list.size(); ++i) {
        char c = i < list.size() ? list[i] : ',';
        if (c == '(' || c == '<' || c == '[' || c == '{') ++depth;
        if (c == ')' || c == '>' || c == ']' || c == '}') --depth;
        if (c != ',' || (depth != 0 && i < list.size())) continue;
        if (std::string_view part = trim(list.substr(begin, i - begin)); !part.empty()) parts.push_back(part);
        begin = i + 1;
    }
    if (parts.size() == 1 && parts[0] == "void") parts.clear();
    return parts;
}

bool is_qualifier(std::string_view word) {
    constexpr std::array known{"const",      "volatile", "restrict",       "__restrict__",
                               "__restrict", "register", "__grid_const__", "__grid_constant__",
                               "struct",     "typename", "enum",           "class"};
    return std::ranges::find(known, word) != known.end();
}

std::string without_qualifiers(std::string_view type) {
    std::string out;
    for (size_t i = 0; i < type.size();) {
        size_t begin = i;
        while (i < type.size() && is_word(type[i])) ++i;
        if (i == begin) {
            out += type[i++];
        } else if (std::string_view word = type.substr(begin, i - begin); !is_qualifier(word)) {
            out += word;
        }
    }
    return std::string(trim(out));
}

/// `named`: its last word is the parameter's name.
Declared read_parameter(std::string_view text, bool named) {
    text = trim(text.substr(0, text.find('=')));
    Declared out;
    bool array = text.ends_with(']');
    if (array) text = trim(text.substr(0, text.rfind('[')));
    if (named && words_of(text).size() > 1 && is_word(text.back()) && !is_qualifier(words_of(text).back())) {
        size_t begin = text.size();
        while (begin > 0 && is_word(text[begin - 1])) --begin;
        out.name = text.substr(begin);
        text = trim(text.substr(0, begin));
    }
    size_t last = array ? text.size() : text.rfind('*');
    // A star within <> belongs to an argument of a template.
    if (!array && last != text.npos && text.find('>', last) != text.npos) last = text.npos;
    out.pointer = last != text.npos;
    if (out.pointer) {
        size_t before = last == 0 ? text.npos : text.rfind('*', last - 1);
        std::string_view pointee = text.substr(before == text.npos ? 0 : before + 1);
        pointee = pointee.substr(0, last - (before == text.npos ? 0 : before + 1));
        out.points_to_const = find_word(pointee, "const") != pointee.npos;
    }
    out.type = without_qualifiers(text);
    if (array) out.type += "*";
    return out;
}

std::vector<Declared> read_parameters(std::string_view list, bool named) {
    std::vector<Declared> out;
    for (std::string_view part : split_parameters(list)) out.push_back(read_parameter(part, named));
    return out;
}

/// The meaning that `typedef X name;`, `using name = X;` or `#define name X` gives, or "".
std::string_view meaning_of(std::string_view name, std::string_view text) {
    for (size_t at = 0; (at = find_word(text, name, at)) != text.npos; ++at) {
        size_t line = text.find_last_of(";{}\n", at);
        std::string_view before =
            trim(text.substr(line == text.npos ? 0 : line + 1, at - (line == text.npos ? 0 : line + 1)));
        std::string_view after = text.substr(at + name.size());
        if (before.starts_with("typedef ") && trim(after).starts_with(';')) return trim(before.substr(8));
        if (before == "using" && trim(after).starts_with('=')) {
            after = after.substr(after.find('=') + 1);
            return trim(after.substr(0, after.find(';')));
        }
        if (before.starts_with('#') && trim(before.substr(1)) == "define" &&
            (after.starts_with(' ') || after.starts_with('\t')))
            return trim(after.substr(0, after.find('\n')));
    }
    return {};
}

struct Spelling {
    std::string_view word;
    DType type;
};
constexpr Spelling kSpellings[] = {
    {"float", dtypes::float32},   {"double", dtypes::float64},        {"bool", dtypes::boolean},
    {"_Bool", dtypes::boolean},   {"_Float16", dtypes::float16},      {"__fp16", dtypes::float16},
    {"half", dtypes::float16},    {"__half", dtypes::float16},        {"float16_t", dtypes::float16},
    {"__bf16", dtypes::bfloat16}, {"hip_bfloat16", dtypes::bfloat16}, {"__hip_bfloat16", dtypes::bfloat16},
    {"int8_t", dtypes::int8},     {"uint8_t", dtypes::uint8},         {"uchar", dtypes::uint8},
    {"int16_t", dtypes::int16},   {"uint16_t", dtypes::uint16},       {"ushort", dtypes::uint16},
    {"int32_t", dtypes::int32},   {"uint32_t", dtypes::uint32},       {"uint", dtypes::uint32},
    {"int64_t", dtypes::int64},   {"uint64_t", dtypes::uint64},       {"ulong", dtypes::uint64},
    {"ptrdiff_t", dtypes::int64}, {"ssize_t", dtypes::int64},         {"size_t", dtypes::uint64},
    {"intptr_t", dtypes::int64},  {"uintptr_t", dtypes::uint64},      {"float32_t", dtypes::float32},
};

/// "unsigned long int" in any order.
std::optional<DType> integer_of_words(const std::vector<std::string_view>& words) {
    int longs = 0;
    bool is_short = false, is_char = false, is_unsigned = false;
    for (std::string_view word : words) {
        if (word == "long")
            ++longs;
        else if (word == "short")
            is_short = true;
        else if (word == "char")
            is_char = true;
        else if (word == "unsigned")
            is_unsigned = true;
        else if (word != "int" && word != "signed")
            return {};
    }
    if (is_char) return is_unsigned ? dtypes::uint8 : dtypes::int8;
    if (is_short) return is_unsigned ? dtypes::uint16 : dtypes::int16;
    if (longs) return is_unsigned ? dtypes::uint64 : dtypes::int64;
    return is_unsigned ? dtypes::uint32 : dtypes::int32;
}

}  // namespace

std::vector<Declared> parameters_of_signature(std::string_view signature) {
    size_t end = signature.rfind(')');
    if (end == signature.npos) return {};
    for (size_t begin = signature.rfind('(', end); begin != signature.npos;
         begin = begin == 0 ? signature.npos : signature.rfind('(', begin - 1))
        if (closing(signature, begin) == end)
            return read_parameters(signature.substr(begin + 1, end - begin - 1), false);
    return {};
}

std::vector<Declared> parameters_in_text(std::string_view source, std::string_view name) {
    std::string text = without_comments(source);
    std::string_view view = text;
    for (size_t at = 0; (at = find_word(view, name, at)) != view.npos; ++at) {
        size_t open = view.find_first_not_of(" \t\r\n", at + name.size());
        if (open == view.npos || view[open] != '(') continue;
        size_t begin = view.substr(0, at).find_last_of(";{}");
        std::string_view before = view.substr(begin == view.npos ? 0 : begin, at - (begin == view.npos ? 0 : begin));
        size_t end = closing(view, open);
        if (end == view.npos ||
            (find_word(before, "__global__") == before.npos && find_word(before, "global") == before.npos))
            continue;
        return read_parameters(view.substr(open + 1, end - open - 1), true);
    }
    return {};
}

std::optional<DType> number_type(std::string_view type, std::string_view text) {
    for (int depth = 0; depth < 8; ++depth) {
        std::string plain = without_qualifiers(type);
        std::string_view bare = plain;
        if (bare.starts_with("std::")) bare.remove_prefix(5);
        std::vector<std::string_view> words = words_of(bare);
        if (words.empty() || bare.find_first_of("<*&:") != bare.npos) return {};
        if (auto integer = integer_of_words(words)) return integer;
        if (words.size() != 1) return {};
        for (const Spelling& spelling : kSpellings)
            if (spelling.word == bare) return spelling.type;
        type = meaning_of(bare, text);
        if (type.empty()) return {};
    }
    return {};
}

}  // namespace strata::codegen
