#pragma once
#include <unordered_set>

#include "strata/codegen/schedule/schedule.h"
#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// Which nodes get memory of their own, and why.
struct Plan {
    UOpMap<Reason> stored;
};

/// Decides for a resolved graph: what the user asked for, what several users share and is dear to compute again, and
/// every reduction that another reduction, an expansion or several kernels read, unless they are of the same rows (rows.cpp).
Plan plan_storage(std::span<const UOp> targets);

/// Splits reductions that are large and leave few results into two stages, so that the first fills the machine.
UOp split_reductions(UOp root);

// Rows: rows.cpp.
bool keeps_results(UOp u);                  ///< a reshape that adds or drops axes of one element
bool widens_results(UOp u, UOp reduction);  ///< an expansion of its results to what it reduces, along the last axes
/// Values of one element a row from which such an expansion follows.
std::unordered_set<UOp, UOpHash> leading_to_rows(std::span<const UOp> order);

bool is_stored_view(UOp u);  ///< a whole buffer, at most reshaped

}  // namespace strata::codegen
