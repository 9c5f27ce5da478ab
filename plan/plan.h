#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "strata/plan/descriptor.h"
#include "strata/plan/status.h"
#include "strata/runtime/artifact.h"
#include "strata/runtime/loaded_sequence.h"

namespace strata::plan {

/// Bytes that addresses of operands are multiples of, or of their elements' size: that of the widest memory access.
inline constexpr uint64_t kAlignment = 16;
/// Of the workspace.
inline constexpr uint64_t kWorkspaceAlignment = executable::kAlignment;

/// An operand as a plan was selected for it.
struct Operand {
    std::string name;
    DType dtype;
    Shape shape, strides;  ///< in elements
    bool output = false;
    uint64_t alignment = kAlignment;
    int64_t lowest = 0;  ///< bytes from the address, which is that of the element of index 0, to the lowest: 0 or less
    uint64_t bytes = 0;  ///< that it reaches
};

/// An operand's memory.
struct TensorView {
    providers::DevicePtr data = 0;  ///< of the element of index 0
    uint64_t bytes = 0;             ///< of memory that the operand may use
    DType dtype;
    std::span<const int64_t> shape, strides;
};

/// How exact the results are.
struct Precision {
    static constexpr uint32_t kNotMeasured = ~0u;
    DType math, accumulate;     ///< types that it computes and adds up in
    bool deterministic = true;  ///< two runs give the same bits
    bool bit_stable = false;    ///< no order of additions decides the bits: each element is computed by itself
    uint32_t max_ulp = kNotMeasured;
};

/// A compiled operation: an executable with its operands, on a device. Nothing changes it: threads share one.
class Plan {
  public:
    /// Everything that select() found out.
    struct Parts {
        std::vector<Operand> operands;
        std::shared_ptr<const runtime::LoadedSequence> loaded;  ///< null: its outputs have no elements
        std::shared_ptr<const runtime::Artifact> compiled;      ///< what an artifact of it holds; null: it was loaded
        std::vector<Root> constants;                            ///< that it reads, as nodes
        std::vector<std::pair<size_t, size_t>> over;            ///< outputs and the inputs that they may lie over
        std::string sku;
        uint64_t sku_hash = 0;
        Precision precision;
    };
    explicit Plan(Parts parts) : parts_(std::move(parts)) {}

    const std::vector<Operand>& operands() const { return parts_.operands; }
    uint64_t workspace() const { return parts_.loaded ? parts_.loaded->sequence().workspace : 0; }  ///< bytes
    uint32_t launches() const;
    const std::string& sku() const { return parts_.sku; }  ///< what decides its code, as JSON
    uint64_t sku_hash() const { return parts_.sku_hash; }  ///< equal in all processes
    const Precision& precision() const { return parts_.precision; }
    const std::shared_ptr<const runtime::Artifact>& compiled() const { return parts_.compiled; }
    const std::vector<Root>& constants() const { return parts_.constants; }
    const runtime::LoadedSequence* loaded() const { return parts_.loaded.get(); }  ///< null: it launches nothing

    /// Memory for a run, by operand. Throws the first that is wrong. First comes ARGUMENT for their number. INVALID is
    /// for types, shapes and strides; then BUFFER, ARGUMENT for addresses of 0, MISALIGNED. Last comes INVALID for an
    /// output over another operand.
    void check(std::span<const TensorView> operands) const;
    /// The same, then WORKSPACE, then the launches on this thread's stream.
    void run(providers::DevicePtr workspace, uint64_t bytes, std::span<const TensorView> operands) const;
    void check_workspace(providers::DevicePtr workspace, uint64_t bytes) const;
    /// Launches alone, over addresses that check() passed.
    void launch(providers::DevicePtr workspace, std::span<const providers::DevicePtr> data) const;

  private:
    void check_overlap(std::span<const TensorView> operands) const;
    Parts parts_;
};

}  // namespace strata::plan
