#pragma once
#include "strata/codegen/lower/lower.h"
#include "strata/codegen/lower/machine.h"
#include "strata/core/support/result.h"

namespace strata::codegen {

/// Linear program -> code over virtual registers.
Result<MachineFunction> select(const LinearProgram& program, const Target& target);
/// Takes away what nothing reads.
void remove_unused(MachineFunction& function);

#define PASS(name, ...) Result<void> name(MachineFunction& function);
#include "strata/codegen/lower/passes.def"
#undef PASS

/// What holds after a pass: the column `check` of passes.def.
enum class Check : uint8_t { virtual_, placed, finished };
/// The error (Internal) names the first instruction that breaks it.
Result<void> verify(const MachineFunction& function, Check check);

/// Finished code as words, with lines that lead back to the linear program, and as text.
Result<Lowered> emit(const MachineFunction& function, Text text = Text::yes);

/// The operations of a program as text: line N of a code object's line table is the Nth, from 1.
std::vector<std::string> listing(const LinearProgram& program);
/// What kernel arguments are called: out0, in1, by slot.
std::vector<std::string> parameter_names(const LinearProgram& program);

}  // namespace strata::codegen
