#pragma once
#include "strata/codegen/tile/mma.h"

namespace strata::lang {

/// The gemm of an atom of warpgroups.
void gemm_by_warpgroups(const TiledMma& mma, const View& d, const View& a, const View& b, const View& c);

}  // namespace strata::lang
