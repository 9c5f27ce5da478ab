#include "strata/codegen/toolchain/clang/driver_p.h"

#include <algorithm>
#include <mutex>

#include "strata/codegen/toolchain/clang/clang_p.h"
#include "strata/codegen/toolchain/diagnostics.h"
#include "strata/codegen/toolchain/options.h"
#include "strata/core/support/lru.h"
#include "strata/core/support/mutex.h"

namespace strata::codegen {
namespace {

using Arguments = std::vector<std::string>;

/// The driver's command line without the user's options.
Arguments own_options(const Toolchain& tools, const HipSource& source, isa::Arch arch) {
    Arguments options = {"-x",
                         "hip",
                         "--cuda-device-only",
                         fmt::format("--offload-arch={}", isa::info(arch).name),
                         "-nogpulib",
                         "-O3",
                         "-gline-tables-only",  // faults and profiles name the line
                         "-c",
                         "-o",
                         "-"};
    // Plain atomic instructions for float additions: buffers are ordinary device memory, never fine-grained. clang 19
    // joins loads of bytes and of pairs of them to words and takes other bytes from these. It also takes one SDWA
    // product for another whose operands and selections are swapped. Rendered text has its vectors already.
    if (source.freestanding)
        options.insert(options.end(), {"-nogpuinc", "-nostdinc", "-nostdinc++", "-w", "-munsafe-fp-atomics", "-mllvm",
                                       "-amdgpu-load-store-vectorizer=0", "-mllvm", "-amdgpu-sdwa-peephole=0"});
    else
        options.insert(options.end(),
                       {"-fhip-kernel-arg-name",  // errors name the parameter
                        "-D__HIP_NO_IMAGE_SUPPORT=1", fmt::format("--rocm-path={}/..", tools.hip_headers)});
    return options;
}

/// The quoted words of one line of `clang -###`.
Arguments split_quoted(std::string_view line) {
    Arguments words;
    for (size_t at = line.find('"'); at != line.npos; at = line.find('"', at)) {
        std::string word;
        for (++at; at < line.size() && line[at] != '"'; ++at) {
            if (line[at] == '\\' && at + 1 < line.size()) ++at;
            word += line[at];
        }
        words.push_back(std::move(word));
        at = std::min(at + 1, line.size());
    }
    return words;
}

/// The -cc1 arguments within the driver's report, or none.
Arguments compiler_line(std::string_view report) {
    size_t mark = report.find("\"-cc1\"");
    if (mark == report.npos) return {};
    size_t begin = report.rfind('\n', mark), end = report.find('\n', mark);
    begin = begin == report.npos ? 0 : begin + 1;
    return split_quoted(report.substr(begin, std::min(end, report.size()) - begin));
}

/// Drops the program, -cc1, input and output, and what names this run or folder, which line tables would name too.
Arguments lasting(const Arguments& line) {
    static constexpr std::string_view with_value[] = {"-o", "-x", "-main-file-name"};
    static constexpr std::string_view prefixes[] = {
        "-cuid=", "-fdebug-compilation-dir=", "-fcoverage-compilation-dir="};
    Arguments kept;
    for (size_t i = 2; i < line.size(); ++i) {
        const std::string& arg = line[i];
        if (std::find(std::begin(with_value), std::end(with_value), arg) != std::end(with_value)) {
            ++i;
        } else if (arg != "-" && std::none_of(std::begin(prefixes), std::end(prefixes),
                                              [&](std::string_view prefix) { return arg.starts_with(prefix); })) {
            kept.push_back(arg);
        }
    }
    kept.insert(kept.end(), {"-main-file-name", "kernel.hip", "-fdebug-compilation-dir=."});
    return kept;
}

std::string join(const Arguments& args) {
    std::string text;
    for (const std::string& arg : args) text.append(arg).push_back('\0');
    return text;
}

Arguments unjoin(std::string_view text) {
    Arguments args;
    for (size_t end; (end = text.find('\0')) != text.npos; text.remove_prefix(end + 1))
        args.emplace_back(text.substr(0, end));
    return args;
}

/// The output of a program, for people.
std::string words_of(const ProcessOutput& run) {
    std::string_view text = run.err.empty() ? run.out : run.err;
    text = text.substr(0, std::min(text.find('\n'), size_t{200}));
    return text.empty() ? fmt::format("nothing (exit code {})", run.exit_code) : fmt::format("\"{}\"", text);
}

Result<Arguments> ask_driver(const Toolchain& tools, const Arguments& options, const HipSource& source) {
    Arguments command = {"-###"};
    command.insert(command.end(), options.begin(), options.end());
    command.emplace_back("-");
    STRATA_TRY(ProcessOutput run, run_clang_program(tools, command, {}));
    if (std::string failure = failure_of(run); !failure.empty())
        return Error{
            .kind = ErrorKind::Device,
            .message = fmt::format("{}, asked with -### what it makes of the options: {}", tools.clang, failure),
            .log = run.err};
    Arguments line = compiler_line(run.err);
    if (run.ok() && has_argument(line, "-emit-obj")) return lasting(line);
    if (run.err.find("error: ") != run.err.npos || !line.empty())
        return compile_error(source, run.err, "clang does not take these options");
    return Error{
        .kind = ErrorKind::Device,
        .message = fmt::format("{} is no clang 19 that works: asked with -### how it compiles, it wrote {}; is "
                               "another program of that name first in PATH?",
                               tools.clang, words_of(run)),
        .log = run.out + run.err};
}

constexpr size_t kMemoBytes = size_t{1} << 20;
Mutex memo_mutex;
Lru<std::string, Arguments> memo;

}  // namespace

Result<std::vector<std::string>> compiler_arguments(const Toolchain& tools, const HipSource& source, isa::Arch arch,
                                                    const DiskCache& disk) {
    Arguments options = own_options(tools, source, arch);
    options.insert(options.end(), source.options.begin(), source.options.end());
    if (!are_listed(source.options)) return ask_driver(tools, options, source);
    std::string key = tools.identity + join(options);
    {
        std::lock_guard lock(memo_mutex);
        if (const Arguments* known = memo.find(key)) return *known;
    }
    Arguments args;
    if (auto known = disk.get(CacheKind::clang_arguments, key)) {
        args = unjoin(*known);
    } else {
        STRATA_TRY(args, ask_driver(tools, options, source));
        disk.put(CacheKind::clang_arguments, key, join(args));
    }
    std::lock_guard lock(memo_mutex);
    (void)memo.put(key, args, 2 * key.size() + join(args).size(), kMemoBytes);
    return args;
}

bool has_argument(const std::vector<std::string>& args, std::string_view arg) {
    return std::find(args.begin(), args.end(), arg) != args.end();
}

void replace_argument(std::vector<std::string>& args, std::string_view from, std::string_view to) {
    std::replace(args.begin(), args.end(), std::string(from), std::string(to));
}

void remove_argument_pair(std::vector<std::string>& args, std::string_view name, std::string_view value) {
    for (size_t i = 0; i + 1 < args.size(); ++i)
        if (args[i] == name && args[i + 1] == value) {
            args.erase(args.begin() + static_cast<ptrdiff_t>(i), args.begin() + static_cast<ptrdiff_t>(i) + 2);
            return;
        }
}

}  // namespace strata::codegen
