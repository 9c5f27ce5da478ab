#include "strata/codegen/compile/clang_p.h"

#include <csignal>
#include <cstring>

#include "strata/core/support/subprocess.h"

namespace strata::codegen {
namespace {

constexpr double kTimeLimitSeconds = 300;

std::string failure_of(const ProcessOutput& run) {
    if (run.timed_out) return fmt::format("clang did not end within {} s and was stopped", kTimeLimitSeconds);
    if (run.signal == SIGINT || run.signal == SIGTERM) return "compilation was interrupted";
    if (run.signal) return fmt::format("clang crashed ({})", strsignal(run.signal));
    return {};
}

}  // namespace

Result<ClangOutput> run_clang(const Toolchain& tools, const std::vector<std::string>& args, std::string_view language,
                              std::string_view input) {
    std::vector<std::string> command = {tools.clang, "-cc1"};
    command.insert(command.end(), args.begin(), args.end());
    for (std::string_view arg :
         {std::string_view("-o"), std::string_view("-"), std::string_view("-x"), language, std::string_view("-")})
        command.emplace_back(arg);
    STRATA_TRY(ProcessOutput run, run_process(command, input, kTimeLimitSeconds));
    return ClangOutput{run.ok(), std::move(run.out), std::move(run.err), failure_of(run)};
}

}  // namespace strata::codegen
