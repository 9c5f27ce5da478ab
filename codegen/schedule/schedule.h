#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "strata/codegen/target/target.h"
#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// Why a value is stored: the rows of reasons.def.
enum class Reason : uint8_t {
#define REASON(name, ...) name,
#include "strata/codegen/schedule/reasons.def"
};
std::string_view to_string(Reason reason);

/// One step of a schedule: `body` is computed into `output`, in order.
/// body: a tensor-level graph whose leaves are buffers and constants (one kernel; a whole buffer is copied), or a
/// custom node over buffers.
struct ScheduleItem {
    UOp output;  ///< the buffer that is filled; for custom the buffer of its source 0
    UOp body;
    Reason why = Reason::custom;  ///< it is a kernel of its own
    /// Values that the kernel computes besides: of as many elements and the same loops, or in the shape of the tops of
    /// attention.
    std::vector<ScheduleItem> beside = {};
    /// One step at most: what the last block of the kernel computes after all others, of what they stored among others.
    std::vector<ScheduleItem> finish = {};
    std::vector<UOp> writes = {};  ///< of a custom node: the buffers that its kernel writes, each once

    ScheduleItem without_finish() const { return {output, body, why, beside}; }

    std::vector<UOp> outputs() const;  ///< of all, the finish last
    std::vector<UOp> bodies() const;
};

struct Schedule {
    std::vector<ScheduleItem> items;
    std::vector<UOp> roots;  ///< for each requested root: a view (movement ops) of a buffer that holds its value
};

/// By place, where a node stands first.
std::vector<size_t> first_places(std::span<const UOp> nodes);

/// Questions of the schedule to its user: memory for a value, and nodes that are in memory already.
class Storage {
  public:
    virtual ~Storage() = default;
    virtual UOp new_buffer(DType dtype, int64_t size) = 0;  ///< a buffer node for a fresh allocation
    /// A view of a buffer that holds the node's value, or empty. Asked of constants too.
    virtual UOp find(UOp node) = 0;
    /// For each source of a custom node, whether its kernel writes it.
    virtual std::vector<bool> written(UOp custom) { return std::vector<bool>(custom.src().size()); }
    /// For each source of a custom node, the first that is the same tensor. A write to one of several that share memory
    /// is not seen by the others.
    virtual std::vector<size_t> tensors(UOp custom) { return first_places(custom.src()); }
    /// True if the kernels are to serve other sizes too: then what blocks are there is no part of them.
    virtual bool serves_other_sizes() { return false; }
    /// The chip of the kernels: its usual card decides what they cost.
    virtual Chip chip() { return isa::Arch::gfx1100; }
    /// True if the target has kernels of chains of products (product_chains.h).
    virtual bool has_product_chains() { return !target_of(chip()).matrix.empty(); }
    /// True if a custom node may write to this view, its source: what is there is seen by nobody else.
    virtual bool is_alone(UOp /*view*/) { return false; }
    /// The same of memory that nothing was put in: a new buffer takes its place.
    virtual bool is_unset(UOp /*view*/) { return false; }
    /// True if the kernel of a custom node wrote what this shows of it, which only the graphs read.
    virtual bool is_dropped(UOp /*pick*/) { return false; }
};

/// Sources before users, each node of all graphs once.
std::vector<UOp> in_order(std::span<const UOp> roots);

/// How to decide where values may share a kernel or have kernels of their own. Models of cost (attention_cost.cpp,
/// split_k.cpp, fuse_siblings.cpp) decide, or always the one or the other, which Tensor.tune() tries too.
enum class Fusion : uint8_t { cost, more, less };
std::string_view to_string(Fusion fusion);
std::optional<Fusion> parse_fusion(std::string_view name);  ///< none: it is no name of one

/// Decides which values are stored and in which order they are computed. Sources before users.
Schedule make_schedule(std::span<const UOp> roots, Storage& storage, Fusion fusion = Fusion::cost);

}  // namespace strata::codegen
