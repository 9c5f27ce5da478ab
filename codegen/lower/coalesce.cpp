// coalesce: registers that copies join become one.
// Before and after: instructions over virtual registers.
#include "strata/codegen/lower/passes_p.h"

namespace strata::codegen {

Result<void> coalesce(MachineFunction&) { return {}; }

}  // namespace strata::codegen
