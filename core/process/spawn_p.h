#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "strata/core/support/result.h"

namespace strata {

/// Starts a program (argv[0] is its path) with these files, none of them 0 to 2, as its standard streams. It leads a
/// process group of its own, and is killed when the calling thread ends, whatever ends that. An Error (Device) when it
/// cannot start.
Result<pid_t> spawn(const std::vector<std::string>& argv, int in, int out, int err);

}  // namespace strata
