#include "strata/codegen/toolchain/diagnostics.h"

#include <charconv>

namespace strata::codegen {
namespace {

struct Location {
    std::string file;
    int line = 0, column = 0;
};

/// Takes ":number" off the end of `text`; 0 when there is none.
int take_number(std::string_view& text) {
    size_t colon = text.rfind(':');
    if (colon == text.npos) return 0;
    int value = 0;
    std::string_view digits = text.substr(colon + 1);
    auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (status != std::errc{} || end != digits.data() + digits.size()) return 0;
    text = text.substr(0, colon);
    return value;
}

/// "file:line:column" in front of ": error:".
Location read_location(std::string_view text) {
    Location at;
    int last = take_number(text);
    int before = last ? take_number(text) : 0;
    at.line = before ? before : last;
    at.column = before ? last : 0;
    if (at.line) at.file = text;
    return at;
}

struct FirstError {
    std::string text;  ///< from its first line up to the next message
    Location at;
    int count = 0;
};

/// True if a line starts a message: "...: error: ", "...: warning: ", "...: note: ".
bool starts_message(std::string_view line) {
    for (std::string_view kind : {"fatal error: ", "error: ", "warning: ", "note: ", "remark: "})
        if (size_t at = line.find(kind); at != line.npos && (at == 0 || line.substr(0, at).ends_with(": ")))
            return true;
    return line.find(" generated.") != line.npos || line.find(" generated when compiling") != line.npos;
}

FirstError find_first_error(std::string_view log) {
    FirstError first;
    bool inside = false;
    while (!log.empty()) {
        size_t end = std::min(log.find('\n'), log.size());
        std::string_view line = log.substr(0, end);
        log.remove_prefix(std::min(end + 1, log.size()));
        size_t mark = line.find("error: ");
        bool is_error = mark != line.npos && starts_message(line);
        if (is_error && first.count++ == 0) {
            std::string_view before = line.substr(0, mark);
            if (before.ends_with("fatal ")) before.remove_suffix(6);
            if (before.ends_with(": ")) before.remove_suffix(2);
            first.at = read_location(before);
            inside = true;
        } else if (starts_message(line)) {
            inside = false;
        }
        if (inside) first.text.append(line).push_back('\n');
    }
    if (!first.text.empty()) first.text.pop_back();
    return first;
}

}  // namespace

Error compile_error(const HipSource& source, std::string log, std::string_view otherwise) {
    FirstError first = find_first_error(log);
    Error error{ErrorKind::Compile, {}};
    error.message = first.count ? first.text : fmt::format("{}: {}", source.file_name, otherwise);
    if (first.count > 1)
        error.message += fmt::format("\n({} more error{})", first.count - 1, first.count > 2 ? "s" : "");
    if (first.text.find("image/texture API") != first.text.npos)
        error.message +=
            "\n(textures, surfaces and images are not there: pass the data as a pointer, and read and interpolate it "
            "in the kernel)";
    if (first.text.find("intrinsic %llvm.amdgcn.ds.gws") != first.text.npos)
        error.message +=
            "\n(the device libraries' barrier of a whole grid is made of instructions that this GPU does not have. End "
            "the kernel there and launch another, or count arrivals in memory)";
    error.file = first.at.file;
    error.line = first.at.line;
    error.column = first.at.column;
    error.log = std::move(log);
    error.source = source.text;
    return error;
}

Result<void> check_nothing_left_out(const HipSource& source, const std::string& log, std::string_view arch) {
    constexpr std::string_view begin = "remark: removing function '", middle = "': +";
    const std::string_view text = log;
    const size_t at = text.find(begin);
    if (at == text.npos) return {};
    std::string_view name = text.substr(at + begin.size()), feature;
    const size_t end = name.find(middle);
    if (end != name.npos)
        feature = name.substr(end + middle.size(), name.find(' ', end + middle.size()) - end - middle.size());
    name = name.substr(0, end);
    return Error{.kind = ErrorKind::Compile,
                 .message = fmt::format("{}: it calls {}, which is compiled for GPUs with {}, and {} is none. Clang "
                                        "would leave the call out. If it is of the device libraries, they are older "
                                        "than {}: install newer ones. Else give it no target attribute",
                                        source.file_name,
                                        name.empty() ? "a function of the device libraries" : fmt::format("'{}'", name),
                                        feature, arch, arch),
                 .log = log,
                 .source = source.text};
}

}  // namespace strata::codegen
