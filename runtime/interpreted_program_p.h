#pragma once
#include <span>

#include "strata/codegen/interpret/kernel_list.h"
#include "strata/codegen/kernel/kernel.h"
#include "strata/runtime/custom.h"

namespace strata::runtime {

/// A kernel's graph on a device that interprets it.
class InterpretedProgram {
  public:
    InterpretedProgram(const Device& device, const codegen::Kernel& kernel, isa::SourcePlaces places);

    /// Entry, shape and parameters; no object.
    executable::Code code() const;
    /// Runs over the explicit part of a kernarg segment. Throws what it finds wrong, with the place of the node.
    void run(const LaunchShape& shape, std::span<const uint8_t> arguments,
             std::span<const executable::ParameterPlace> places) const;
    bool same(const InterpretedProgram& other) const { return graph_.get() == other.graph_.get(); }

  private:
    std::string name_;
    int device_, wave_size_;
    Root graph_, listed_;  ///< listed_: holds what the list has beside the graph
    codegen::KernelList list_;
    isa::SourcePlaces places_;
};

}  // namespace strata::runtime
