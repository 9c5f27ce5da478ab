#include "strata/codegen/toolchain/clang/clang_p.h"

#include <csignal>
#include <cstdlib>
#include <cstring>

#include "strata/core/process/address_limit.h"

namespace strata::codegen {
namespace {

constexpr double kTimeLimitSeconds = 300;
constexpr int kLoaderFailed = 127;  // exit code of a program whose libraries the loader does not find

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

}  // namespace

std::string failure_of(const ProcessOutput& run) {
    if (run.timed_out) return fmt::format("clang did not end within {} s and was stopped", kTimeLimitSeconds);
    if (run.signal == SIGINT || run.signal == SIGTERM) return "compilation was interrupted";
    const bool no_memory =
        run.err.find("out of memory") != run.err.npos || run.err.find("Cannot allocate memory") != run.err.npos;
    if (!run.ok() && no_memory && (run.signal || address_limit()))
        return "clang ran out of memory" + address_limit_note();
    if (run.signal) return fmt::format("clang crashed ({})", strsignal(run.signal));
    return {};
}

Result<ProcessOutput> run_clang_program(const Toolchain& tools, const std::vector<std::string>& words,
                                        std::string_view input) {
    std::vector<std::string> command = {tools.clang};
    command.insert(command.end(), words.begin(), words.end());
    STRATA_TRY(ProcessOutput run, run_process(command, input, kTimeLimitSeconds));
    if (run.exit_code == kLoaderFailed && run.out.empty() && run.err.find("shared librar") != run.err.npos)
        return make_error(ErrorKind::Device, "{} does not start: {}\n{}", tools.clang, first_line(run.err),
                          address_limit() ? "Its libraries need addresses" + address_limit_note()
                                          : "Its packages are not whole; on Debian: apt install --reinstall clang-19 "
                                            "libclang-cpp19 libllvm19");
    if (!run.ok() && run.err.find("unable to make temporary file") != run.err.npos) {
        const char* const wanted = std::getenv("TMPDIR");
        return make_error(
            ErrorKind::Device,
            "clang finds no folder for its temporary files ({} is '{}'). Set TMPDIR to a folder that exists and that "
            "you may write to, or compile without clang by config(target=\"asm\"), STRATA_TARGET=asm",
            wanted ? "TMPDIR" : "the usual one", wanted ? wanted : "/tmp");
    }
    return run;
}

Result<ClangOutput> run_clang(const Toolchain& tools, const std::vector<std::string>& args, std::string_view language,
                              std::string_view input) {
    std::vector<std::string> command = {"-cc1"};
    command.insert(command.end(), args.begin(), args.end());
    for (std::string_view arg :
         {std::string_view("-o"), std::string_view("-"), std::string_view("-x"), language, std::string_view("-")})
        command.emplace_back(arg);
    STRATA_TRY(ProcessOutput run, run_clang_program(tools, command, input));
    std::string failure = failure_of(run);
    return ClangOutput{run.ok(), std::move(run.out), std::move(run.err), std::move(failure)};
}

}  // namespace strata::codegen
