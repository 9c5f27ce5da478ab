#include "strata/core/rewrite/rewrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "strata/core/support/settings.h"
#include "strata/core/uop/places.h"
#include "strata/core/uop/uop_map.h"

namespace strata {
namespace {

constexpr int64_t kBaseSteps = 20'000, kStepsANode = 64;
constexpr size_t kRecent = 64;  // rules remembered to name the cycle

class Rewriter {
  public:
    Rewriter(UOp root, const RuleSet& rules, void* context, const RewriteOptions& options)
        : root_(root), rules_(rules), context_(context), options_(options), budget_(options.max_steps) {}

    UOp run() {
        push(root_);
        while (!stack_.empty()) step();
        return done_.at(root_);
    }

  private:
    // A frame rewrites `node`: its sources, then itself; once a rule fired or its sources changed, it waits for
    // `awaited`.
    struct Frame {
        UOp node;
        UOp awaited;
        const Rule* fired;
        uint32_t next_source;
        bool tried;  // top-down: have the rules seen the node before its sources were visited
    };

    void push(UOp u) {
        const bool settled = is_settled(u);
        done_[u] = settled ? u : UOp();
        if (!settled) enter(u);
    }
    bool is_settled(UOp u) const { return options_.settled && options_.settled->is(u); }
    void enter(UOp u) { stack_.push_back({u, {}, nullptr, 0, false}); }

    void finish(UOp result) {
        done_.at(stack_.back().node) = result;
        stack_.pop_back();
    }

    /// The frame's result is that of `u`, rewritten in its turn.
    void await(UOp u, const Rule* fired) {
        stack_.back().fired = fired;
        if (const auto known = done_.find(u); known != done_.end()) {
            const UOp result = known->second;
            if (!result) endless(cycle_to(u));
            return finish(result);
        }
        stack_.back().awaited = u;
        push(u);
    }

    void step() {
        Frame& f = stack_.back();
        if (f.awaited) return finish(done_.at(f.awaited));
        if (options_.order == Order::top_down && !std::exchange(f.tried, true) && fire(f.node)) return;
        std::span<const UOp> sources = f.node.src();
        while (f.next_source < sources.size()) {
            UOp s = sources[f.next_source];
            const auto [known, is_new] = done_.try_emplace(s);  // empty: in progress
            if (is_new && !is_settled(s)) return enter(s);
            if (is_new) known->second = s;
            if (!known->second) endless(cycle_to(s));
            f.next_source++;
        }
        UOp node = f.node;
        UOp rebuilt = with_new_sources(node);
        if (rebuilt != node) {
            // The sources are final, so the rebuilt node is either known or only waits for rules of its own.
            return await(rebuilt, nullptr);
        }
        if (options_.order == Order::bottom_up && fire(node)) return;
        if (options_.settled) options_.settled->note(node);
        finish(node);
    }

    bool fire(UOp node) {
        const AtPlaceOf place(node);
        RuleSet::Applied applied = rules_.apply(node, context_);
        if (!applied.rule) return false;
        if (options_.trace) options_.trace->steps.push_back({applied.rule, node, applied.result});
        count(applied.rule);
        await(applied.result, applied.rule);
        return true;
    }

    UOp with_new_sources(UOp u) {
        bool changed = false;
        scratch_.clear();
        for (UOp s : u.src()) {
            scratch_.push_back(done_.at(s));
            changed |= scratch_.back() != s;
        }
        return changed ? u.with_src(scratch_) : u;
    }

    void count(const Rule* rule) {
        recent_[static_cast<size_t>(steps_++) % kRecent] = rule;
        if (steps_ <= (budget_ ? budget_ : kBaseSteps)) return;
        if (budget_ == 0) budget_ = kBaseSteps + kStepsANode * static_cast<int64_t>(toposort(root_).size());
        if (steps_ > budget_) endless(repeating_tail());
    }

    /// The rules that led from `u`, which is in progress, back to it.
    std::vector<const Rule*> cycle_to(UOp u) const {
        std::vector<const Rule*> cycle;
        size_t from = stack_.size();
        while (from > 0 && stack_[from - 1].node != u) from--;
        for (size_t i = from ? from - 1 : 0; i < stack_.size(); ++i)
            if (stack_[i].fired) cycle.push_back(stack_[i].fired);
        return cycle;
    }

    /// The shortest sequence of rules that the last steps repeat; when there is none, each of the recent ones once.
    std::vector<const Rule*> repeating_tail() const {
        size_t held = std::min(kRecent, static_cast<size_t>(steps_));
        auto back = [&](size_t i) { return recent_[(static_cast<size_t>(steps_) - 1 - i) % kRecent]; };
        size_t period = 1;
        for (; period <= held / 2; ++period) {
            bool repeats = true;
            for (size_t i = 0; i + period < held && repeats; ++i) repeats = back(i) == back(i + period);
            if (repeats) break;
        }
        std::vector<const Rule*> cycle;
        bool periodic = period <= held / 2;
        for (size_t i = periodic ? period : held; i-- > 0;)
            if (periodic || std::find(cycle.begin(), cycle.end(), back(i)) == cycle.end()) cycle.push_back(back(i));
        return cycle;
    }

    [[noreturn]] void endless(const std::vector<const Rule*>& cycle) const {
        std::string names;
        for (const Rule* r : cycle) names += (names.empty() ? "" : " -> ") + location(*r);
        UOp at = stack_.empty() ? root_ : stack_.back().node;
        throw Exception(make_error(ErrorKind::Internal,
                                   "endless rewrite after {} steps; the cycle of rules is {}; at {}\n{}", steps_, names,
                                   to_string(at), tree(at)));
    }

    UOp root_;
    const RuleSet& rules_;
    void* context_;
    const RewriteOptions& options_;
    UOpMap<UOp> done_;  ///< empty: in progress
    std::vector<Frame> stack_;
    std::vector<UOp> scratch_;
    int64_t steps_ = 0, budget_;
    std::array<const Rule*, kRecent> recent_{};
};

}  // namespace

std::string Trace::text() const {
    std::string out;
    for (const Step& s : steps)
        out += fmt::format("{:<24} {}  ->  {}\n", location(*s.rule), to_string(s.before), to_string(s.after));
    return out;
}

UOp rewrite(UOp root, const RuleSet& rules, void* context, const RewriteOptions& options) {
    if (options.trace || settings().debug < 6) return Rewriter(root, rules, context, options).run();
    Trace trace;
    RewriteOptions traced = options;
    traced.trace = &trace;
    traced.settled = nullptr;
    UOp out = Rewriter(root, rules, context, traced).run();
    fmt::print(stderr, "{}", trace.text());
    return out;
}

}  // namespace strata
