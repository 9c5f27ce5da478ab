#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "strata/core/support/result.h"

namespace strata {

/// How a child process ended and what it wrote.
struct ProcessOutput {
    int exit_code = -1;      ///< -1 when a signal ended it
    int signal = 0;          ///< the signal that ended it, else 0
    bool timed_out = false;  ///< it ran longer than allowed and was killed
    std::string out, err;

    bool ok() const { return exit_code == 0; }
};

/// Runs a program (argv[0] is its path) with `input` as its standard input and waits for it, at most `timeout_seconds`.
/// No shell, no temporary files: the three streams are memory files, so neither side can block on the other. It ends
/// with this process, and with its time the children it has started do.
/// An Error (Device) only when the program cannot be started, or its output cannot be kept.
/// Throws Interrupted (interrupt.h), with the child gone.
Result<ProcessOutput> run_process(const std::vector<std::string>& argv, std::string_view input = {},
                                  double timeout_seconds = 300);

/// The path of an executable in a colon-separated list of folders, or empty.
std::string find_program(std::string_view program, std::string_view search_path);

}  // namespace strata
