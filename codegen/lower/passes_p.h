#pragma once
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

/// Finished code as a complete object, with lines that lead back to the linear program, and as text.
struct Emitted;
Result<Emitted> emit(const MachineFunction& function);

}  // namespace strata::codegen
