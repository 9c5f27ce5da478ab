#pragma once
#include <vector>

#include "strata/executable/executable.h"

namespace strata::executable {

/// When an operand that steps fill is in memory.
struct Lifetime {
    uint64_t bytes = 0;
    size_t first = 0;       ///< step that fills it; the number of steps: none does, it has no elements
    size_t last = 0;        ///< step that reads it last; the number of steps: it is a result
    uint32_t heir = kNone;  ///< as Operand has it
};
/// By operand; inputs are there from the first step on and have no bytes, nor has a result in the memory of one.
std::vector<Lifetime> lifetimes(const Executable& executable);

/// Bytes of workspace and results in memory while each step runs.
std::vector<uint64_t> bytes_at(const Executable& executable);

/// Decides heirs, places, and where places are freed, from steps and roles. An operand that a step fills takes the
/// memory of one that the step reads last, where its kernel allows that. A result also takes that of a donated input.
/// Any other takes a place of as many bytes that earlier steps used last, where keeping it until then raises no peak.
void place_memory(Executable& executable);

/// The last operand in the memory of this one.
inline uint32_t last_heir(const Executable& executable, uint32_t operand) {
    while (executable.operands[operand].heir != kNone) operand = executable.operands[operand].heir;
    return operand;
}

/// Checks what place_memory must keep: each step finds the values that it reads, and overwrites only what its kernel
/// allows. An internal error otherwise.
void verify_memory(const Executable& executable);

}  // namespace strata::executable
