#pragma once
#include <string>

#include "strata/runtime/realize/graph_loader_p.h"

namespace strata::runtime {

/// The fusion of a graph without users' kernels: what the settings say, or, where they search, the one of its tuning
/// record. In a tuning session without a record the ways to fuse that differ are searched and run, and the fastest is
/// kept. `signature`: hash of the graph's.
codegen::Fusion searched_fusion(const GraphRequest& request, const std::string& signature);

}  // namespace strata::runtime
