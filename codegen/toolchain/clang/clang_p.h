#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "strata/codegen/toolchain/clang/toolchain.h"
#include "strata/core/process/subprocess.h"

namespace strata::codegen {

/// The result of one run of clang's compiler proper (-cc1).
struct ClangOutput {
    bool ok = false;
    std::string output;   ///< object, bitcode, header or text, as the arguments asked
    std::string log;      ///< its messages
    std::string failure;  ///< a crash, time-out or signal in words, else empty
};

/// Runs the clang program with the given words. An Error (Device) when it does not start, with the loader's words.
Result<ProcessOutput> run_clang_program(const Toolchain& tools, const std::vector<std::string>& words,
                                        std::string_view input);
/// A crash, time-out or signal in words, else empty.
std::string failure_of(const ProcessOutput& run);

/// Runs `clang -cc1 args... -o - -x language -` on `input` as a subprocess.
Result<ClangOutput> run_clang(const Toolchain& tools, const std::vector<std::string>& args, std::string_view language,
                              std::string_view input);

/// The same for HIP in this process, through the plugin; an Error when the plugin cannot be used (then the subprocess
/// can). Safe to call from many threads at once.
Result<ClangOutput> run_clang_in_process(const Toolchain& tools, const std::vector<std::string>& args,
                                         std::string_view input);

}  // namespace strata::codegen
