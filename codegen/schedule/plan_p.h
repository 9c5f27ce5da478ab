#pragma once

#include "strata/codegen/cost/cost_model.h"
#include "strata/codegen/schedule/attention.h"
#include "strata/codegen/schedule/schedule.h"
#include "strata/codegen/target/rates.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/uop.h"
#include "strata/core/uop/uop_set.h"
#include "strata/core/uop/walk.h"

namespace strata::codegen {

/// The choice between schedules of the same values.
struct Policy {
    Fusion fusion = Fusion::cost;
    CostModel costs;
};

/// Rebuilds graphs, which may share nodes, as rebuild (core/uop/walk.h) does one: gives what has become of the roots.
/// `order` is in_order(roots).
template <class F>
std::vector<UOp> rebuild_all(std::span<const UOp> roots, std::span<const UOp> order, UOpMap<UOp>& rebuilt, F f) {
    if (!order.empty()) (void)rebuild(order, rebuilt, f);
    std::vector<UOp> out;
    for (UOp root : roots) out.push_back(rebuilt.at(root));
    return out;
}
template <class F>
std::vector<UOp> rebuild_all(std::span<const UOp> roots, F f) {
    UOpMap<UOp> rebuilt;
    return rebuild_all(roots, in_order(roots), rebuilt, f);
}

/// True if the products and exponentials of attention take less time as kernels of their own, with the scores in
/// memory. Also true where they must: registers cannot hold the sums of a row.
bool is_slower_fused(const Attention& attention, const Policy& policy);

/// Which nodes get memory of their own, and why.
struct Plan {
    UOpMap<Reason> stored;
};

/// Decides for a resolved graph. Stored are values that the user asked for, values that several users share and that
/// are dear to compute again, and reductions. A reduction is stored if another reduction, an expansion or several
/// kernels read it. It is not if they are of the same rows (rows.cpp) or inside of attention (attention.cpp). Nor is it
/// inside of chains of products (product_chains.cpp), where there are such kernels.
Plan plan_storage(std::span<const UOp> targets, const Policy& policy, bool has_product_chains = false);

/// Splits reductions that are large and leave few results into two stages, so that the first fills the machine. Of
/// several graphs, which may share nodes.
std::vector<UOp> split_reductions(std::span<const UOp> roots, const Policy& policy, bool has_product_chains = false);

/// True if a sum is a product of matrices, of sides that tiles are of.
bool is_tiled_product(UOp u);
/// A sum of products that matrix instructions compute; none: left is empty.
struct MatrixProduct {
    UOp left, right;                ///< the operands in the instructions' type, below views
    int64_t rows = 0, columns = 0;  ///< how often each element of right, of left is read
    int64_t terms = 0;
    explicit operator bool() const { return bool(left); }
};
/// Recognised where instructions take less time than one kernel with other sums does: in matrix_products.cpp.
MatrixProduct matrix_product_of(UOp sum, const CostModel& costs);
/// True if a product takes less time without matrix instructions than a kernel of its own is launched in.
bool is_little(ProductShape shape, const CostModel& costs);
/// The sums of products whose sum a sum of several products is; empty: it is none.
std::vector<UOp> matrix_products_in(UOp sum, const CostModel& costs);
/// True if a product of `terms` terms is faster when a kernel of its own computes the operand. The product reads each
/// element of that operand `reads` times.
bool is_worth_storing(int64_t reads, int64_t terms, const CostModel& costs);

/// Operands of convolutions that matrix instructions compute get memory in the order in which those read them:
/// convolutions.cpp.
std::vector<UOp> store_layouts(std::span<const UOp> roots, const Policy& policy);

/// Attention of few rows and many keys, of pieces of these that fill the card: split_keys.cpp.
std::vector<UOp> split_keys(std::span<const UOp> roots, const Policy& policy, const Rates& card);
/// Keeps the weights of attention in the type of their sum, where the program rounds them to a narrower one in between.
std::vector<UOp> widen_weights(std::span<const UOp> roots, const Policy& policy);

/// Makes operands of 8-bit floats bfloat16 where the chip multiplies those alone: byte_operands.cpp.
std::vector<UOp> widen_bytes(std::span<const UOp> roots, const Policy& policy);

/// Such a product as the sum of several, where that takes less time.
UOp split_k(UOp u, const Policy& policy);

/// Computes reductions that are the same all along an axis once: invariant_axes.cpp.
std::vector<UOp> compute_invariant_once(std::span<const UOp> roots, const CostModel& costs);

/// Takes factors out of long sums that waited for them: factor_sums.cpp.
std::vector<UOp> factor_sums(std::span<const UOp> roots, const Policy& policy);

/// Splits scans that are long and few into blocks, for the same reason.
std::vector<UOp> split_scans(std::span<const UOp> roots);

/// Makes one step of those whose kernel computes several values of the same loops in less time than their own kernels
/// would. `roots`: views of what is read after the last step.
std::vector<ScheduleItem> fuse_siblings(std::vector<ScheduleItem> items, std::span<const UOp> roots,
                                        const Policy& policy);

/// Makes one step of attention by matrix instructions and of the logarithms of its totals.
std::vector<ScheduleItem> fuse_log_totals(std::vector<ScheduleItem> items);

/// Has the last blocks of steps compute what follows where that is little.
std::vector<ScheduleItem> fuse_last_block(std::vector<ScheduleItem> items, Fusion fusion);

/// Values in the memory that steps fill. A buffer that a user's kernel writes has another value from then on.
struct StepValues {
    struct Value {
        int64_t bytes;
        size_t made_by;
        bool result = false;  ///< a root shows its memory
        std::vector<size_t> readers = {};
    };
    std::vector<Value> values;
    std::vector<std::vector<size_t>> reads, makes;  ///< by step: values
};
StepValues values_of(std::span<const ScheduleItem> items, std::span<const UOp> roots);

/// The same steps so that each comes as late as its first reader lets it. Steps that no root needs are left out, but
/// for users' kernels.
std::vector<ScheduleItem> order_for_memory(std::vector<ScheduleItem> items, std::span<const UOp> roots);
/// The same steps: those that free more than they fill run as soon as they can, others as given.
std::vector<ScheduleItem> free_early(std::vector<ScheduleItem> items, std::span<const UOp> roots);
/// Bytes of what steps fill and others still read, or roots, where they are most.
int64_t most_kept(std::span<const ScheduleItem> items, std::span<const UOp> roots);

// Rows: rows.cpp.
bool same_loops(UOp a, UOp b);  ///< of two reductions or scans
Shape without_ones(Shape shape);
bool keeps_results(UOp u);                  ///< a reshape that adds or drops axes of one element
bool widens_results(UOp u, UOp reduction);  ///< an expansion of its results to what it reduces, along the last axes
/// Values of one element a row from which such an expansion follows; `products` by matrix instructions have no rows.
UOpSet leading_to_rows(std::span<const UOp> order, const UOpSet& products);
bool is_stored_view(UOp u);  ///< a whole buffer, at most reshaped

}  // namespace strata::codegen
