#pragma once
#include <span>

#include "strata/codegen/kernel/in_place.h"
#include "strata/codegen/linear/linear.h"

namespace strata::codegen {

/// Checks in_place() against the program that runs. Every access of the input's element comes before the output's store
/// to it, by the same thread or across a barrier. Small programs are walked whole, of larger ones the first steps and
/// the last of each loop, block and thread axis. `slots` holds a launch's values of the program's variables, by slot. A
/// variable beyond its end may have any value. Error (Internal) names the two accesses and the threads that race.
Result<void> verify_in_place(const LinearProgram& program, std::span<const executable::InPlace> pairs,
                             std::span<const uint64_t> slots);

}  // namespace strata::codegen
