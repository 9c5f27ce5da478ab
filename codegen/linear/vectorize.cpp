#include "strata/codegen/linear/passes_p.h"

namespace strata::codegen {

UOp vectorize(UOp sink) { return sink; }

}  // namespace strata::codegen
