#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "strata/runtime/custom.h"
#include "strata/runtime/program.h"

namespace strata::runtime {

class Buffer;

/// A call of a user's kernel: compiled, and its arguments checked against its parameters.
class KernelCall {
  public:
    /// `tensors` = how many of its arguments are tensors. Throws what the compiler and the parameters say.
    KernelCall(Device& device, const CustomLaunch& launch, size_t tensors);
    /// The same kernel on the same device with other arguments, grid and block. Throws what the parameters say.
    void take(const CustomLaunch& launch, size_t tensors);

    /// Until it wakes it does not keep the program of a graph, which may go for want of memory.
    void rest();
    /// False: the program is gone, or no longer the one for this device and the settings in force.
    bool wake(const Device& device);

    const std::shared_ptr<Program>& program() const { return program_; }
    const LaunchShape& shape() const { return shape_; }
    /// True if the kernel writes a tensor, as far as anybody says: the stores of a graph, pointers to const. None: an
    /// assembler's parameters do not tell.
    std::optional<bool> writes(size_t tensor) const { return writes_[tensor]; }
    bool tells_writes() const;  ///< of all tensors

    /// Runs over this memory, one a tensor.
    Launched launch(std::span<const std::shared_ptr<Buffer>> memory);
    Launched launch_at(std::span<const providers::DevicePtr> memory);
    /// But for its tensors.
    bool same_arguments(const KernelCall& other) const;

  private:
    /// DType error where a tensor is of another type than its pointer.
    void check_types(std::span<const std::shared_ptr<Buffer>> memory) const;
    void take_slots(std::span<const Argument> arguments, const std::vector<size_t>& written);

    std::shared_ptr<Program> program_;
    std::weak_ptr<Program> resting_;
    codegen::Route route_;
    LaunchShape shape_;
    std::optional<PackedArguments> arguments_;  ///< none of a graph, which has
    std::vector<uint64_t> slots_;               ///< with places for addresses at `parameters_`
    std::vector<size_t> parameters_;            ///< of each tensor
    std::vector<std::optional<bool>> writes_;
};

/// Calls of one kernel that nobody makes now.
class IdleCalls {
  public:
    std::unique_ptr<KernelCall> find(const Device& device);  ///< null: there is none that may be used
    void add(std::unique_ptr<KernelCall> call);

  private:
    static constexpr size_t kMost = 4;
    Mutex mutex_;
    std::vector<std::unique_ptr<KernelCall>> idle_;
};

/// A call of a launch's kernel for as long as this lives: an idle one, else a new one.
class TakenCall {
  public:
    TakenCall(Device& device, const CustomLaunch& launch, size_t tensors);
    ~TakenCall();
    TakenCall(const TakenCall&) = delete;
    KernelCall& operator*() const { return *call_; }
    KernelCall* operator->() const { return call_.get(); }

  private:
    IdleCalls& from_;
    std::unique_ptr<KernelCall> call_;
};

/// Launches, records and counts a user's kernel.
void run_call(KernelCall& call, std::span<const std::shared_ptr<Buffer>> memory);

std::vector<providers::DevicePtr> addresses(std::span<const UOp> buffers);

}  // namespace strata::runtime
