#pragma once
#include "strata/codegen/target/target.h"

namespace strata::codegen {

/// True if loops that multiply matrices one after the other read the next step's operands into registers while they
/// compute. Sums of CDNA have registers of their own, which leaves the others for that.
bool reads_matrices_ahead(const Target& target);

}  // namespace strata::codegen
