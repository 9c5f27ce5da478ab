#include <algorithm>
#include <atomic>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <optional>

#include "strata/codegen/driver/compile.h"
#include "strata/codegen/target/chip.h"
#include "strata/core/support/settings.h"
#include "strata/core/support/temp_folder.h"
#include "strata/hip/rtc/program_p.h"

namespace strata::hiprtc {
namespace {

/// Options by which programs name the device; the compiler gets one of its own.
constexpr std::string_view kArchOptions[] = {"--offload-arch=", "--gpu-architecture=", "-arch="};

struct Options {
    std::string arch = {};
    std::vector<std::string> others = {};
};
Options read(const std::vector<std::string>& given) {
    Options out;
    for (const std::string& option : given) {
        const auto is_arch = [&](std::string_view start) { return option.starts_with(start); };
        const auto arch = std::ranges::find_if(kArchOptions, is_arch);
        if (arch == std::end(kArchOptions))
            out.others.push_back(option);
        else
            out.arch = option.substr(arch->size(), option.find(':') - arch->size());
    }
    return out;
}

/// The arch of STRATA_DEVICE, else the first there is.
std::string usual_arch() {
    const std::string& device = settings().device;
    return device.starts_with("emu:") ? device.substr(4) : std::string(codegen::chips().front().name());
}

std::string marker(size_t expression) { return fmt::format("__strata_expression_{}", expression); }

/// The source with a pointer to each expression: what it points to has the name that is asked for.
std::string with_expressions(const Program& program) {
    std::string text = program.source;
    for (size_t i = 0; i < program.expressions.size(); ++i)
        text += fmt::format(
            "\nextern \"C\" __device__ __attribute__((used)) void* {} = (void*)({});", marker(i),
            program.expressions[i].starts_with('&') ? program.expressions[i] : "&" + program.expressions[i]);
    return text + "\n";
}

const isa::Symbol* symbol_named(const isa::CodeObject& object, std::string_view name) {
    const auto found = std::ranges::find(object.symbols, name, &isa::Symbol::name);
    return found == object.symbols.end() ? nullptr : &*found;
}

/// The symbol that the pointer of an expression is relocated to.
std::optional<std::string> lowered(const isa::CodeObject& object, const std::string& pointer) {
    const isa::Symbol* const at = symbol_named(object, pointer);
    const auto place =
        at ? std::ranges::find(object.relocations, at->address, &isa::Relocation::address) : object.relocations.end();
    if (place == object.relocations.end()) return {};
    for (const isa::KernelInfo& kernel : object.kernels)
        if (kernel.entry_address == place->addend || kernel.descriptor_address == place->addend) return kernel.name;
    for (const isa::Symbol& symbol : object.symbols)
        if (symbol.address == place->addend && symbol.name != pointer) return symbol.name;
    return {};
}

/// A folder of its own with the headers of the program, as files.
Result<std::string> write_headers(const Program& program) {
    static std::atomic<unsigned> serial{0};
    STRATA_TRY(const std::string temporary, process_temp_folder());
    const std::filesystem::path folder = fmt::format("{}/hiprtc{}", temporary, serial++);
    for (const auto& [name, text] : program.headers) {
        const std::filesystem::path file = std::filesystem::path(name).lexically_normal();
        if (name.empty() || file.is_absolute() || *file.begin() == "..")
            return make_error(ErrorKind::Usage, "hiprtc: the header '{}' lies beside the program's; name it from there",
                              name);
        std::error_code refused;
        std::filesystem::create_directories((folder / file).parent_path(), refused);
        if (!(std::ofstream(folder / file) << text))
            return make_error(ErrorKind::Device, "hiprtc: no room for the header '{}' in {}", name, temporary);
    }
    return folder.string();
}

Result<executable::Code> build(const Program& program, const Options& options, codegen::Chip chip) {
    codegen::HipSource source{.text = with_expressions(program), .freestanding = false};
    source.options = options.others;
    if (!program.name.empty()) source.file_name = program.name;
    if (!program.headers.empty()) {
        STRATA_TRY(source.folder, write_headers(program));
        source.options.push_back("-I" + source.folder);
    }
    Settings free = settings();  // the program runs on this machine as it is: its options may do no more than it does
    free.unsafe_options = true;
    const ScopedSettings scope(free);
    return codegen::compile_hip(source, chip);
}

HiprtcCode code_of(const Error& error) {
    switch (error.kind) {
        case ErrorKind::Compile: return compilation_error;
        case ErrorKind::Usage: return invalid_option;
        default: return internal_error;
    }
}

}  // namespace

HiprtcCode compile(Program& program, const std::vector<std::string>& options) {
    const Options wanted = read(options);
    const Result<codegen::Chip> chip = codegen::Chip::parse(wanted.arch.empty() ? usual_arch() : wanted.arch);
    program.compiled = true;
    if (!chip) {
        program.log = chip.error().message;
        return invalid_option;
    }
    const Result<executable::Code> done = build(program, wanted, *chip);
    if (!done) {
        program.log = done.error().log.empty() ? done.error().message : done.error().log;
        return code_of(done.error());
    }
    program.code = done->code_object();
    for (size_t i = 0; i < program.expressions.size(); ++i)
        if (const auto name = lowered(*done->object, marker(i))) program.lowered[program.expressions[i]] = *name;
    return success;
}

}  // namespace strata::hiprtc
