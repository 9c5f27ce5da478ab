// schedule: tensor graph -> kernels, in order.
//
// Before  any tensor-level graph; some nodes are in memory already (Storage::find).
// After   items whose bodies read buffers only; each body holds reductions of one shape at most, so it is one loop
//         nest, or attention (attention.h); values of the same loops are one item (fuse_siblings.cpp).
#include "strata/codegen/schedule/schedule.h"

#include <algorithm>

#include "strata/codegen/schedule/attention.h"
#include "strata/codegen/schedule/plan_p.h"
#include "strata/codegen/schedule/softmax.h"
#include "strata/core/uop/uop_set.h"
#include "strata/core/uop/verify.h"

namespace strata::codegen {
namespace {

constexpr int64_t kMuchMemory = 1 << 20;  // bytes from which on the order of steps is chosen by what it keeps
constexpr std::string_view kFusions[] = {"cost", "more", "less"};

bool is_leaf(UOp u) { return u.is(Op::buffer) || u.is(Op::iota); }

/// Replaces what is in memory already by views of it.
UOp resolve(UOp root, Storage& storage, UOpMap<UOp>& resolved) {
    std::vector<std::pair<UOp, bool>> stack{{root, false}};
    std::vector<UOp> sources;
    while (!stack.empty()) {
        auto [u, ready] = stack.back();
        stack.pop_back();
        if (resolved.contains(u)) continue;
        if (ready) {
            sources.clear();
            for (UOp s : u.src()) sources.push_back(below_detached(resolved.at(s)));
            resolved[u] = u.with_src(sources);
            continue;
        }
        if (is_leaf(u)) {
            resolved[u] = u;
        } else if (UOp view = storage.find(u)) {
            resolved[u] = view;
        } else {
            stack.emplace_back(u, true);
            for (UOp s : u.src()) stack.emplace_back(s, false);
        }
    }
    return resolved.at(root);
}

class Scheduler {
  public:
    Scheduler(Storage& storage, Fusion fusion) : storage_(storage), policy_{fusion, CostModel(storage.chip())} {}

    Schedule run(std::span<const UOp> roots) {
        UOpMap<UOp> resolved;
        verify_tensors(in_order(roots)).value();
        std::vector<UOp> targets;
        for (UOp root : roots) {
            const UOp target = resolve(root, storage_, resolved), below = below_detached(target);
            targets.push_back(is_stored_view(below) ? target : below);
        }
        targets = separate_attention(split_scans(compute_invariant_once(targets, policy_.costs)));
        targets = widen_bytes(widen_weights(targets, policy_), policy_);
        if (!storage_.serves_other_sizes()) targets = split_keys(targets, policy_, rates_of(storage_.chip()));
        targets = factor_sums(targets, policy_);
        targets = split_reductions(store_layouts(targets, policy_), policy_, storage_.has_product_chains());
        for (UOp& target : targets)
            if (target.is(Op::constant) || target.is(Op::iota)) target = make(Op::contiguous, target.dtype(), {target});
        Plan plan = plan_storage(targets, policy_, storage_.has_product_chains());
        const std::vector<UOp> order = in_order(targets);
        for (UOp u : order) uses_[u] = 0;
        for (UOp u : order)
            for (UOp s : u.src()) ++uses_[s];
        for (UOp target : targets) ++uses_[target];
        for (UOp u : order) lower(u, plan);
        for (UOp target : targets) schedule_.roots.push_back(lowered_.at(target));
        const std::vector<ScheduleItem> late = in_less_memory();
        schedule_.items = in_best_order(fuse_siblings(std::move(schedule_.items), schedule_.roots, policy_));
        if (!late.empty()) {
            std::vector<ScheduleItem> joined = in_best_order(fuse_siblings(late, schedule_.roots, policy_));
            if (joined.size() * 10 <= schedule_.items.size() * 11 && keeps_less(joined, schedule_.items))
                schedule_.items = std::move(joined);
        }
        if (policy_.fusion != Fusion::less) schedule_.items = fuse_log_totals(std::move(schedule_.items));
        if (!storage_.serves_other_sizes())
            schedule_.items = fuse_last_block(std::move(schedule_.items), policy_.fusion);
        return std::move(schedule_);
    }

  private:
    bool keeps_less(std::span<const ScheduleItem> a, std::span<const ScheduleItem> b) const {
        return most_kept(a, schedule_.roots) * 4 <= most_kept(b, schedule_.roots) * 3;
    }

    bool may_reorder(std::span<const ScheduleItem> items) const {
        return most_kept(items, schedule_.roots) >= kMuchMemory;
    }

    /// The same kernels in the order that keeps least memory, of those tried; as they are where memory is no matter.
    std::vector<ScheduleItem> in_best_order(std::vector<ScheduleItem> items) const {
        if (!may_reorder(items)) return items;
        int64_t least = most_kept(items, schedule_.roots);
        std::vector<ScheduleItem> best = items, late = order_for_memory(items, schedule_.roots);
        for (const std::vector<ScheduleItem>& order : {items, late})
            for (std::vector<ScheduleItem> tried : {order, free_early(order, schedule_.roots)})
                if (const int64_t most = most_kept(tried, schedule_.roots); most < least) {
                    best = std::move(tried);
                    least = most;
                }
        return best;
    }

    /// The steps in the order that keeps a quarter less memory; none: there is none, or memory is no matter.
    std::vector<ScheduleItem> in_less_memory() const {
        const std::vector<ScheduleItem>& items = schedule_.items;
        if (!may_reorder(items)) return {};
        std::vector<ScheduleItem> late = order_for_memory(items, schedule_.roots);
        return keeps_less(late, items) ? std::move(late) : std::vector<ScheduleItem>();
    }

    /// `lowered_[u]`: u over buffers; a view of a new buffer when the plan stores u.
    void lower(UOp u, const Plan& plan) {
        std::vector<UOp> sources;
        for (UOp s : u.src()) sources.push_back(lowered_.at(s));
        std::vector<UOp> written;
        if (u.is(Op::custom)) written = protect(u, sources, plan);
        UOp body = u.with_src(sources);
        if (u.is(Op::custom)) {
            schedule_.items.push_back({.output = buffer_under(sources[0]), .body = body, .writes = std::move(written)});
        } else if (u.is(Op::pick)) {
            body = sources[0].src(static_cast<size_t>(u.as<IndexArg>().index));
        } else if (plan.stored.contains(u) && !is_stored_view(body)) {
            body = store(body, plan.stored.at(u));
        } else if (u.is(Op::contiguous)) {
            body = sources[0];
        }
        lowered_[u] = body;
    }

    /// Copies what a user's kernel writes and others see, so that it writes to memory of its own. Gives the buffers
    /// that it writes, the one of source 0 among them.
    std::vector<UOp> protect(UOp custom, std::vector<UOp>& sources, const Plan& plan) {
        const std::vector<bool> written = storage_.written(custom);
        const std::vector<size_t> tensors = storage_.tensors(custom);
        std::vector<UOp> copies(sources.size());  // by tensor
        for (size_t i = 0; i < sources.size(); ++i) {
            if (!written[i]) continue;
            const bool unset = storage_.is_unset(sources[i]);
            if (!unset && is_alone(custom.src(i), sources[i], plan)) continue;
            UOp& copy = copies[tensors[i]];
            if (!copy) copy = unset ? new_view(sources[i]) : store(sources[i], Reason::custom);
            sources[i] = copy;
        }
        std::vector<UOp> buffers;
        for (size_t i = 0; i < sources.size(); ++i)
            if (const UOp to = buffer_under(sources[i]);
                (written[i] || i == 0) && std::ranges::find(buffers, to) == buffers.end())
                buffers.push_back(to);
        return buffers;
    }

    /// True if a source of one custom node is the only use of the memory that it was lowered to.
    bool is_alone(UOp source, UOp lowered, const Plan& plan) {
        if (!made_.contains(buffer_under(lowered))) return is_stored_view(source) && storage_.is_alone(lowered);
        while (uses_.at(source) == 1) {
            if (plan.stored.contains(source)) return true;
            if (source.is(Op::pick)) return storage_.is_dropped(source);
            if (!source.is(Op::reshape)) return false;
            source = source.src(0);
        }
        return false;
    }

    UOp store(UOp body, Reason why) {
        UOp value = body.is(Op::contiguous) ? body.src(0) : body;
        UOp view = new_view(body);
        if (body.numel() > 0) schedule_.items.push_back({view.src(0), value, why});
        return view;
    }

    UOp new_view(UOp like) {
        UOp buffer = storage_.new_buffer(like.dtype(), like.numel());
        made_.insert(buffer);
        return make(Op::reshape, like.dtype(), {buffer}, ShapeArg{like.shape()});
    }

    Storage& storage_;
    const Policy policy_;
    Schedule schedule_;
    UOpMap<UOp> lowered_;
    UOpMap<int> uses_;  ///< of each node by others, and as what was asked for
    UOpSet made_;       ///< buffers
};

}  // namespace

std::vector<UOp> in_order(std::span<const UOp> roots) {
    std::vector<UOp> order;
    UOpSet done;
    std::vector<std::pair<UOp, size_t>> stack;
    for (UOp root : roots) {
        stack.emplace_back(root, 0);
        while (!stack.empty()) {
            auto& [u, next] = stack.back();
            if (next == 0 && done.contains(u)) {
                stack.pop_back();
            } else if (next < u.src().size()) {
                stack.emplace_back(u.src()[next++], 0);
            } else {
                if (done.insert(u).second) order.push_back(u);
                stack.pop_back();
            }
        }
    }
    return order;
}

std::vector<size_t> first_places(std::span<const UOp> nodes) {
    std::vector<size_t> out;
    for (UOp u : nodes) out.push_back(static_cast<size_t>(std::ranges::find(nodes, u) - nodes.begin()));
    return out;
}

bool is_stored_view(UOp u) {
    while (u.is(Op::reshape) || u.is(Op::contiguous)) u = u.src(0);
    return u.is(Op::buffer);
}

std::vector<UOp> ScheduleItem::outputs() const {
    if (!writes.empty()) return writes;
    std::vector<UOp> all{output};
    for (const ScheduleItem& other : beside) all.push_back(other.output);
    for (const ScheduleItem& last : finish) std::ranges::copy(last.outputs(), std::back_inserter(all));
    return all;
}

std::vector<UOp> ScheduleItem::bodies() const {
    std::vector<UOp> all{body};
    for (const ScheduleItem& other : beside) all.push_back(other.body);
    for (const ScheduleItem& last : finish) std::ranges::copy(last.bodies(), std::back_inserter(all));
    return all;
}

std::string_view to_string(Reason reason) {
    constexpr std::string_view kTexts[] = {
#define REASON(name, text) text,
#include "strata/codegen/schedule/reasons.def"
    };
    return kTexts[static_cast<size_t>(reason)];
}

std::string_view to_string(Fusion fusion) { return kFusions[static_cast<size_t>(fusion)]; }

std::optional<Fusion> parse_fusion(std::string_view name) {
    const auto at = std::ranges::find(kFusions, name);
    if (at == std::end(kFusions)) return std::nullopt;
    return static_cast<Fusion>(at - std::begin(kFusions));
}

Schedule make_schedule(std::span<const UOp> roots, Storage& storage, Fusion fusion) {
    return Scheduler(storage, fusion).run(roots);
}

}  // namespace strata::codegen
