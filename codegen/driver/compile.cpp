#include "strata/codegen/driver/compile.h"

#include <chrono>
#include <mutex>
#include <optional>

#include "strata/codegen/driver/compile_p.h"
#include "strata/codegen/driver/nvidia_p.h"
#include "strata/codegen/signature/entry.h"
#include "strata/codegen/toolchain/clang/build.h"
#include "strata/codegen/toolchain/clang/device_libs.h"
#include "strata/codegen/toolchain/includes.h"
#include "strata/codegen/toolchain/object_store.h"
#include "strata/codegen/toolchain/options.h"
#include "strata/core/support/disk_cache.h"
#include "strata/core/support/mutex.h"
#include "strata/core/support/settings.h"

namespace strata::codegen {
namespace {

/// The tools of the last search: looking takes a dozen system calls.
Result<Toolchain> toolchain(const SearchPaths& paths) {
    static Mutex mutex;
    static std::optional<std::pair<SearchPaths, Toolchain>> last;
    std::lock_guard lock(mutex);
    if (last && last->first == paths) return last->second;
    STRATA_TRY(Toolchain found, find_toolchain(paths));
    last.emplace(paths, found);
    return found;
}

Prelude prelude_of(const HipSource& source) {
    return source.freestanding ? prelude_for(source.text) : prelude_after_runtime_header();
}

/// Everything that decides the bytes of a code object but the contents of files that the source includes.
std::string cache_key(const Toolchain& tools, const HipSource& source, const Prelude& prelude, isa::Arch arch) {
    std::string key = fmt::format("{}{}\nfreestanding {}\nfile {}\n", tools.identity, isa::info(arch).name,
                                  source.freestanding, source.file_name);
    if (!source.freestanding) key += device_libs_overrides_text;
    key += fmt::format("beside {}\nentry {}\n", source.folder, entry_request(source));
    for (const std::string& option : source.options) key += fmt::format("option {}\n", option);
    return key.append(prelude.text).append("\n---\n").append(source.text);
}

Result<Object> find_or_build(const HipSource& source, isa::Arch arch, const SearchPaths& paths, bool& cached) {
    STRATA_TRY_VOID(check_options(source.options));
    STRATA_TRY(const Toolchain tools, toolchain(paths));
    const Prelude prelude = prelude_of(source);
    ObjectStore store(cache_key(tools, source, prelude, arch), source, are_listed(source.options));
    auto found = store.find();
    cached = found.has_value();
    if (cached) return std::move(*found);
    STRATA_TRY_VOID(check_may_compile(source.kernel));
    STRATA_TRY(Built built, build(tools, source, prelude, arch, Output::object));
    Object object{std::move(built.output), std::string(built.route)};
    store.add(object, built.includes);
    return object;
}

}  // namespace

Result<executable::Code> compile_hip(const HipSource& source, isa::Arch arch, const SearchPaths& paths) {
    auto start = std::chrono::steady_clock::now();
    executable::Code compiled;
    STRATA_TRY(Object object, find_or_build(source, arch, paths, compiled.cached));
    auto linked = isa::link_relocatable({reinterpret_cast<const uint8_t*>(object.bytes.data()), object.bytes.size()});
    if (!linked)
        return Error{.kind = ErrorKind::Compile,
                     .message = fmt::format("{}: {}", source.file_name, linked.error().message),
                     .log = linked.error().message,
                     .source = source.text};
    STRATA_TRY(isa::CodeObject parsed, isa::CodeObject::parse(*std::move(linked)));
    STRATA_TRY(compiled.entry, find_entry(parsed, source));
    compiled.object = std::make_shared<const isa::CodeObject>(std::move(parsed));
    compiled.text = source.text;
    compiled.route = std::move(object.route);
    compiled.compile_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return compiled;
}

Result<void> check_may_compile(std::string_view kernel) {
    if (!settings().run_only) return {};
    return make_error(ErrorKind::Usage,
                      "the kernel {} is in no cache, and with run_only nothing is compiled: run this once without it, "
                      "with the same cache_dir, or unset run_only",
                      kernel);
}

Result<executable::Code> compile_hip(const HipSource& source, Chip chip) {
    return chip.is_amd() ? compile_hip(source, chip, SearchPaths::usual()) : compile_for_nvidia(source, chip);
}

std::string compiler_identity(const Target& target) {
    if (target.route != Route::hip) return {};
    if (!target.arch.is_amd()) return nvidia_compiler_identity();
    Result<Toolchain> tools = toolchain(SearchPaths::usual());
    return tools ? tools->identity : std::string();
}

Result<std::string> compile_to_assembly(const HipSource& source, isa::Arch arch, const SearchPaths& paths) {
    STRATA_TRY_VOID(check_options(source.options));
    STRATA_TRY(const Toolchain tools, toolchain(paths));
    STRATA_TRY(Built built, build(tools, source, prelude_of(source), arch, Output::assembly));
    return std::move(built.output);
}

Result<std::string> compile_to_assembly(const HipSource& source, isa::Arch arch) {
    return compile_to_assembly(source, arch, SearchPaths::usual());
}

void finish_compiling() { finish_clang(); }

}  // namespace strata::codegen
