#pragma once
#include <functional>

#include "strata/runtime/program.h"

namespace strata::runtime {

/// Launches, prints what the setting debug asks for and counts the launch; `bytes` are those of the buffers it was
/// given.
void run_program(const Program& program, const LaunchShape& shape, uint64_t bytes,
                 const std::function<Launched()>& launch);

/// True if Strata's own kernels are waited for: where time is modelled, and for who profiles or wants launches printed.
/// Others go on until they read results, or times: once reset_stats() has asked for those, launches are timed.
Wait wait_for(const Device& device);
void ask_for_times();

}  // namespace strata::runtime
