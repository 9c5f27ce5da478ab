#pragma once
#include <cstdint>

#include "strata/codegen/machine/machine.h"
#include "strata/core/support/result.h"

namespace strata::codegen {

/// The check after a pass: the column `check` of passes.def.
enum class Check : uint8_t { virtual_, placed, finished };

#define PASS(name, ...) Result<void> name(MachineFunction& function);
#include "strata/codegen/machine/passes.def"
#undef PASS

/// Deletes instructions whose results nothing reads. Passes call it after they replaced uses.
void remove_dead_code(MachineFunction& function);

}  // namespace strata::codegen
