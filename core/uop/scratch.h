#pragma once

namespace strata {

/// While one lives, the nodes that this thread makes are its own. No other thread sees them, none looks for them under
/// a lock. All of them go when it ends, whatever reaches them. For work whose result is no graph, such as compiling. A
/// Root of such a node is an InternalError.
class ScratchNodes {
  public:
    ScratchNodes();
    ~ScratchNodes();
    ScratchNodes(const ScratchNodes&) = delete;
};

}  // namespace strata
