// Gradients that people write, and checkpoints: recomputation of a value for its gradient.
#include "strata/ops/gradient_rules.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "strata/core/support/mutex.h"
#include "strata/core/uop/uop_set.h"
#include "strata/core/uop/walk.h"
#include "strata/ops/build_p.h"
#include "strata/ops/gradients.h"
#include "strata/runtime/realize.h"

namespace strata::ops {
namespace {

bool may_have_rule(UOp node) { return node.is(Op::detach) || node.is(Op::pick); }

/// The rules of nodes that live. Rules hold what people wrote, which is let go after a collection, not within it.
class Rules {
  public:
    std::shared_ptr<const GradientRule> find(UOp node) {
        std::lock_guard lock(mutex_);
        const auto found = all_.find(node);
        return found == all_.end() ? nullptr : found->second;
    }
    bool none() {
        std::lock_guard lock(mutex_);
        return all_.empty();
    }
    void add(UOp node, GradientRule rule) {
        auto kept = std::make_shared<const GradientRule>(std::move(rule));
        std::lock_guard lock(mutex_);
        all_.emplace(node, std::move(kept));
    }
    /// Drops the rules of nodes that were freed; true if there were any.
    bool let_go() {
        std::vector<std::shared_ptr<const GradientRule>> gone;  // let go outside the lock
        {
            std::lock_guard lock(mutex_);
            gone.swap(gone_);
        }
        return !gone.empty();
    }
    void forget(UOp node) {
        if (!may_have_rule(node)) return;
        std::lock_guard lock(mutex_);
        const auto found = all_.find(node);
        if (found == all_.end()) return;
        gone_.push_back(std::move(found->second));
        all_.erase(found);
    }

  private:
    Mutex mutex_;
    std::unordered_map<UOp, std::shared_ptr<const GradientRule>, UOpHash> all_;
    std::vector<std::shared_ptr<const GradientRule>> gone_;
};

Rules& rules() {
    static auto* all = new Rules;
    return *all;
}

/// True if the graph of a value that a kernel leaves has it among what the kernel was given.
bool is_given(UOp value, UOp input) {
    while (value.is(Op::bitcast) || value.is(Op::detach)) value = value.src(0);
    if (!value.is(Op::pick)) return false;
    const std::span<const UOp> given = value.src(0).src();
    return std::ranges::find(given, input) != given.end();
}

bool is_same(const GradientRule& a, const GradientRule& b) {
    return !a.kind.empty() && a.kind == b.kind && a.device == b.device &&
           std::ranges::equal(a.inputs, b.inputs, {}, &RuleInput::get, &RuleInput::get);
}

}  // namespace

Tensor with_rule(const Tensor& value, GradientRule rule) {
    if (!value.dtype().is_float()) return value;
    static const bool registered = (runtime::on_forget([](UOp node) { rules().forget(node); }),
                                    runtime::on_collected([] { return rules().let_go(); }), true);
    STRATA_CHECK(registered, "rules do not see freed nodes");
    GraphScope scope;
    rule.device = value.placement();
    const bool alone = value.value().is(Op::pick);  // a node that no other value has
    Tensor marked = alone ? value : detach(detach(detach(value.is_uniform() ? held(value) : value)));
    bool has_it = false;
    while (const auto there = rules().find(marked.uop())) {
        if ((has_it = is_same(*there, rule))) break;
        marked = detach(marked);
    }
    if (!has_it) rules().add(marked.value(), std::move(rule));
    return marked;
}

Tensor held(const Tensor& x) { return Tensor(x.uop(), x.placement()); }

Tensor with_backward(const Tensor& value, std::string_view kind, std::initializer_list<Tensor> inputs,
                     std::function<std::vector<Tensor>(const Tensor&)> backward) {
    if (NoGrad::now()) return value;
    GradientRule rule{.backward = std::move(backward), .kind = kind};
    for (const Tensor& x : inputs) {
        const UOp node = x.uop();
        rule.inputs.push_back(is_given(value.value(), node) ? RuleInput::of_graph(node) : RuleInput(node));
    }
    return with_rule(value, std::move(rule));
}

Tensor without_derivative(const Tensor& value, std::vector<Tensor> inputs) {
    std::erase_if(inputs, [](const Tensor& x) { return !x.dtype().is_float() || !wants_gradient(x); });
    if (NoGrad::now() || inputs.empty()) return value;
    GraphScope scope;
    GradientRule rule{.kind = "without derivative"};
    rule.inputs.emplace_back(value.uop());
    for (Tensor& x : inputs) {
        rule.inputs.emplace_back(x.uop());
        x = held(x);
    }
    rule.backward = [inputs = std::move(inputs)](const Tensor& g) {
        std::vector<Tensor> out{g};
        for (const Tensor& x : inputs) out.push_back(like(x, 0));
        return out;
    };
    return with_rule(value, std::move(rule));
}

Tensor recomputed(const Tensor& x) {
    GradientRule rule{.backward = [](const Tensor& g) { return std::vector<Tensor>{g}; }, .kind = "recomputed"};
    rule.inputs.push_back(x.is_uniform() ? RuleInput(x.uop()) : RuleInput::of_graph(x.uop()));
    return with_rule(recompute(x), std::move(rule));
}

std::shared_ptr<const GradientRule> rule_of(UOp node) { return may_have_rule(node) ? rules().find(node) : nullptr; }

std::vector<UOp> in_order_of_gradients(std::span<const UOp> roots) {
    if (rules().none() && roots.size() == 1) return toposort(roots[0]);
    std::vector<UOp> order;
    std::vector<std::pair<UOp, bool>> stack;
    for (UOp root : roots) stack.emplace_back(root, false);
    UOpSet seen;
    while (!stack.empty()) {
        const auto [u, is_done] = stack.back();
        stack.pop_back();
        if (is_done) {
            order.push_back(u);
            continue;
        }
        if (!seen.insert(u).second) continue;
        stack.emplace_back(u, true);
        for (UOp s : u.src()) stack.emplace_back(s, false);
        const auto rule = rule_of(u);
        if (!rule) continue;
        for (const RuleInput& input : rule->inputs) stack.emplace_back(input.get(), false);
        if (rule->first.get()) stack.emplace_back(rule->first.get(), false);
    }
    return order;
}

UOp substitute_with_rules(UOp root, const UOpMap<UOp>& replacements,
                          const std::function<Tensor(const Tensor&)>& remade) {
    if (rules().none()) return substitute(root, replacements);
    UOpMap<UOp> made;
    return rebuild(in_order_of_gradients(root), made, [&](UOp u, std::span<const UOp> sources) {
        if (const auto found = replacements.find(u); found != replacements.end()) return found->second;
        const UOp now = u.with_src(sources);
        const auto rule = rule_of(u);
        if (!rule || rule_of(now)) return now;
        GradientRule next{.kind = rule->kind};
        if (rule->first.get()) next.first = Root(made.at(rule->first.get()));
        for (const RuleInput& input : rule->inputs) {
            const UOp there = made.at(input.get());
            next.inputs.push_back(input.is_of_graph() ? RuleInput::of_graph(there) : RuleInput(there));
        }
        if (rule->backward)
            next.backward = [rule, remade](const Tensor& g) {
                std::vector<Tensor> arrived = rule->backward(g);
                for (Tensor& one : arrived) one = remade(one);
                return arrived;
            };
        if (rule->again)
            next.again = [rule, remade] {
                GradientRule::Again again = rule->again();
                again.value = remade(again.value);
                for (Tensor& input : again.inputs) input = remade(input);
                return again;
            };
        rules().add(now, std::move(next));
        return now;
    });
}

}  // namespace strata::ops
