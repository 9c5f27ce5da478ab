#include "strata/codegen/driver/nvidia_p.h"

#include <chrono>

#include "strata/codegen/driver/compile_p.h"
#include "strata/codegen/signature/entry.h"
#include "strata/codegen/toolchain/includes.h"
#include "strata/codegen/toolchain/nvrtc/nvrtc.h"
#include "strata/codegen/toolchain/object_store.h"

namespace strata::codegen {
namespace {

std::string cache_key(const Nvrtc& compiler, const HipSource& source, Chip chip,
                      const std::vector<std::string>& options) {
    std::string key = fmt::format("{}{}\nfreestanding {}\nfile {}\nentry {}\n", compiler.identity, chip.name(),
                                  source.freestanding, source.file_name, source.freestanding ? "" : source.kernel);
    for (const std::string& option : options) key += fmt::format("option {}\n", option);
    return key.append(nvidia_prelude(source)).append("\n---\n").append(source.text);
}

/// The file that is kept: the symbol of a template's instance, if one is asked for, a line's end, the cubin.
Result<Object> find_or_build(const Nvrtc& compiler, const HipSource& source, Chip chip, bool& cached) {
    STRATA_TRY(const std::vector<std::string> options, nvrtc_options(source, chip));
    // NVRTC does not say which files it read.
    ObjectStore store(cache_key(compiler, source, chip, options), source, !may_include_files(source));
    auto found = store.find();
    cached = found.has_value();
    if (cached) return std::move(*found);
    STRATA_TRY_VOID(check_may_compile(source.kernel));
    STRATA_TRY(NvrtcBuilt built, build_by_nvrtc(compiler, source, chip, Output::object));
    Object object{built.symbol + "\n" + built.output, "NVRTC"};
    store.add(object, "");
    return object;
}

}  // namespace

Result<executable::Code> compile_for_nvidia(const HipSource& source, Chip chip) {
    const auto start = std::chrono::steady_clock::now();
    STRATA_TRY(const Nvrtc* compiler, nvrtc());
    executable::Code compiled;
    STRATA_TRY(const Object object, find_or_build(*compiler, source, chip, compiled.cached));
    const size_t end = object.bytes.find('\n');
    STRATA_CHECK(end != std::string::npos, "a kept object without its entry");
    STRATA_TRY(
        isa::CodeObject parsed,
        isa::CodeObject::parse(isa::Bytes(object.bytes.begin() + static_cast<ptrdiff_t>(end) + 1, object.bytes.end())));
    compiled.entry = object.bytes.substr(0, end);
    if (compiled.entry.empty()) {
        STRATA_TRY(compiled.entry, find_entry_by_name(parsed, source));
    }
    compiled.object = std::make_shared<const isa::CodeObject>(std::move(parsed));
    compiled.text = source.text;
    compiled.route = object.route;
    compiled.compile_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return compiled;
}

std::string nvidia_compiler_identity() {
    const Result<const Nvrtc*> compiler = nvrtc();
    return compiler ? (*compiler)->identity : std::string();
}

}  // namespace strata::codegen
