// HIP source through NVIDIA's run-time compiler, which takes CUDA C++: what HIP calls otherwise is in
// prelude_nvidia.hip.
#include <algorithm>
#include <array>

#include "strata/codegen/toolchain/diagnostics.h"
#include "strata/codegen/toolchain/nvrtc/nvrtc.h"
#include "strata/codegen/toolchain/prelude.h"

namespace strata::codegen {
namespace {

/// Headers that HIP source includes and NVRTC has none of: the prelude has what is in them, NVRTC the functions of
/// math.h.
constexpr const char* kHeaders[] = {"hip/hip_runtime.h",
                                    "hip/hip_fp16.h",
                                    "hip/hip_bfloat16.h",
                                    "hip/hip_bf16.h",
                                    "hip/hip_complex.h",
                                    "hip/hip_cooperative_groups.h",
                                    "hip/hip_runtime_api.h",
                                    "hip/hip_vector_types.h",
                                    "hip/math_functions.h",
                                    "hip/device_functions.h",
                                    "stdint.h",
                                    "cstdint",
                                    "stddef.h",
                                    "cstddef",
                                    "math.h",
                                    "cmath",
                                    "stdio.h",
                                    "cstdio",
                                    "assert.h",
                                    "cassert",
                                    "limits.h",
                                    "climits",
                                    "float.h",
                                    "cfloat",
                                    "stdlib.h",
                                    "cstdlib",
                                    "string.h",
                                    "cstring",
                                    "algorithm"};
constexpr std::array<const char*, std::size(kHeaders)> header_texts() {
    std::array<const char*, std::size(kHeaders)> texts{};
    texts.fill("#pragma once\n");
    return texts;
}

/// Clang's options that NVRTC has too: by the same words, under others, or as nothing that changes a result.
struct OptionRow {
    std::string_view clang;
    enum class Becomes : uint8_t { same, nothing, other } becomes;
    std::string_view nvrtc = {};
    bool is_prefix = false;
};
using Becomes = OptionRow::Becomes;
constexpr OptionRow kOptions[] = {
    {"-D", Becomes::same, {}, true},
    {"-U", Becomes::same, {}, true},
    {"-I", Becomes::same, {}, true},
    {"-std=", Becomes::same, {}, true},
    {"-O", Becomes::nothing, {}, true},
    {"-W", Becomes::nothing, {}, true},
    {"-w", Becomes::other, "--disable-warnings"},
    {"-g", Becomes::other, "--generate-line-info"},
    {"-ffast-math", Becomes::other, "--use_fast_math"},
    {"-ffp-contract=off", Becomes::other, "--fmad=false"},
    {"-ffp-contract=fast", Becomes::nothing},
    {"-ffp-contract=on", Becomes::nothing},
};

class Program {
  public:
    explicit Program(const Nvrtc& compiler) : compiler_(compiler) {}
    ~Program() {
        if (program_) (void)compiler_.nvrtcDestroyProgram(&program_);
    }
    Program(const Program&) = delete;

    int create(const std::string& text, const std::string& name) {
        static constexpr auto texts = header_texts();
        return compiler_.nvrtcCreateProgram(&program_, text.c_str(), name.c_str(),
                                            static_cast<int>(std::size(kHeaders)), texts.data(), kHeaders);
    }
    int compile(const std::vector<std::string>& options) {
        std::vector<const char*> words;
        for (const std::string& option : options) words.push_back(option.c_str());
        return compiler_.nvrtcCompileProgram(program_, static_cast<int>(words.size()), words.data());
    }
    /// A text that the library hands out in two calls.
    std::string take(int (*size)(void*, size_t*), int (*get)(void*, char*)) const {
        size_t bytes = 0;
        if (size(program_, &bytes) != 0) return {};
        std::string text(bytes, '\0');
        if (get(program_, text.data()) != 0) return {};
        return text;
    }
    void* get() const { return program_; }

  private:
    const Nvrtc& compiler_;
    void* program_ = nullptr;
};

/// "file(12): error: text" as clang writes it: "file:12: error: text".
std::string as_clang_writes(std::string log) {
    while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
    for (std::string_view mark : {"): error", "): warning", "): catastrophic error"})
        for (size_t at = 0; (at = log.find(mark, at)) != log.npos; ++at) {
            const size_t open = log.rfind('(', at);
            if (open == log.npos) continue;
            log.erase(at, 1), log[open] = ':';
            if (mark == "): catastrophic error") log.replace(at + 2, std::string_view("catastrophic").size(), "fatal");
        }
    // "error #20: text" has a number between.
    for (size_t at = 0; (at = log.find(": error #", at)) != log.npos; ++at) {
        const size_t colon = log.find(':', at + 2);
        if (colon != log.npos) log.erase(at + 7, colon - (at + 7));
    }
    return log;
}

/// A kernel as NVRTC takes it, which is an expression: an overload's types of parameters stand in a cast.
std::string name_expression(const std::string& kernel) {
    if (!kernel.ends_with(')')) return kernel;
    size_t open = kernel.size();
    for (int depth = 0; open > 0;) {
        --open;
        depth += (kernel[open] == ')') - (kernel[open] == '(');
        if (depth == 0) break;
    }
    return fmt::format("static_cast<void (*){}>({})", kernel.substr(open), kernel.substr(0, open));
}

/// Where NVRTC says that a name expression is wrong.
constexpr std::string_view kNames = "__nv_name_map";

}  // namespace

std::string nvidia_prelude(const HipSource& source) { return nvidia_prelude_for(source.text); }

Result<std::vector<std::string>> nvrtc_options(const HipSource& source, Chip chip) {
    // Instructions of groups of waves are of sm_90a alone, whose code runs on every chip of sm_90 and on none newer.
    const std::string_view own = chip.name() == "sm_90" ? "a" : "";
    std::vector<std::string> options = {fmt::format("--gpu-architecture={}{}", chip.name(), own),
                                        "--device-as-default-execution-space", "--generate-line-info",
                                        "--device-int128"};
    if (source.freestanding) options.emplace_back("--disable-warnings");
    if (!source.folder.empty()) options.push_back("-I" + source.folder);
    const auto is_standard = [](const std::string& option) { return option.starts_with("-std="); };
    if (std::ranges::none_of(source.options, is_standard)) options.emplace_back("-std=c++17");
    for (const std::string& option : source.options) {
        const auto row = std::ranges::find_if(kOptions, [&](const OptionRow& r) {
            return r.is_prefix ? option.starts_with(r.clang) && option != r.clang : option == r.clang;
        });
        if (row == std::end(kOptions))
            return make_error(ErrorKind::Usage,
                              "the option {} is clang's, and code for {} is compiled by NVRTC, which has none like it",
                              option, chip.name());
        if (row->becomes == Becomes::same) options.push_back(option);
        if (row->becomes == Becomes::other) options.emplace_back(row->nvrtc);
    }
    return options;
}

Result<NvrtcBuilt> build_by_nvrtc(const Nvrtc& compiler, const HipSource& source, Chip chip, Output kind) {
    STRATA_TRY(const std::vector<std::string> options, nvrtc_options(source, chip));
    const std::string text =
        fmt::format("{}\n#line 1 \"{}\"\n{}", nvidia_prelude(source), source.file_name, source.text);
    Program program(compiler);
    if (program.create(text, source.file_name) != 0)
        return make_error(ErrorKind::Device, "{} makes no program (nvrtcCreateProgram)", compiler.path);
    const bool is_template = !source.freestanding && source.kernel.find('<') != source.kernel.npos;
    const std::string name = name_expression(source.kernel);
    if (is_template) (void)compiler.nvrtcAddNameExpression(program.get(), name.c_str());
    const int code = program.compile(options);
    std::string log = as_clang_writes(program.take(compiler.nvrtcGetProgramLogSize, compiler.nvrtcGetProgramLog));
    if (code != 0 && is_template && log.starts_with(kNames))
        return make_error(ErrorKind::Usage, "{} has no kernel '{}': {}", source.file_name, source.kernel, log);
    if (code != 0) return compile_error(source, std::move(log), fmt::format("NVRTC failed with code {}", code));
    NvrtcBuilt built;
    built.output = kind == Output::object ? program.take(compiler.nvrtcGetCUBINSize, compiler.nvrtcGetCUBIN)
                                          : program.take(compiler.nvrtcGetPTXSize, compiler.nvrtcGetPTX);
    if (built.output.empty())
        return make_error(ErrorKind::Device, "{} compiled {} to nothing: does it know {}?", compiler.path,
                          source.file_name, chip.name());
    const char* symbol = nullptr;
    if (is_template && compiler.nvrtcGetLoweredName(program.get(), name.c_str(), &symbol) == 0) built.symbol = symbol;
    return built;
}

}  // namespace strata::codegen
