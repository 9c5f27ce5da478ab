#pragma once
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "strata/core/uop/uop.h"
#include "strata/runtime/kernel_call.h"

namespace strata::runtime {

/// Graphs that a device interprets, over memory that may be other each time.
class InterpretedGraphs {
  public:
    InterpretedGraphs(std::span<const UOp> roots, Device& device);

    const std::vector<UOp>& inputs() const { return inputs_; }  ///< buffers that they read, each once
    /// Memory of the inputs, then of the results, one a root.
    void run(std::span<Buffer* const> memory) const;
    bool same(const InterpretedGraphs& other) const;  ///< over memory of their own

  private:
    Device& device_;
    std::vector<Root> roots_;
    std::vector<UOp> inputs_;
    std::string form_;
    std::vector<uint64_t> numbers_;
    std::deque<KernelCall> calls_;
};

}  // namespace strata::runtime
