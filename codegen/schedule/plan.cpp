// plan_storage: decides which values are stored. Every kernel is then a loop nest over its output and at most one
// reduction, or rows that are reduced and walked again. Or it is attention (attention.h).
#include <algorithm>
#include <optional>
#include <set>

#include "strata/codegen/schedule/attention.h"
#include "strata/codegen/schedule/plan_p.h"
#include "strata/codegen/schedule/product_chains.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/uop_set.h"

namespace strata::codegen {
namespace {

constexpr int kDear = 8;     // cost (ops.def) from which a value is worth storing when many threads would repeat it
constexpr int kShared = 64;  // work above which a value that several kernels read is stored
constexpr int kKernelWeight = 1000;  // a kernel is cut when its value grows past this
constexpr size_t kKernelBuffers = 24;
constexpr size_t kSoon = 64;  // values until those that are made of one meet again

/// How a value that is not stored depends on the rows that its kernel reduces.
enum class Part : uint8_t {
    other,    ///< nothing, or it has been moved about
    results,  ///< one element a row, in their order
    rows,     ///< every element of them, in their order
};

/// The work that a not yet stored value would bring into the kernel of its user.
struct Carried {
    UOp reduction;         // one representative: all reductions and scans carried have its source shape and axes
    bool scanned = false;  // there is a scan among them
    Part part = Part::other;
    int weight = 0;            // elementwise work to compute one element, shared parts counted at every use
    std::vector<UOp> buffers;  // read, sorted by address, at most kKernelBuffers + 1
};

class Planner {
  public:
    Planner(const Policy& policy, bool has_product_chains) : policy_(policy), has_chains_(has_product_chains) {}

    Plan run(std::span<const UOp> targets) {
        const std::vector<UOp> order = in_order(targets);
        for (size_t i = 0; i < order.size(); ++i)
            for (UOp s : order[i].src()) users_[s].push_back(i);
        asked_.insert(targets.begin(), targets.end());
        order_ = order;
        take_attention();
        if (has_chains_ && policy_.fusion != Fusion::less) take_chains();
        find_products();
        leading_ = leading_to_rows(order, products_);
        for (UOp u : order) visit(u);
        store_shared(order);
        return std::move(plan_);
    }

  private:
    void store(UOp u, Reason why) {
        if (is_stored_view(u) || u.is(Op::pick) || u.is(Op::custom)) return;
        const bool keeps_type = plan_.stored.contains(u) || why == Reason::asked || why == Reason::own ||
                                why == Reason::custom || why == Reason::operand;
        std::vector<UOp> casts{u};
        while (!keeps_type && shows_a_widened_value(casts.back())) casts.push_back(casts.back().src(0));
        while (casts.size() > 1 && is_move(casts.back())) casts.push_back(casts.back().src(0));
        plan_.stored.try_emplace(casts.back(), why);
        carried_[casts.back()] = Carried{.buffers = {casts.back()}};
        for (auto it = casts.rbegin() + 1; it != casts.rend(); ++it) carried_[*it] = combine(*it);
    }

    /// A view of all elements.
    static bool is_move(UOp u) { return u.is(Op::reshape) || u.is(Op::permute) || u.is(Op::flip); }
    static UOp below_moves(UOp u) {
        while (is_move(u)) u = u.src(0);
        return u;
    }

    /// A cast of what is computed, or of a view of it, to a type that holds all its values: memory holds what is
    /// computed.
    static bool widens_a_value(UOp u) {
        if (!is_widening(u)) return false;
        const UOp value = below_moves(u.src(0));
        return can_be_cut(value) && !is_stored_view(value) && !value.is(Op::custom) && !value.is(Op::pick);
    }

    /// The same after views.
    static bool shows_a_widened_value(UOp u) { return widens_a_value(below_moves(u)); }

    /// Products by matrix instructions, and their operands that are computed before rather than for each of their
    /// tiles.
    void find_products() {
        for (UOp u : order_) {
            const MatrixProduct product =
                inside_.contains(u) || sums_.contains(u) ? MatrixProduct() : matrix_product_of(u, policy_.costs);
            if (!product) continue;
            products_.insert(u);
            if (is_worth_storing(product.columns, product.terms, policy_.costs)) operands_.insert(product.left);
            if (is_worth_storing(product.rows, product.terms, policy_.costs)) operands_.insert(product.right);
        }
    }

    void take_attention() {
        for (const Attention& attention : find_attention(order_)) {
            if (std::ranges::any_of(attention.inside, [&](UOp u) { return asked_.contains(u); })) continue;
            if (is_slower_fused(attention, policy_)) {
                wide_.insert(attention.top.src(0));
                continue;
            }
            inside_.insert(attention.inside.begin(), attention.inside.end());
            sums_.insert(attention.sum);
            results_[attention.result] = attention.sum;
            take_operands(attention.product), take_operands(attention.sum);
        }
    }

    /// Values of 16 bits that tiles of a kernel read many times are computed before.
    void take_operands(UOp sum) {
        for (UOp factor : sum.src(0).src())
            if (const UOp value = narrow_in(factor); value && !inside_.contains(value))
                if (is_worth_storing(factor.numel() / std::max<int64_t>(value.numel(), 1), factor.numel(),
                                     policy_.costs))
                    operands_.insert(value);
    }

    void take_chains() {
        for (const ProductChain& chain : find_product_chains(order_, asked_)) {
            inside_.insert(chain.inside.begin(), chain.inside.end());
            sums_.insert(chain.sum);
            results_[chain.result] = chain.sum;
            for (UOp u : chain.inside)
                if (u.is(Op::reduce) && u.src(0).is(Op::mul)) take_operands(u);
            if (chain.sum.src(0).is(Op::mul)) take_operands(chain.sum);
        }
    }

    /// Values inside of attention are never stored; a value that enters it must need no reduction any more.
    void visit_inside(UOp u) {
        for (UOp s : u.src())
            if (!inside_.contains(s) && carried_[s].reduction)
                carried_[s].part == Part::rows ? store_rows(s, Reason::combined) : store(s, Reason::combined);
        carried_[u] = combine(u);
        if (carried_[u].buffers.size() > kKernelBuffers) {
            for (UOp s : u.src())
                if (!inside_.contains(s) && can_be_cut(s)) store(s, Reason::buffers);
            carried_[u] = combine(u);
        }
        carried_[u].reduction = UOp();
        carried_[u].part = Part::other;
    }

    void visit(UOp u) {
        if (u.is(Op::custom)) {
            for (UOp s : u.src()) store(s, Reason::custom);
            return;
        }
        if (inside_.contains(u)) return visit_inside(u);
        separate(u);
        Carried sum = combine(u);
        const std::optional<Reason> cut = reason_to_cut(u, sum);
        const bool asked = asked_.contains(u) && !is_view(u);
        carried_[u] = std::move(sum);
        if (asked || u.is(Op::contiguous))
            store(u, asked ? Reason::asked : Reason::own);
        else if (cut && can_be_cut(u))
            store(u, *cut);
        else if (cut && info(u.op()).is(kMovement))
            store_below(u, *cut);
        else if (operands_.contains(u) && is_computed(u))
            store(u, Reason::operand);
    }

    std::optional<Reason> reason_to_cut(UOp u, const Carried& sum) const {
        if (sum.buffers.size() > kKernelBuffers) return Reason::buffers;
        if (sum.reduction && sum.part != Part::rows && !leading_.contains(u) && is_shared(u))
            return wide_.contains(u) ? Reason::wide : Reason::shared;
        if (sum.weight > kKernelWeight && work(u, kKernelWeight) > kKernelWeight) return Reason::work;
        return {};
    }

    /// Stores sources that the kernel of `u` cannot compute, or only again and again.
    void separate(UOp u) {
        const bool widens = u.is(Op::expand) && makes_rows(u, u.src(0));
        for (UOp s : u.src()) {
            const Carried& c = carried_[s];
            const bool folds = u.is(Op::reduce) || u.is(Op::scan);
            const bool again = c.part == Part::rows && folds && are_one_loop(u, c.reduction);
            if (c.reduction && folds && (!again || (c.scanned && u.is(Op::reduce))))
                c.part == Part::rows ? store_rows(s, Reason::reduced)
                                     : store(s, wide_.contains(s) ? Reason::wide : Reason::reduced);
            else if (c.part == Part::rows && info(u.op()).is(kMovement))
                store_rows(s, Reason::moved);
            else if (repeats_its_sources(u) && !widens && (c.reduction || (c.weight >= dear(s) && !is_read_once(u, s))))
                shows_all(s) ? store_below(s, Reason::repeated) : store(s, Reason::repeated);
        }
    }

    /// Cost from which a value is stored rather than repeated: one number is little beside a launch.
    static int dear(UOp u) { return u.numel() == 1 ? kShared : kDear; }

    /// True if more than one kernel may need the value: its users do not soon meet in one value again.
    bool is_shared(UOp u) const {
        auto users = users_.find(u);
        if (users == users_.end()) return false;
        if (asked_.contains(u)) return true;
        std::set<size_t> front(users->second.begin(), users->second.end());
        for (size_t steps = 0; front.size() > 1; ++steps) {
            UOp first = order_[*front.begin()];
            auto next = users_.find(first);
            const bool passes_on = (info(first.op()).elementwise() || keeps_results(first)) && !asked_.contains(first);
            if (!passes_on || next == users_.end() || steps > kSoon) return true;
            front.erase(front.begin());
            front.insert(next->second.begin(), next->second.end());
        }
        return false;
    }

    /// True if a view is all of a value, in another order. The value is then stored in the order of its computation,
    /// which other views of it share.
    static bool shows_all(UOp view) {
        UOp value = view;
        while (value.is(Op::permute) || value.is(Op::reshape)) value = value.src(0);
        return value != view && !info(value.op()).is(kMovement) && can_be_cut(value);
    }

    /// Stores what a view of several users shows, so that it is not computed for each of them.
    void store_below(UOp view, Reason why) {
        std::vector<UOp> views{view};
        while (info(views.back().src(0).op()).is(kMovement)) views.push_back(views.back().src(0));
        UOp value = views.back().src(0);
        if (!can_be_cut(value)) return;
        store(value, why);
        for (auto it = views.rbegin(); it != views.rend(); ++it) carried_[*it] = combine(*it);
    }

    /// Stores rows that another kernel walks. It stores the factors instead, where that kernel recomputes the rows from
    /// fewer bytes: the terms of a product are many more than its factors. One that reduces them takes each element
    /// once: a launch more, where both would write and read them.
    void store_rows(UOp rows, Reason why) {
        const std::vector<UOp> made = nodes_of_rows(rows);
        UOpSet read;
        for (UOp u : made)
            for (UOp s : u.src())
                if (makes_rows(u, s))
                    read.insert(s);
                else if (carried_[s].part != Part::rows)
                    read.insert(carried_[s].buffers.begin(), carried_[s].buffers.end());
        double bytes = 0;
        for (UOp u : read) bytes += bytes_of(u);
        const CostModel& costs = policy_.costs;
        const bool pays = bytes < bytes_of(rows) || (why == Reason::reduced && costs.memory(bytes) + costs.launch() <
                                                                                   costs.memory(2 * bytes_of(rows)));
        if (carried_[rows].scanned || !pays) return store(rows, why);
        for (UOp u : made)
            for (UOp s : u.src())
                if (makes_rows(u, s)) can_be_cut(s) ? store(s, why) : store_below(s, why);
        for (UOp u : made) carried_[u] = combine(u);
    }

    /// The nodes between a reduction's rows and this one, sources first.
    std::vector<UOp> nodes_of_rows(UOp rows) const {
        std::vector<UOp> made;
        UOpSet seen;
        const auto add = [&](const auto& self, UOp u) -> void {
            if (carried_.at(u).part != Part::rows || !seen.insert(u).second) return;
            for (UOp s : u.src()) self(self, s);
            made.push_back(u);
        };
        add(add, rows);
        return made;
    }

    static double bytes_of(UOp u) { return static_cast<double>(u.numel() * u.dtype().bytes()); }

    /// True if a value is made by arithmetic, rather than found at places that are computed.
    static bool is_computed(UOp u) { return info(u.op()).elementwise() && !u.is(Op::constant); }

    static bool can_be_cut(UOp u) {
        return !info(u.op()).is(kMovement) && !u.is(Op::constant) && !u.is(Op::iota) && !u.is(Op::buffer);
    }

    /// Weight of the distinct nodes that compute `u` from what is stored; counting stops above `limit`.
    int work(UOp u, int limit) const {
        UOpSet seen{u};
        std::vector<UOp> stack{u};
        int total = 0;
        while (!stack.empty() && total <= limit) {
            UOp v = stack.back();
            stack.pop_back();
            total += info(v.op()).cost;
            for (UOp s : v.src())
                if (!plan_.stored.contains(s) && !s.is(Op::pick) && seen.insert(s).second) stack.push_back(s);
        }
        return total;
    }

    bool is_dear(UOp u) const {
        const Carried& c = carried_.at(u);
        return c.scanned || (c.reduction && c.part == Part::results) ||
               (c.weight > kShared && work(u, kShared) > kShared);
    }

    /// Stores dear values that would be computed in more than one kernel. Users come first, so that what a stored value
    /// is made of is then needed by one kernel less.
    void store_shared(const std::vector<UOp>& order) {
        UOpMap<std::pair<UOp, UOp>> kernels;  // up to two stored values that a node is computed for
        auto add = [&](UOp source, UOp kernel) {
            auto& [first, second] = kernels[source];
            if (!first || first == kernel)
                first = kernel;
            else
                second = kernel;
        };
        for (auto it = order.rbegin(); it != order.rend(); ++it) {
            UOp u = *it;
            auto [first, second] = kernels[u];
            if (first && second && can_be_cut(u) && !plan_.stored.contains(u) && !inside_.contains(u) && is_dear(u))
                store(u, Reason::shared);
            bool own = plan_.stored.contains(u) || u.is(Op::custom) || u.is(Op::pick);
            for (UOp s : u.src()) {
                if (own || first) add(s, own ? u : first);
                if (!own && second) add(s, second);
            }
        }
    }

    /// Work and reductions of all sources together; reductions over other loops than the first are stored on the way.
    Carried combine(UOp u) {
        Carried sum;
        if (u.is(Op::buffer) || u.is(Op::pick)) sum.buffers = {u};
        sum.weight = info(u.op()).cost;
        for (UOp s : u.src()) {
            if (u.is(Op::pick)) break;
            if (UOp r = carried_[s].reduction) {
                const Part part = part_of(u, s);
                if (sum.reduction &&
                    (!are_one_loop(r, sum.reduction) || (part == Part::rows) != (sum.part == Part::rows))) {
                    store(s,
                          products_.contains(r) && same_loops(r, sum.reduction) ? Reason::product : Reason::combined);
                } else {
                    sum.part = !sum.reduction || sum.part == part ? part : Part::other;
                    sum.reduction = r;
                }
            }
            const Carried& c = carried_[s];
            sum.scanned |= c.scanned;
            sum.weight = std::min(sum.weight + c.weight, 1 << 20);
            std::vector<UOp> merged;
            auto less = [](UOp a, UOp b) { return a.node() < b.node(); };
            std::set_union(sum.buffers.begin(), sum.buffers.end(), c.buffers.begin(), c.buffers.end(),
                           std::back_inserter(merged), less);
            if (merged.size() > kKernelBuffers + 1) merged.resize(kKernelBuffers + 1);
            sum.buffers = std::move(merged);
        }
        if (u.is(Op::reduce)) sum.reduction = u, sum.part = Part::results;
        if (u.is(Op::scan)) sum.reduction = u, sum.part = Part::rows, sum.scanned = true;
        if (auto attention = results_.find(u); attention != results_.end())
            sum.reduction = attention->second, sum.part = Part::results;
        return sum;
    }

    /// How `u` depends on the rows whose reduction its source carries.
    Part part_of(UOp u, UOp source) {
        const Carried& c = carried_[source];
        if (makes_rows(u, source)) return Part::rows;
        return info(u.op()).elementwise() || keeps_results(u) || u.is(Op::contiguous) ? c.part : Part::other;
    }

    /// True if `u` repeats the results in its source along the rows that their kernel has. Attention has no rows, nor
    /// have products by matrix instructions.
    bool makes_rows(UOp u, UOp source) {
        const Carried& c = carried_[source];
        return u.is(Op::expand) && c.part == Part::results && !is_alone(c.reduction) && widens_results(u, c.reduction);
    }

    /// True if reductions can be one loop; attention is with no other, nor is a product by matrix instructions.
    bool are_one_loop(UOp a, UOp b) const { return a == b || (same_loops(a, b) && !is_alone(a) && !is_alone(b)); }
    bool is_alone(UOp reduction) const { return sums_.contains(reduction) || products_.contains(reduction); }

    /// Ops whose result reads an element of a source more than once, or under a condition or a computed index.
    static bool repeats_its_sources(UOp u) {
        if (u.is(Op::take) || u.is(Op::pad)) return true;
        return u.is(Op::expand) && u.numel() > u.src(0).numel();
    }

    /// Indices that are all of what a take is over: one of them for each element.
    static bool is_read_once(UOp take, UOp source) {
        return take.is(Op::take) && source == take.src(1) && source != take.src(0) && take.numel() == source.numel();
    }

    static bool is_view(UOp u) {
        u = below_views(u);
        return u.is(Op::buffer) || u.is(Op::pick);
    }

    const Policy& policy_;
    const bool has_chains_;
    Plan plan_;
    std::span<const UOp> order_;
    UOpMap<std::vector<size_t>> users_;  ///< by places in the order, once for each use
    UOpSet leading_;                     ///< to rows
    UOpSet asked_;
    UOpSet sums_, inside_;        ///< attention and chains of products, and what only they use
    UOpMap<UOp> results_;         ///< what comes of attention -> the sums
    UOpSet products_, operands_;  ///< of matrix instructions; values to be in memory for them
    UOpSet wide_;                 ///< scores of attention that registers cannot hold
    UOpMap<Carried> carried_;
};

}  // namespace

Plan plan_storage(std::span<const UOp> targets, const Policy& policy, bool has_product_chains) {
    return Planner(policy, has_product_chains).run(targets);
}

}  // namespace strata::codegen
