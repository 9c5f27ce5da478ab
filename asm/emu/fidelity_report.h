#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "strata/asm/emu/fidelity.h"
#include "strata/asm/object/code_object.h"

namespace strata::emu {

/// One instruction of a kernel, however often its code has it.
struct InstructionUse {
    std::string_view mnemonic;
    int count = 0;                          ///< in the code
    std::optional<uint64_t> executed = {};  ///< by the waves of a launch; none: nobody counted
    Fidelity fidelity;
};

/// The instructions that a kernel's code can reach, by mnemonic, with how near their results are to silicon's. What ran
/// is in LaunchStats::instructions.
/// Errors: Usage (no such kernel), Unsupported (an instruction that cannot be executed).
Result<std::vector<InstructionUse>> kernel_fidelity(const isa::CodeObject& object, std::string_view kernel);

}  // namespace strata::emu
