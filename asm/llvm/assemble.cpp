#include "strata/asm/llvm/assemble.h"

#include <cstring>
#include <filesystem>

#include "strata/asm/llvm/child_p.h"
#include "strata/asm/llvm/diagnostics_p.h"
#include "strata/asm/llvm/service/llvm_api.h"

namespace strata::isa {
namespace {

Error about(std::string_view text, std::string_view file_name, const Error& cause) {
    if (cause.kind == ErrorKind::Device) return cause;
    Error error{ErrorKind::Assembly, fmt::format("{}: error: {}", file_name, cause.message)};
    error.source = std::string(text);
    error.file = std::string(file_name);
    return error;
}

/// A relocatable object from LLVM's assembler, which works in a process of its own. `ended`, where given: whether the
/// text ended that process.
Result<Bytes> emit_object(std::string_view text, Arch arch, int wave_size, std::string_view file_name,
                          bool* ended = nullptr) {
    std::error_code status;
    const std::string folder = std::filesystem::current_path(status).string();
    Result<Message> reply = ask_llvm({std::string(kAssemble), status ? "/" : folder, std::string(info(arch).name),
                                      wave_features(arch, wave_size), std::string(text)});
    if (ended) *ended = !reply;
    if (!reply) return about(text, file_name, reply.error());
    if ((*reply)[0] == kMissing) return Error{ErrorKind::Device, reply->back()};
    if ((*reply)[0] == kObject) return Bytes(reply->back().begin(), reply->back().end());
    std::vector<Diagnostic> errors;
    for (size_t i = 1; i < reply->size(); ++i) errors.push_back(parse_diagnostic((*reply)[i]));
    return assembly_error(errors, text, file_name);
}

/// Text that declares its kernels wave64 on an arch whose default is wave32 has to be assembled as such.
int declared_wave_size(std::string_view text) {
    constexpr std::string_view kDirective = ".amdhsa_wavefront_size32";
    const size_t at = text.find(kDirective);
    if (at == text.npos) return 0;
    const size_t value = text.find_first_not_of(" \t", at + kDirective.size());
    return value != text.npos && text[value] == '0' ? 64 : 32;
}

/// The text with a .loc in front of each line that may be an instruction, so that LLVM makes a line table. Text with
/// line numbers of its own stays as it is.
std::string with_lines(std::string_view text, std::string_view file_name) {
    for (std::string_view own : {".loc ", ".loc\t", ".file"})
        if (text.find(own) != text.npos) return std::string(text);
    std::string marked = ".file 1 \"";
    for (char c : file_name) {
        if (c == '"' || c == '\\') marked += '\\';
        marked += c;
    }
    marked += "\"\n";
    bool metadata = false;  // a block of YAML
    for (int number = 1; !text.empty(); ++number) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        const size_t first = line.find_first_not_of(" \t\r");
        const std::string_view word = first == line.npos ? std::string_view() : line.substr(first);
        if (word.starts_with(".amdgpu_metadata")) metadata = true;
        if (!metadata && !word.empty() && std::string_view(".;#/").find(word[0]) == word.npos)
            marked += fmt::format(".loc 1 {}\n", number);
        if (word.starts_with(".end_amdgpu_metadata")) metadata = false;
        marked.append(line).append("\n");
    }
    return marked;
}

}  // namespace

Result<Bytes> assemble(std::string_view text, Arch arch, std::string_view file_name) {
    const int wave_size = declared_wave_size(text);
    bool ended = false;
    Result<Bytes> object = emit_object(with_lines(text, file_name), arch, wave_size, file_name, &ended);
    if (!object && !ended) object = emit_object(text, arch, wave_size, file_name);  // errors count the user's lines
    if (!object) {
        object.error().source = std::string(text);
        return object;
    }
    Result<Bytes> linked = link_relocatable(*object);
    if (linked) return linked;
    return about(text, file_name, linked.error());
}

Result<std::vector<uint32_t>> assemble_instructions(std::string_view text, Arch arch, int wave_size) {
    STRATA_TRY_VOID(check_wave_size(arch, wave_size));
    // LLVM pads the section with s_code_end; the label tells where the user's code ends.
    constexpr std::string_view kEnd = "strata_end_of_code";
    STRATA_TRY(Bytes object, emit_object(fmt::format("{}\n{}:\n", text, kEnd), arch, wave_size, "<asm>"));
    STRATA_TRY(Bytes code, code_of_relocatable(object, kEnd));
    if (code.size() % 4)
        return make_error(ErrorKind::Assembly, "<asm>: the code is {} bytes long, not a number of words", code.size());
    std::vector<uint32_t> words(code.size() / 4);
    if (!words.empty()) std::memcpy(words.data(), code.data(), code.size());
    return words;
}

bool llvm_available() {
    const Result<Message> reply = ask_llvm({std::string(kHello)});
    return reply && (*reply)[0] == kObject;
}

}  // namespace strata::isa
