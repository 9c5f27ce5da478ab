#pragma once
#include <functional>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <vector>

#include "strata/core/uop/uop_map.h"
#include "strata/ops/tensor.h"

namespace strata::ops {

/// A source of a value with a rule. A rule keeps it alive, but for what the value's own graph does: who overwrites that
/// memory asks whether anything else has it.
class RuleInput {
  public:
    explicit RuleInput(UOp held) : node_(held), held_(held) {}
    static RuleInput of_graph(UOp node) {
        RuleInput out;
        out.node_ = node;
        return out;
    }
    UOp get() const { return node_; }
    bool is_of_graph() const { return !held_.get(); }

  private:
    RuleInput() = default;
    UOp node_;
    Root held_;
};

/// How a gradient goes past a value that says it itself: not by the operations that it was made with.
struct GradientRule {
    std::vector<RuleInput> inputs = {};
    /// The gradient of each input by that of the value; empty: none.
    std::function<std::vector<Tensor>(const Tensor& g)> backward = {};
    /// Instead: the value made once more, of tensors in the inputs' places, which are given too. Gradients go by its
    /// operations, to what else it was made of as well.
    struct Again {
        Tensor value;
        std::vector<Tensor> inputs;
    };
    std::function<Again()> again = {};
    Root first = {};  ///< with `again`: the first value made of the inputs
    /// Not empty: rules of one kind for one value of one list of inputs on one device are the same. with_rule then
    /// returns the value that has the rule already.
    std::string_view kind = {};
    const runtime::Device* device = nullptr;  ///< the value's: nodes that read no memory are the same on all of them
};

/// The same value, past which gradients go by the rule. Costs nothing. Of integers the value itself.
Tensor with_rule(const Tensor& value, GradientRule rule);
/// As with_rule, for a value of these tensors, if gradients may go past it at all.
Tensor with_backward(const Tensor& value, std::string_view kind, std::initializer_list<Tensor> inputs,
                     std::function<std::vector<Tensor>(const Tensor& g)> backward);
/// The value, which has no elements of the inputs. Inputs that want a gradient get zeros, and nothing arrives at the
/// nodes that the value was made of.
Tensor without_derivative(const Tensor& value, std::vector<Tensor> inputs);
/// As recompute, and gradients go on to x: those of what is computed again have derivatives too.
Tensor recomputed(const Tensor& x);
/// x's value, which rules hold: not the leaf, which holds its gradient, which may hold the rule.
Tensor held(const Tensor& x);
/// As substitute, and what had a rule has it still: `remade` says what becomes of a tensor that the rule makes.
UOp substitute_with_rules(UOp root, const UOpMap<UOp>& replacements,
                          const std::function<Tensor(const Tensor&)>& remade);
/// None: it has no rule of its own.
std::shared_ptr<const GradientRule> rule_of(UOp node);
/// Sources before users, and what rules lead to before what has them.
std::vector<UOp> in_order_of_gradients(std::span<const UOp> roots);
inline std::vector<UOp> in_order_of_gradients(UOp root) { return in_order_of_gradients({&root, 1}); }

}  // namespace strata::ops
