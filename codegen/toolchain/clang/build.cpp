#include "strata/codegen/toolchain/clang/build.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <vector>

#include "strata/codegen/signature/entry.h"
#include "strata/codegen/toolchain/clang/clang_p.h"
#include "strata/codegen/toolchain/clang/device_libs.h"
#include "strata/codegen/toolchain/clang/driver_p.h"
#include "strata/codegen/toolchain/clang/header_cache_p.h"
#include "strata/codegen/toolchain/diagnostics.h"
#include "strata/codegen/toolchain/includes.h"
#include "strata/codegen/toolchain/options.h"
#include "strata/core/support/disk_cache.h"
#include "strata/core/support/file.h"
#include "strata/core/support/temp_folder.h"

namespace strata::codegen {
namespace {

constexpr std::string_view kInProcess = "clang (in process)", kSubprocess = "clang (subprocess)";

/// A file name as the content of a string literal, for #line.
std::string escaped(std::string_view text) {
    std::string out;
    for (char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (c != '\n') out += c;
    }
    return out;
}

/// A file that clang writes and we read; removed with this.
class OutputFile {
  public:
    explicit OutputFile(const std::string& folder) {
        static std::atomic<unsigned> serial{0};
        path_ = fmt::format("{}/dependencies{}", folder, serial++);
    }
    ~OutputFile() { unlink(path_.c_str()); }
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

class Build {
  public:
    Build(const Toolchain& tools, const HipSource& source, const Prelude& prelude, isa::Arch arch, Output kind)
        : tools_(tools), source_(source), prelude_(prelude), arch_(arch), kind_(kind) {}

    Result<Built> run() {
        auto built = run_once();
        if (built || !files_gone_) return built;
        disk_ = DiskCache(std::string());  // somebody empties the cache: with files of this process, then
        return run_once();
    }

  private:
    using Arguments = std::vector<std::string>;

    Result<Built> run_once() {
        STRATA_TRY(const Arguments base, compiler_arguments(tools_, source_, arch_, disk_));
        if (source_.freestanding) return run({base, {}, {}});
        if (!are_listed(source_.options)) return run(include_runtime_header(base));
        if (compares_definitions(base)) return run(include_runtime_header(base));
        HeaderUse use = use_runtime_header(tools_, base, disk_, isa::info(arch_).name);
        const bool precompiled = !use.precompiled.empty();
        auto built = run(std::move(use));
        if (precompiled && stale_header_) built = run(include_runtime_header(base));
        if (built || files_gone_ || source_.text.find("hip/hip_") != source_.text.npos) return built;
        auto alone = run(without_runtime_header(base));  // a text may bring declarations of its own that clash
        return alone ? std::move(alone) : std::move(built);
    }

    Result<Built> run(HeaderUse use) {
        STRATA_TRY_VOID(complete(use.args));
        std::optional<OutputFile> dependencies;
        if (may_include_files(source_)) {
            STRATA_TRY(const std::string folder, process_temp_folder());
            dependencies.emplace(folder);
            use.args.insert(use.args.end(), {"-dependency-file", dependencies->path(), "-MT", "object"});
        }
        const std::string text = input(use.defines);
        Built built;
        STRATA_TRY(ClangOutput done, compile(use.args, text, built.route));
        if (!done.ok) {
            stale_header_ = is_stale_header(done.log);
            files_gone_ = are_gone(use.args);
            Error error = compile_error(source_, done.log, done.failure.empty() ? "clang failed" : done.failure);
            if (!done.failure.empty() && error.message.find(done.failure) == error.message.npos)
                error.message += fmt::format("\n({})", done.failure);
            return error.file == kEntryFile ? no_such_entry(error) : error;
        }
        STRATA_TRY_VOID(check_nothing_left_out(source_, done.log, isa::info(arch_).name));
        built.output = std::move(done.output);
        if (dependencies)
            built.includes = describe_includes(source_.text, read_file(dependencies->path()).value_or(""),
                                               use.precompiled, use.args);
        return built;
    }

    Result<void> complete(Arguments& args) const {
        args.insert(args.end(), {"-main-file-name", source_.file_name});
        if (!source_.folder.empty()) args.insert(args.end(), {"-iquote", source_.folder});
        if (kind_ == Output::assembly) replace_argument(args, "-emit-obj", "-S");
        DeviceLibs libs = !source_.freestanding ? DeviceLibs::all
                          : prelude_.needs_ocml ? DeviceLibs::math
                                                : DeviceLibs::none;
        // Without optimisation, clang keeps what an arch never calls.
        if (libs == DeviceLibs::all && !has_argument(args, "-O0")) args.emplace_back(kSayLeftOut);
        return add_device_libs(tools_, arch_, libs, disk_, args);
    }

    std::string input(std::string_view defines) const {
        return fmt::format("#line 1 \"<strata prelude>\"\n{}{}\n#line 1 \"{}\"\n{}{}", prelude_.text, defines,
                           escaped(source_.file_name), source_.text, entry_request(source_));
    }

    Error no_such_entry(const Error& error) const {
        return {.kind = ErrorKind::Usage,
                .message = fmt::format("{} has no kernel '{}': {}", source_.file_name, source_.kernel, error.message),
                .log = error.log,
                .source = source_.text};
    }

    /// From C++20 on clang refuses a function that the text and a precompiled header both define, as both read its
    /// wrapper of the C++ library.
    static bool compares_definitions(const Arguments& args) {
        return std::any_of(args.begin(), args.end(), [](std::string_view arg) {
            size_t year = arg.find("++2");
            return arg.starts_with("-std=") && year != arg.npos;
        });
    }

    /// User text can crash clang, and -mllvm options are global to a process: both only in a subprocess.
    bool may_run_in_process() const {
        return source_.freestanding && std::all_of(source_.options.begin(), source_.options.end(), is_harmless) &&
               kind_ == Output::object && !tools_.plugin.empty() && !may_include_files(source_);
    }
    static bool is_harmless(std::string_view option) {
        return option.starts_with("-D") || option.starts_with("-ffp-contract=") || option == "-mwavefrontsize64" ||
               (option.size() == 3 && option.starts_with("-O"));
    }

    Result<ClangOutput> compile(const Arguments& args, std::string_view text, std::string_view& route) const {
        if (may_run_in_process()) {
            route = kInProcess;
            if (auto done = run_clang_in_process(tools_, args, text)) return done;
        }
        route = kSubprocess;
        return run_clang(tools_, args, "hip", text);
    }

    /// True if a file of the cache that the arguments name is no longer there.
    static bool are_gone(const Arguments& args) {
        for (size_t i = 0; i + 1 < args.size(); ++i)
            if ((args[i] == "-include-pch" || args[i] == "-mlink-builtin-bitcode") &&
                access(args[i + 1].c_str(), R_OK) != 0)
                return true;
        return false;
    }

    /// Clang found that a header changed since it was precompiled.
    static bool is_stale_header(std::string_view log) {
        return log.find("precompiled file") != log.npos || log.find("PCH file") != log.npos ||
               log.find("precompiled header") != log.npos;
    }

    const Toolchain& tools_;
    const HipSource& source_;
    const Prelude& prelude_;
    isa::Arch arch_;
    Output kind_;
    DiskCache disk_ = DiskCache::of_settings();
    bool stale_header_ = false, files_gone_ = false;
};

}  // namespace

Result<Built> build(const Toolchain& tools, const HipSource& source, const Prelude& prelude, isa::Arch arch,
                    Output kind) {
    if (!source.freestanding && tools.hip_headers.empty())
        return make_error(ErrorKind::Device, "hip/hip_runtime.h is not there; on Debian: apt install libamdhip64-dev");
    return Build(tools, source, prelude, arch, kind).run();
}

}  // namespace strata::codegen
