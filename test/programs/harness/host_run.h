#pragma once
#include <memory>

#include "program.h"

namespace programs {

/// Runs kernels on the host, with waves of `wave` work-items. One at a time in a process.
std::unique_ptr<Run> make_host_run(int wave);

struct Program {
    const char* name;  ///< the program is NAME.cpp
    void (*program)(Run&);
};

/// All programs, by name (made by CMake from the files of the folder).
std::span<const Program> all();

}  // namespace programs
