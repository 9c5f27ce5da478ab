#pragma once

namespace strata {

/// True if a node lost its last Root, and nothing used it, since sweep (root.h) last began: a sweep would free it.
bool is_sweep_due();

}  // namespace strata
