// plan_storage: which values are stored, so that every kernel is one loop nest over its output and at most one
// reduction.
#include <algorithm>
#include <optional>

#include "strata/codegen/schedule/plan_p.h"

namespace strata::codegen {
namespace {

constexpr int kDear = 8;     // cost (ops.def) from which a value is worth storing when many threads would repeat it
constexpr int kShared = 64;  // work above which a value that several kernels read is stored
constexpr int kKernelWeight = 1000;  // a kernel is cut when its value grows past this
constexpr size_t kKernelBuffers = 24;

/// What a not yet stored value would bring into the kernel of its user.
struct Carried {
    UOp reduction;             // one representative: all reductions carried have its source shape and axes
    int weight = 0;            // elementwise work to compute one element, shared parts counted at every use
    std::vector<UOp> buffers;  // read, sorted by address, at most kKernelBuffers + 1
};

bool same_loops(UOp a, UOp b) {
    return a.src(0).shape() == b.src(0).shape() && a.as<ReduceArg>().axes == b.as<ReduceArg>().axes;
}

class Planner {
  public:
    Plan run(std::span<const UOp> targets) {
        std::unordered_set<UOp, UOpHash> seen;
        std::vector<UOp> order;
        for (UOp target : targets)
            for (UOp u : toposort(target))
                if (seen.insert(u).second) order.push_back(u);
        for (UOp u : order)
            for (UOp s : u.src()) users_[s]++;
        for (UOp target : targets) users_[target]++, asked_.insert(target);
        for (UOp u : order) visit(u);
        store_shared(order);
        return std::move(plan_);
    }

  private:
    void store(UOp u) {
        if (is_stored_view(u) || u.is(Op::pick) || u.is(Op::custom)) return;
        plan_.stored.insert(u);
        carried_[u] = Carried{UOp(), 0, {u}};
    }

    void visit(UOp u) {
        if (u.is(Op::custom)) {
            for (UOp s : u.src()) store(s);
            return;
        }
        if (u.is(Op::reduce) && carried_[u.src(0)].reduction) store(u.src(0));
        if (repeats_its_sources(u))
            for (UOp s : u.src())
                if (carried_[s].reduction || carried_[s].weight >= kDear) store(s);
        Carried sum = combine(u);
        bool cut = sum.buffers.size() > kKernelBuffers || (users_[u] > 1 && sum.reduction) ||
                   (sum.weight > kKernelWeight && work(u, kKernelWeight) > kKernelWeight);
        bool wanted = (asked_.contains(u) && !is_view(u)) || u.is(Op::contiguous);
        carried_[u] = std::move(sum);
        if (wanted || (cut && can_be_cut(u)))
            store(u);
        else if (cut && info(u.op()).is(kMovement))
            store_below(u);
    }

    /// Stores what a view of several users shows, so that it is not computed for each of them.
    void store_below(UOp view) {
        std::vector<UOp> views{view};
        while (info(views.back().src(0).op()).is(kMovement)) views.push_back(views.back().src(0));
        UOp value = views.back().src(0);
        if (!can_be_cut(value)) return;
        store(value);
        for (auto it = views.rbegin(); it != views.rend(); ++it) carried_[*it] = combine(*it);
    }

    static bool can_be_cut(UOp u) {
        return !info(u.op()).is(kMovement) && !u.is(Op::constant) && !u.is(Op::iota) && !u.is(Op::buffer);
    }

    /// Weight of the distinct nodes that compute `u` from what is stored; counting stops above `limit`.
    int work(UOp u, int limit) const {
        std::unordered_set<UOp, UOpHash> seen{u};
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
            if (first && second && can_be_cut(u) && !plan_.stored.contains(u) && carried_[u].weight > kShared &&
                work(u, kShared) > kShared)
                store(u);
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
                if (sum.reduction && !same_loops(r, sum.reduction))
                    store(s);
                else
                    sum.reduction = r;
            }
            const Carried& c = carried_[s];
            sum.weight = std::min(sum.weight + c.weight, 1 << 20);
            std::vector<UOp> merged;
            auto less = [](UOp a, UOp b) { return a.node() < b.node(); };
            std::set_union(sum.buffers.begin(), sum.buffers.end(), c.buffers.begin(), c.buffers.end(),
                           std::back_inserter(merged), less);
            if (merged.size() > kKernelBuffers + 1) merged.resize(kKernelBuffers + 1);
            sum.buffers = std::move(merged);
        }
        if (u.is(Op::reduce)) sum.reduction = u;
        return sum;
    }

    /// Ops whose result reads an element of a source more than once, or behind a condition or a computed index.
    static bool repeats_its_sources(UOp u) {
        if (u.is(Op::take) || u.is(Op::pad)) return true;
        return u.is(Op::expand) && u.numel() > u.src(0).numel();
    }

    static bool is_view(UOp u) {
        u = below_views(u);
        return u.is(Op::buffer) || u.is(Op::pick);
    }

    Plan plan_;
    UOpMap<int> users_;
    std::unordered_set<UOp, UOpHash> asked_;
    UOpMap<Carried> carried_;
};

}  // namespace

Plan plan_storage(std::span<const UOp> targets) { return Planner().run(targets); }

}  // namespace strata::codegen
