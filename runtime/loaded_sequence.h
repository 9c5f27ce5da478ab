#pragma once
#include <memory>
#include <span>
#include <vector>

#include "strata/executable/sequence.h"
#include "strata/runtime/program.h"

namespace strata::runtime {

/// A sequence on a device, with its programs and constants. A run allocates nothing and changes nothing here: threads
/// share one.
class LoadedSequence {
  public:
    /// `constants`: on the device, by constant of the sequence. Throws (Device) for a device of another arch, and what
    /// loading a code object reports.
    LoadedSequence(Device& device, std::shared_ptr<const executable::Sequence> sequence,
                   std::vector<std::shared_ptr<Buffer>> constants);

    const executable::Sequence& sequence() const { return *sequence_; }
    Device& device() const { return device_; }

    /// Memory of a run.
    struct Memory {
        std::span<const providers::DevicePtr> operands;
        providers::DevicePtr workspace = 0;
        std::span<const uint64_t> numbers = {};
    };
    /// On this thread's stream, which is in order with that memory.
    void run(const Memory& memory) const;

  private:
    void launch(const executable::SequenceStep& step, const Memory& memory) const;
    uint64_t value_of(const executable::SequenceArgument& argument, const Memory& memory) const;

    Device& device_;
    const std::shared_ptr<const executable::Sequence> sequence_;
    const std::vector<std::shared_ptr<Buffer>> constants_;
    std::vector<providers::DevicePtr> addresses_;     ///< of the constants
    std::vector<std::shared_ptr<Program>> programs_;  ///< by kernel
};

}  // namespace strata::runtime
