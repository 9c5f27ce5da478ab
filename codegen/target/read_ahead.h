#pragma once
#include "strata/codegen/target/target.h"

namespace strata::codegen {

/// Bytes of the next step that a thread's registers hold at most.
inline constexpr int64_t kMostBytesAhead = 128;

/// True if loops that multiply matrices read the next step's operands into registers while they compute. Sums of CDNA
/// have registers of their own, which leaves the others for that.
bool reads_matrices_ahead(const Target& target);

}  // namespace strata::codegen
