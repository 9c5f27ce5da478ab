#include "strata/codegen/toolchain/includes.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <vector>

#include "strata/codegen/toolchain/options.h"
#include "strata/core/support/file.h"
#include "strata/core/support/hash.h"

namespace strata::codegen {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostAbsent = 10000;  // paths of a description that must stay absent

/// The text with continued lines joined, as the preprocessor reads it: a backslash (or its trigraph), spaces, a line's
/// end.
std::string joined_lines(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        const size_t mark = text[i] == '\\' ? 1 : text.substr(i).starts_with("?\?/") ? 3 : 0;
        const size_t end = mark ? text.find_first_not_of(" \t\r\f\v", i + mark) : text.npos;
        if (end != text.npos && text[end] == '\n')
            i = end;
        else
            out += text[i];
    }
    return out;
}

/// True if the word at `at` names a file of the toolchain: `include <`.
bool is_system_include(std::string_view text, size_t at) {
    if (!text.substr(at).starts_with("include")) return false;
    const size_t next = text.find_first_not_of(" \t", at + std::string_view("include").size());
    return next != text.npos && text[next] == '<';
}

/// True if some word of the text could make a compiler read a file: directives are spelt out in the text, whatever
/// macros do.
bool may_read_files(std::string_view text) {
    const std::string lines = joined_lines(text);
    for (std::string_view word : {"include", "import", "embed", "incbin", "__has_"})
        for (size_t at = 0; (at = lines.find(word, at)) != lines.npos; ++at)
            if (!is_system_include(lines, at)) return true;
    return false;
}

/// True if a text asks for files that no list of dependencies names: those that are not there, and those that assembly
/// reads.
bool hides_files(std::string_view text) {
    std::string lines = joined_lines(text);
    std::erase_if(lines, [](char c) { return c == '"' || c == ' ' || c == '\t' || c == '\n'; });  // joins literals
    return lines.find("__has_") != lines.npos || lines.find(".incbin") != lines.npos ||
           lines.find(".include") != lines.npos;
}

/// The files of clang's dependency file, which has backslashes before spaces and number signs, and dollars twice.
std::vector<std::string> files_of_rule(std::string_view rule) {
    std::vector<std::string> files(1);
    for (size_t i = 0; i < rule.size(); ++i) {
        const size_t end = std::min(rule.find_first_not_of('\\', i), rule.size());
        const size_t slashes = end - i;
        const char next = end < rule.size() ? rule[end] : '\n';
        if (slashes == 1 && next == '\n') continue;  // the next line goes on
        if (next == ' ' || next == '#') {
            files.back().append(slashes / 2, '\\');
            if (slashes % 2 == 1 || next == '#')
                files.back() += next;
            else if (!files.back().empty())
                files.emplace_back();
            i = end;
        } else if (slashes > 0) {
            files.back().append(slashes, '\\');
            i = end - 1;
        } else if (next == '\n') {
            if (!files.back().empty()) files.emplace_back();
        } else {
            i += next == '$' && rule.substr(i).starts_with("$$");
            files.back() += next;
        }
    }
    if (files.back().empty()) files.pop_back();
    return files;
}

/// Folders that a compiler looks into, in order: those of the user, and the toolchain's.
struct Folders {
    std::vector<fs::path> users, system;

    explicit Folders(std::span<const std::string> args) {
        constexpr std::array<std::string_view, 4> kUsers = {"-iquote", "-isystem", "-idirafter", "-I"};
        for (size_t i = 0; i < args.size(); ++i) {
            const std::string_view arg = args[i];
            if (arg.starts_with("-internal-") && i + 1 < args.size())
                system.push_back(fs::absolute(args[++i]).lexically_normal());
            for (std::string_view option : kUsers) {
                if (!arg.starts_with(option)) continue;
                const bool alone = arg == option;
                if (alone && i + 1 == args.size()) break;
                users.push_back(fs::absolute(alone ? args[++i] : arg.substr(option.size())).lexically_normal());
                break;
            }
        }
    }
};

/// A path below a folder, from there on; empty: it is elsewhere.
fs::path below(const fs::path& file, const fs::path& folder) {
    const fs::path from_there = file.lexically_relative(folder);
    return from_there.empty() || *from_there.begin() == ".." ? fs::path() : from_there;
}

/// Paths that clang would have taken instead of some file, had they been there. None: too many to tell.
std::optional<std::set<std::string>> absent_files(const std::vector<fs::path>& files, Folders folders) {
    std::set<fs::path> includers;
    for (const fs::path& file : files) includers.insert(file.parent_path());
    includers.insert(fs::current_path());
    folders.users.insert(folders.users.end(), includers.begin(), includers.end());
    std::set<std::string> absent;
    for (const fs::path& file : files)
        for (const fs::path& from : folders.users) {
            const fs::path name = below(file, from);
            if (name.empty()) continue;
            for (const fs::path& other : folders.users)
                if (std::error_code status; !fs::exists(other / name, status)) absent.insert(other / name);
            if (absent.size() > kMostAbsent) return std::nullopt;
        }
    return absent;
}

}  // namespace

bool may_include_files(const HipSource& source) {
    if (may_read_files(source.options) || may_read_files(source.text)) return true;
    return std::ranges::any_of(source.options, [](std::string_view option) { return may_read_files(option); });
}

std::optional<std::string> describe_includes(std::string_view text, std::string_view dependencies,
                                             std::string_view header, std::span<const std::string> args) {
    const size_t colon = dependencies.find(": ");
    if (colon == dependencies.npos || hides_files(text)) return std::nullopt;
    const Folders folders(args);
    std::vector<fs::path> files;
    std::string description;
    for (const std::string& file : files_of_rule(dependencies.substr(colon + 2))) {
        const fs::path path = fs::absolute(file).lexically_normal();
        if (path == header) continue;
        const auto content = read_file(path.string());
        if (!content || path.string().find('\n') != std::string::npos) return std::nullopt;
        description += fmt::format("{} {}\n", content_hash(*content), path.string());
        const auto holds = [&](const fs::path& folder) { return !below(path, folder).empty(); };
        if (std::ranges::any_of(folders.system, holds)) continue;
        if (hides_files(*content)) return std::nullopt;
        files.push_back(path);
    }
    if (files.empty()) return description;
    const auto absent = absent_files(files, folders);
    if (!absent) return std::nullopt;
    for (const std::string& path : *absent) description += fmt::format("absent {}\n", path);
    return description + fmt::format("folder {}\n", fs::current_path().string());
}

bool still_valid(std::string_view description) {
    std::error_code status;
    while (!description.empty()) {
        const std::string_view line = description.substr(0, description.find('\n'));
        description.remove_prefix(std::min(line.size() + 1, description.size()));
        const size_t space = line.find(' ');
        if (space == line.npos) return false;
        const std::string_view what = line.substr(0, space);
        const std::string path(line.substr(space + 1));
        if (what == "absent") {
            if (fs::exists(path, status)) return false;
        } else if (what == "folder") {
            if (fs::current_path(status) != path) return false;
        } else if (const auto content = read_file(path); !content || content_hash(*content) != what) {
            return false;
        }
    }
    return true;
}

}  // namespace strata::codegen
