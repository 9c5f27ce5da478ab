#include "strata/asm/llvm/assemble.h"

#include <cstring>

#include "strata/asm/llvm/diagnostics_p.h"
#include "strata/asm/llvm/llvm_api_p.h"

// The C API has no assembler as such. A module that holds only inline assembly, emitted as an object file, is one: text
// with all directives goes in, a relocatable object comes out.
namespace strata::isa {
namespace {

struct Collector {
    const LlvmApi& api;
    std::vector<Diagnostic> errors;
};

/// AMDGPU also reports remarks and warnings here; only errors count.
void collect(LlvmDiagnostic diagnostic, void* user) {
    Collector& collector = *static_cast<Collector*>(user);
    if (collector.api.LLVMGetDiagInfoSeverity(diagnostic) != kLlvmSeverityError) return;
    char* text = collector.api.LLVMGetDiagInfoDescription(diagnostic);
    collector.errors.push_back(parse_diagnostic(text));
    collector.api.LLVMDisposeMessage(text);
}

Result<Bytes> emit_object(const LlvmApi& api, std::string_view text, Arch arch, int wave_size,
                          std::string_view file_name) {
    Collector collector{api, {}};
    Owned context(api.LLVMContextCreate(), api.LLVMContextDispose);
    api.LLVMContextSetDiagnosticHandler(context.get(), collect, &collector);
    const std::string cpu(info(arch).name), features = wave_features(arch, wave_size);
    Owned machine(api.LLVMCreateTargetMachine(api.amdgpu, kTriple, cpu.c_str(), features.c_str(), kLlvmCodeGenDefault,
                                              kLlvmRelocPic, kLlvmCodeModelDefault),
                  api.LLVMDisposeTargetMachine);
    if (!machine.get()) return make_error(ErrorKind::Device, "LLVM cannot target {}", cpu);
    Owned module(api.LLVMModuleCreateWithNameInContext("assembly", context.get()), api.LLVMDisposeModule);
    api.LLVMSetTarget(module.get(), kTriple);
    api.LLVMSetModuleInlineAsm2(module.get(), text.data(), text.size());

    Owned<LlvmBuffer> buffer(nullptr, api.LLVMDisposeMemoryBuffer);
    char* message = nullptr;
    const bool failed =
        api.LLVMTargetMachineEmitToMemoryBuffer(machine.get(), module.get(), kLlvmObjectFile, &message, buffer.out());
    if (message) {
        if (failed && collector.errors.empty()) collector.errors.push_back(parse_diagnostic(message));
        api.LLVMDisposeMessage(message);
    }
    if (failed || !collector.errors.empty()) return assembly_error(collector.errors, text, file_name);
    const auto* start = reinterpret_cast<const uint8_t*>(api.LLVMGetBufferStart(buffer.get()));
    return Bytes(start, start + api.LLVMGetBufferSize(buffer.get()));
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
    const Result<LlvmApi>& api = llvm();
    if (!api) return api.error();
    const int wave_size = declared_wave_size(text);
    Result<Bytes> object = emit_object(*api, with_lines(text, file_name), arch, wave_size, file_name);
    if (!object) object = emit_object(*api, text, arch, wave_size, file_name);  // errors count the user's lines
    if (!object) return object;
    Result<Bytes> linked = link_relocatable(*object);
    if (linked) return linked;
    Error error = linked.error();
    error.kind = ErrorKind::Assembly;
    error.message = fmt::format("{}: error: {}", file_name, error.message);
    error.source = std::string(text);
    error.file = std::string(file_name);
    return error;
}

Result<std::vector<uint32_t>> assemble_instructions(std::string_view text, Arch arch, int wave_size) {
    const Result<LlvmApi>& api = llvm();
    if (!api) return api.error();
    STRATA_TRY_VOID(check_wave_size(arch, wave_size));
    // LLVM pads the section with s_code_end; the label tells where the user's code ends.
    constexpr std::string_view kEnd = "strata_end_of_code";
    STRATA_TRY(Bytes object, emit_object(*api, fmt::format("{}\n{}:\n", text, kEnd), arch, wave_size, "<asm>"));
    STRATA_TRY(Bytes code, code_of_relocatable(object, kEnd));
    if (code.size() % 4)
        return make_error(ErrorKind::Assembly, "<asm>: the code is {} bytes long, not a number of words", code.size());
    std::vector<uint32_t> words(code.size() / 4);
    if (!words.empty()) std::memcpy(words.data(), code.data(), code.size());
    return words;
}

bool llvm_available() { return llvm().has_value(); }

}  // namespace strata::isa
