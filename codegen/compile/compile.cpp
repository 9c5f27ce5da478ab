#include "strata/codegen/compile/compile.h"

#include <chrono>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "strata/codegen/compile/clang_p.h"
#include "strata/codegen/compile/compile_p.h"
#include "strata/codegen/compile/device_libs_p.h"
#include "strata/codegen/compile/diagnostics_p.h"
#include "strata/codegen/compile/driver_p.h"
#include "strata/codegen/compile/header_cache_p.h"
#include "strata/codegen/compile/prelude_p.h"
#include "strata/core/support/disk_cache.h"
#include "strata/core/support/parallel.h"
#include "strata/core/support/settings.h"

namespace strata::codegen {
namespace {

constexpr std::string_view in_process = "clang (in process)", subprocess = "clang (subprocess)";
constexpr size_t memo_limit_bytes = size_t{256} << 20;

/// Code objects of this process by their whole key.
class Memo {
  public:
    std::optional<isa::Bytes> get(const std::string& key, std::string& route) {
        std::lock_guard lock(mutex_);
        auto found = entries_.find(key);
        if (found == entries_.end()) return std::nullopt;
        route = found->second.route;
        return found->second.bytes;
    }
    void put(const std::string& key, const isa::Bytes& bytes, std::string_view route) {
        std::lock_guard lock(mutex_);
        size_ += key.size() + bytes.size();
        if (size_ > memo_limit_bytes) {
            entries_.clear();
            size_ = key.size() + bytes.size();
        }
        entries_[key] = {bytes, std::string(route)};
    }

  private:
    struct Entry {
        isa::Bytes bytes;
        std::string route;
    };
    std::mutex mutex_;
    std::unordered_map<std::string, Entry> entries_;
    size_t size_ = 0;
};
Memo memo;

/// The tools of the last search: looking takes a dozen system calls.
Result<Toolchain> toolchain(const SearchPaths& paths) {
    static std::mutex mutex;
    static std::optional<std::pair<SearchPaths, Toolchain>> last;
    std::lock_guard lock(mutex);
    if (last && last->first == paths) return last->second;
    STRATA_TRY(Toolchain found, find_toolchain(paths));
    last.emplace(paths, found);
    return found;
}

/// Everything that decides the bytes of a code object.
std::string cache_key(const Toolchain& tools, const HipSource& source, const Prelude& prelude, isa::Arch arch) {
    std::string key = fmt::format("code object 1\n{}{}\nfreestanding {}\nfile {}\n", tools.identity,
                                  isa::info(arch).name, source.freestanding, source.file_name);
    for (const std::string& option : source.options) key += fmt::format("option {}\n", option);
    return key.append(prelude.text).append("\n---\n").append(source.text);
}

/// The text as a string literal's content, for #line.
std::string escaped(std::string_view text) {
    std::string out;
    for (char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (c != '\n') out += c;
    }
    return out;
}

/// One compilation: text and arguments for clang -cc1, ready but for what kind of output it makes.
struct Job {
    const Toolchain& tools;
    const HipSource& source;
    std::vector<std::string> args;
    std::string before;  ///< prelude or definitions

    std::string input() const {
        return fmt::format("#line 1 \"<strata prelude>\"\n{}\n#line 1 \"{}\"\n{}", before, escaped(source.file_name),
                           source.text);
    }
};

Result<ClangOutput> run(const Job& job, bool may_use_plugin, std::string_view& route) {
    if (may_use_plugin && !job.tools.plugin.empty()) {
        route = in_process;
        if (auto done = run_clang_in_process(job.tools, job.args, job.input())) return done;
    }
    route = subprocess;
    return run_clang(job.tools, job.args, "hip", job.input());
}

/// Clang found that a header changed since it was precompiled.
bool stale_header(const ClangOutput& output) {
    return !output.ok &&
           (output.log.find("precompiled file") != output.log.npos || output.log.find("PCH file") != output.log.npos ||
            output.log.find("precompiled header") != output.log.npos);
}

Result<std::string> compile(const Toolchain& tools, const HipSource& source, const Prelude& prelude, isa::Arch arch,
                            bool assembly, std::string_view& route) {
    const DiskCache disk = DiskCache::of_settings();
    if (!source.freestanding && tools.hip_headers.empty())
        return make_error(ErrorKind::Device, "hip/hip_runtime.h is not there; on Debian: apt install libamdhip64-dev");
    Job job{tools, source, {}, prelude.text};
    STRATA_TRY(const std::vector<std::string> base, compiler_arguments(tools, source, arch, disk));
    bool precompiled = false;
    auto prepare = [&](HeaderUse use) -> Result<void> {
        job.args = std::move(use.args);
        job.before += use.defines;
        precompiled = use.precompiled;
        job.args.insert(job.args.end(), {"-main-file-name", source.file_name});
        if (assembly) replace_argument(job.args, "-emit-obj", "-S");
        DeviceLibs libs = !source.freestanding ? DeviceLibs::all
                          : prelude.needs_ocml ? DeviceLibs::math
                                               : DeviceLibs::none;
        return add_device_libs(tools, arch, libs, disk, job.args);
    };
    HeaderUse use =
        source.freestanding ? HeaderUse{base, {}, false} : use_runtime_header(tools, base, disk, isa::info(arch).name);
    STRATA_TRY_VOID(prepare(std::move(use)));
    // User text can crash clang, and -mllvm options are global to a process: both only in a subprocess.
    bool may_use_plugin = source.freestanding && source.options.empty() && !assembly;
    STRATA_TRY(ClangOutput done, run(job, may_use_plugin, route));
    if (precompiled && stale_header(done)) {
        job.before.clear();
        STRATA_TRY_VOID(prepare(include_runtime_header(base)));
        STRATA_TRY(done, run(job, false, route));
    }
    if (!done.ok) return compile_error(source, done.log, done.failure.empty() ? "clang failed" : done.failure);
    return std::move(done.output);
}

}  // namespace

Result<Compiled> compile_hip(const HipSource& source, isa::Arch arch, const SearchPaths& paths) {
    auto start = std::chrono::steady_clock::now();
    STRATA_TRY(const Toolchain tools, toolchain(paths));
    const Prelude prelude = source.freestanding ? prelude_for(source.text) : Prelude{};
    const std::string key = cache_key(tools, source, prelude, arch);
    const DiskCache disk = DiskCache::of_settings();
    Compiled result;
    auto finish = [&] {
        result.compile_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
        return result;
    };
    if (!settings().no_cache) {
        if (auto known = memo.get(key, result.route)) {
            result.code_object = std::move(*known);
            result.cached = true;
            return finish();
        }
    }
    if (auto known = disk.get("code-objects", key)) {
        result.code_object.assign(known->begin(), known->end());
        result.cached = true;
        result.route = "disk cache";
        memo.put(key, result.code_object, result.route);
        return finish();
    }
    std::string_view route;
    STRATA_TRY(const std::string object, compile(tools, source, prelude, arch, false, route));
    auto linked = isa::link_relocatable({reinterpret_cast<const uint8_t*>(object.data()), object.size()});
    if (!linked)
        return Error{.kind = ErrorKind::Compile,
                     .message = fmt::format("{}: {}", source.file_name, linked.error().message),
                     .log = linked.error().message,
                     .source = source.text};
    result.code_object = std::move(*linked);
    result.route = route;
    disk.put("code-objects", key,
             {reinterpret_cast<const char*>(result.code_object.data()), result.code_object.size()});
    if (!settings().no_cache) memo.put(key, result.code_object, route);
    return finish();
}

Result<Compiled> compile_hip(const HipSource& source, isa::Arch arch) {
    return compile_hip(source, arch, SearchPaths::usual());
}

std::vector<Result<Compiled>> compile_all(std::span<const HipSource> sources, isa::Arch arch,
                                          CompileObserver* observer) {
    std::vector<Result<Compiled>> results(sources.size(), Compiled{});
    std::mutex mutex;
    size_t finished = 0;
    parallel_for(sources.size(), [&](size_t i) {
        results[i] = compile_hip(sources[i], arch);
        std::lock_guard lock(mutex);
        ++finished;
        if (observer) observer->on_compiled(finished, sources.size());
    });
    return results;
}

Result<std::string> compile_to_assembly(const HipSource& source, isa::Arch arch, const SearchPaths& paths) {
    STRATA_TRY(const Toolchain tools, toolchain(paths));
    const Prelude prelude = source.freestanding ? prelude_for(source.text) : Prelude{};
    std::string_view route;
    return compile(tools, source, prelude, arch, true, route);
}

Result<std::string> compile_to_assembly(const HipSource& source, isa::Arch arch) {
    return compile_to_assembly(source, arch, SearchPaths::usual());
}

}  // namespace strata::codegen
