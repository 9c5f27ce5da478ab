#pragma once
#include <algorithm>
#include <optional>

#include "strata/codegen/kernel/flops.h"
#include "strata/codegen/optimize/actions_p.h"
#include "strata/codegen/optimize/cost.h"
#include "strata/codegen/target/ldmatrix.h"
#include "strata/core/symbolic/symbolic.h"

namespace strata::codegen {

/// A load or store.
struct Walked {
    UOp offset;
    bool is_store;
    int64_t size;  ///< elements of its memory
};

inline std::vector<Walked> walked_memory(const Kernel& kernel) {
    std::vector<Walked> found;
    for (UOp u : toposort(kernel.sink))
        if (u.is(Op::load) || u.is(Op::store))
            found.push_back({u.src(0).src(1), u.is(Op::store), u.src(0).src(0).as<ParamArg>().size});
    return found;
}

/// Nodes up to which a kernel is unrolled unasked. Beside what a longer body computes in each step the loop costs
/// nothing, but each copy takes its time to compile.
inline constexpr size_t kMostNodes = 2048;

/// Builds the list of actions and keeps the kernel they lead to; an action that does not fit is left out.
class ScheduleBuilder {
  public:
    ScheduleBuilder(const Kernel& kernel, const Target& target) : kernel_(kernel), target_(&target) {}

    bool add(ActionKind kind, int axis, int64_t amount) {
        Action action{kind, axis, amount};
        Result<Kernel> next = apply(kernel_, action, *target_);
        if (!next) return false;
        kernel_ = *std::move(next);
        actions_.push_back(action);
        return true;
    }
    /// On what is left of the range of that id; false when it is used up.
    bool add_to(ActionKind kind, int id, int64_t amount) {
        const std::vector<UOp> all = axes(kind);
        return add(kind, static_cast<int>(of_id(all, id) - all.begin()), amount);
    }
    /// Rounds a range up to a multiple; it keeps its place among its kind.
    bool pad(UOp range, int64_t multiple) {
        std::vector<UOp> all = axes(ActionKind::pad);
        return add(ActionKind::pad, static_cast<int>(std::find(all.begin(), all.end(), range) - all.begin()), multiple);
    }
    /// The largest of these amounts that divides the axis.
    bool add_largest(ActionKind kind, int axis, std::initializer_list<int64_t> amounts) {
        for (int64_t amount : amounts)
            if (add(kind, axis, amount)) return true;
        return false;
    }
    std::vector<UOp> axes(ActionKind kind) const { return axes_of(kernel_, kind); }
    /// Which output axis is what actions have left of a range, whose id it keeps; nothing where it is used up.
    std::optional<int> place(UOp range) const {
        const std::vector<UOp> all = axes(ActionKind::upcast);
        const auto found = of_id(all, range_arg(range).id);
        return found == all.end() ? std::nullopt : std::optional(static_cast<int>(found - all.begin()));
    }
    int64_t size(ActionKind kind, int axis) const { return axes(kind)[static_cast<size_t>(axis)].as<RangeArg>().size; }
    /// Steps that are left of the range of that id; 1 when it is used up.
    int64_t size_of(int id) const {
        const std::vector<UOp> all = axes(ActionKind::pad);
        const auto found = of_id(all, id);
        return found == all.end() ? 1 : range_arg(*found).size;
    }
    const Kernel& kernel() const { return kernel_; }
    const Target& target() const { return *target_; }
    /// True if the kernel with `steps` times as many copies of its body is still compiled soon.
    bool fits_unrolled(int64_t steps) const {
        return count_unrolled(kernel_.sink) * static_cast<uint64_t>(steps) <= kMostNodes;
    }
    Scheduled take() { return {kernel_, std::move(actions_)}; }

    /// The axis along which the most memory is walked element by element; nothing when there is none.
    std::optional<int> unit_stride_axis(ActionKind kind) const {
        std::vector<UOp> candidates = axes(kind);
        std::optional<int> best;
        int64_t most = 0;
        for (size_t i = 0; i < candidates.size(); ++i) {
            int64_t walked = walked_by_one(candidates[i]);
            if (walked > most) most = walked, best = static_cast<int>(i);
        }
        return best;
    }
    /// An axis along which memory is walked in such steps; nothing when there is none.
    std::optional<int> axis_of_step(ActionKind kind, int64_t step) const {
        const std::vector<UOp> candidates = axes(kind);
        for (const Walked& a : walked_memory(kernel_))
            for (size_t i = 0; i < candidates.size(); ++i)
                if (step_of(a.offset, candidates[i]) == step) return static_cast<int>(i);
        return {};
    }
    int64_t walked_by_one(UOp range) const { return walked_by_one(range, false) + walked_by_one(range, true); }
    int64_t walked_by_one(UOp range, bool stores) const {
        int64_t n = 0;
        for (const Walked& a : walked_memory(kernel_))
            n += a.is_store == stores && step_of(a.offset, range) == 1 ? a.size : 0;
        return n;
    }

    /// The matrix instruction that multiplies; null: there is none.
    const MatrixShape* matrix_shape() const {
        for (UOp u : toposort(kernel_.sink))
            if (u.is(Op::wmma) && !is_ldmatrix(u)) return find_shape(target_->matrix, u.as<MatrixArg>().name);
        return nullptr;
    }
    /// Rows, which are as many as columns, of what it computes.
    int matrix_side() const {
        const MatrixShape* shape = matrix_shape();
        return shape ? shape->m : 1;
    }
    bool multiplies_by_warpgroups() const {
        return std::ranges::any_of(toposort(kernel_.sink), [&](UOp u) {
            const MatrixShape* shape = u.is(Op::wmma) ? find_shape(target_->matrix, u.as<MatrixArg>().name) : nullptr;
            return shape && shape->by_warpgroups;
        });
    }
    /// Bytes of the smallest element that is loaded.
    int narrowest_load() const {
        int bytes = 8;
        for (UOp u : toposort(kernel_.sink))
            if (u.is(Op::load)) bytes = std::min(bytes, u.dtype().element().bytes());
        return bytes;
    }
    /// Bytes of the largest sum.
    int widest_sum() const {
        int bytes = 0;
        for (UOp u : toposort(kernel_.sink))
            if (u.is(Op::reduce)) bytes = std::max(bytes, u.dtype().bytes());
        return bytes;
    }
    double cost() const { return static_cost(kernel_, *target_).clocks(); }

  private:
    static std::vector<UOp>::const_iterator of_id(const std::vector<UOp>& axes, int id) {
        return std::ranges::find(axes, id, [](UOp axis) { return range_arg(axis).id; });
    }

    Kernel kernel_;
    const Target* target_;
    std::vector<Action> actions_;
};

}  // namespace strata::codegen
