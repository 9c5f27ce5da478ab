#include "strata/ops/gradients.h"

#include <algorithm>
#include <numbers>
#include <unordered_map>

#include "strata/core/uop/uop_set.h"
#include "strata/core/uop/walk.h"
#include "strata/ops/autograd/gradients_p.h"
#include "strata/ops/build_p.h"
#include "strata/ops/capture.h"
#include "strata/ops/complex_p.h"
#include "strata/ops/gradient_rules.h"
#include "strata/ops/leaf_p.h"
#include "strata/ops/special_p.h"
#include "strata/ops/tracing.h"
#include "strata/runtime/custom.h"

namespace strata::ops {

constinit thread_local bool NoGrad::now_ = false;

namespace {

constexpr double kLn2 = std::numbers::ln2, k2OverRootPi = 2 * std::numbers::inv_sqrtpi;

/// A node in whose value a gradient arrived.
struct Step {
    Tensor g, y;
    Tensor a, b, c;  ///< operands, all of y's shape; empty from their number on
};

/// g where x is the one that max or min chose, half of it where both are equal; nothing then where x met a number.
Tensor share(const Tensor& g, const Tensor& chosen, const Tensor& x, const Tensor& other) {
    Tensor equal = other.value().is_const() ? like(g, 0) : where(eq(x, other), g * 0.5, 0);
    return where(chosen, g, equal);
}

/// 0 for a power of 0, of the base 0 too: no infinity is multiplied by it.
Tensor power_base(const Tensor& g, const Tensor& base, const Tensor& exponent) {
    Tensor nothing = bitwise_and(eq(exponent, 0), eq(base, 0));
    return g * exponent * pow(base, where(nothing, 1, exponent) - 1);
}
/// 0 for the base 0, near which the power is 0 for all exponents.
Tensor power_exponent(const Tensor& g, const Tensor& base, const Tensor& exponent) {
    Tensor known = where(eq(base, 0), 1, base);
    return g * pow(known, exponent) * known.log();
}

using Rule = Tensor (*)(const Step&);
struct Row {
    Op op;
    Rule to[3];
};
#define RULE(expression)                                     \
    [](const Step& step) -> Tensor {                         \
        [[maybe_unused]] const auto& [g, y, a, b, c] = step; \
        [[maybe_unused]] const Tensor none;                  \
        return expression;                                   \
    }
#define GRADIENT(op, to_a, to_b, to_c) Row{Op::op, {RULE(to_a), RULE(to_b), RULE(to_c)}},
constexpr Row kRows[] = {
#include "strata/ops/autograd/gradients.def"
};
#undef GRADIENT
#undef RULE

const Row* row_of(Op op) {
    const auto* row = std::ranges::find(kRows, op, &Row::op);
    return row == std::end(kRows) ? nullptr : row;
}

Tensor expanded(const Tensor& x, const Tensor& to) { return expand_to(x, to.shape()); }

Tensor to_reduced(const Tensor& g, const Tensor& y, const Tensor& x, const ReduceArg& arg) {
    if (arg.op == Op::add) return expanded(g, x);
    if (arg.op == Op::mul) return to_factors(expanded(g, x), x, arg.axes);
    return to_extreme(g, y, x, arg);
}

std::vector<int> inverse(const std::vector<int>& order) {
    std::vector<int> out(order.size());
    for (size_t i = 0; i < order.size(); ++i) out[static_cast<size_t>(order[i])] = static_cast<int>(i);
    return out;
}

Pairs cut(const Pairs& padding, const Shape& inside) {
    Pairs out;
    for (size_t i = 0; i < inside.size(); ++i) out.emplace_back(padding[i].first, padding[i].first + inside[i]);
    return out;
}
Pairs around(const Pairs& bounds, const Shape& outside) {
    Pairs out;
    for (size_t i = 0; i < outside.size(); ++i) out.emplace_back(bounds[i].first, outside[i] - bounds[i].second);
    return out;
}

using Nodes = UOpSet;

bool gets_there(UOp u, const Nodes& known) {
    const auto is_known = [&](UOp s) { return known.contains(s); };
    if (const auto rule = rule_of(u))
        return is_known(rule->first.get()) || std::ranges::any_of(rule->inputs, is_known, &RuleInput::get);
    if (u.is(Op::detach) || u.is(Op::recompute)) return false;
    return std::ranges::any_of(u.src(), is_known) || (u.is(Op::pick) && std::ranges::any_of(u.src(0).src(), is_known));
}

/// The nodes of a graph, sources first, through which gradients reach some of `wanted`: those too.
Nodes on_the_way(const std::vector<UOp>& order, const Nodes& wanted) {
    Nodes out;
    for (UOp u : order)
        if (u.dtype().is_float() && (wanted.contains(u) || gets_there(u, out))) out.insert(u);
    return out;
}

/// The gradients of the nodes of one graph, from its end to its start.
class Reverse {
  public:
    Reverse(const Tensor& y, Nodes wanted)
        : device_(y.placement()),
          order_(in_order_of_gradients(y.value())),
          wanted_(std::move(wanted)),
          carries_(on_the_way(order_, wanted_)) {}

    void run(const Tensor& y, const Tensor& seed) {
        if (!carries_.contains(y.value())) return;
        arrived_.emplace(y.value(), fitted(seed, y.value()));
        for (size_t i = order_.size(); i-- > 0;) {
            UOp u = order_[i];
            auto at = arrived_.find(u);
            if (at == arrived_.end() || wanted_.contains(u)) continue;
            pass_on(u, at->second);
            arrived_.erase(u);
        }
    }

    /// Empty: nothing.
    Tensor at(UOp wanted) const {
        auto found = arrived_.find(wanted);
        return found == arrived_.end() ? Tensor() : found->second;
    }

  private:
    Tensor tensor(UOp u) const { return Tensor(u, device_); }
    /// A source of an elementwise node; one of shape () is a number everywhere.
    Tensor operand(UOp source, const Shape& shape) const {
        bool everywhere = source.shape().empty() && !shape.empty();
        return everywhere ? Tensor::uniform(source, shape, device_) : tensor(source);
    }
    static Tensor fitted(const Tensor& g, UOp u) { return folded_to(g, u.shape()); }

    void add(UOp source, const Tensor& g) {
        if (!g || !carries_.contains(source)) return;
        Tensor part = fitted(g, source);
        auto [at, first] = arrived_.try_emplace(source, part);
        if (!first) at->second = at->second + part;
    }

    void pass_on(UOp u, const Tensor& g) {
        if (const auto rule = rule_of(u)) return rule->again ? pass_on_again(*rule, g) : pass_on_by_rule(*rule, g);
        if (const Row* row = row_of(u.op())) return pass_on_elementwise(u, g, *row);
        UOp source = u.src().empty() ? u : u.src(0);
        switch (u.op()) {
            case Op::contiguous: return add(source, g);
            case Op::reshape: return add(source, g.reshape(source.shape()));
            case Op::permute: return add(source, g.permute(inverse(u.as<AxesArg>().axes)));
            case Op::expand: return add(source, folded_to(g, source.shape()));
            case Op::pad: return add(source, g.shrink(cut(u.as<BoundsArg>().bounds, source.shape())));
            case Op::shrink: return add(source, g.pad(around(u.as<BoundsArg>().bounds, source.shape())));
            case Op::flip: return add(source, g.flip(u.as<AxesArg>().axes));
            case Op::reduce: return add(source, to_reduced(g, tensor(u), tensor(source), u.as<ReduceArg>()));
            case Op::scan: return add(source, to_scanned(g, tensor(u), tensor(source), u.as<ReduceArg>()));
            case Op::take: return add(source, to_taken(g, tensor(source), tensor(u.src(1)), u.as<TakeArg>().axis));
            case Op::pick:
                user_error(ErrorKind::Unsupported,
                           "[gradients] kernel '{}' has no gradient: give one by custom_kernel(grad=...), or detach() "
                           "its result",
                           runtime::find_custom(source.as<CustomArg>().id)->kernel->name);
            default:
                user_error(ErrorKind::Unsupported, "[gradients] {} has no gradient: detach() stops there",
                           info(u.op()).name);
        }
    }

    void pass_on_by_rule(const GradientRule& rule, const Tensor& g) {
        const std::vector<Tensor> parts = rule.backward(g);
        if (parts.size() != rule.inputs.size())
            user_error(ErrorKind::Usage, "[gradients] a gradient of one's own gives {} tensors for {} inputs",
                       parts.size(), rule.inputs.size());
        for (size_t i = 0; i < parts.size(); ++i) {
            UOp input = rule.inputs[i].get();
            if (!parts[i]) continue;
            if (parts[i].shape() != input.shape() || !parts[i].dtype().is_float())
                user_error(ErrorKind::Shape, "[gradients] a gradient of one's own is {} {} for an input that is {} {}",
                           parts[i].dtype().name(), to_string(parts[i].shape()), input.dtype().name(),
                           to_string(input.shape()));
            add(input, parts[i].cast(input.dtype()));
        }
    }

    void pass_on_again(const GradientRule& rule, const Tensor& g) {
        const GradientRule::Again again = rule.again();
        Nodes wanted = wanted_;
        for (const Tensor& x : again.inputs) wanted.insert(x.value());
        Reverse inner(again.value, std::move(wanted));
        inner.run(again.value, g);
        for (UOp w : wanted_) add(w, inner.at(w));
        for (size_t i = 0; i < again.inputs.size(); ++i) add(rule.inputs[i].get(), inner.at(again.inputs[i].value()));
    }

    void pass_on_elementwise(UOp u, const Tensor& g, const Row& row) {
        // Rules of dear operations are made of several: of narrow floats they are computed as float32 and rounded once.
        constexpr int kDear = 8;
        const bool wide = info(u.op()).cost >= kDear && u.dtype().is_float() && u.dtype().bits() < 32;
        Step step{wide ? widened(g) : g, tensor(u), {}, {}, {}};
        Tensor* operands[] = {&step.a, &step.b, &step.c};
        for (size_t i = 0; i < u.src().size(); ++i) {
            *operands[i] = operand(u.src(i), u.shape());
            if (wide) *operands[i] = widened(*operands[i]);
        }
        if (wide) step.y = u.src().size() == 1 ? op(u.op(), step.a) : op(u.op(), step.a, step.b);
        for (size_t i = 0; i < u.src().size(); ++i)
            if (carries_.contains(u.src(i)))
                if (const Tensor to = row.to[i](step)) add(u.src(i), to.cast(u.src(i).dtype()));
    }

    const runtime::Device* device_;
    std::vector<UOp> order_;
    Nodes wanted_, carries_;
    std::unordered_map<UOp, Tensor, UOpHash> arrived_;
};

Reverse accumulated(const Tensor& y, const Tensor& seed, Nodes wanted) {
    Reverse reverse(y, std::move(wanted));
    reverse.run(y, seed ? seed.cast(y.dtype()) : like(y, 1));
    return reverse;
}

void check(std::string_view name, std::string_view what, const Tensor& x) {
    if (!x.dtype().is_float())
        user_error(ErrorKind::DType, "[{}] {} is {}: only floats have gradients, cast first", name, what,
                   x.dtype().name());
}

void check(std::string_view name, const Tensor& y, const Tensor& seed) {
    check(name, "the result", y.real());
    if (y.is_complex() && !seed)
        user_error(ErrorKind::Usage, "[{}] of a complex result: give a gradient of its shape, or make it real", name);
    if (seed && seed.shape() != y.shape())
        user_error(ErrorKind::Shape, "[{}] a seed of shape {} for a result of shape {}", name, to_string(seed.shape()),
                   to_string(y.shape()));
}

Nodes nodes_of(const std::vector<std::shared_ptr<Leaf>>& all) {
    Nodes out;
    for (const std::shared_ptr<Leaf>& leaf : all) out.insert(leaf->node.get());
    return out;
}

/// A real tensor that changes by seed as y does: the sum over both parts.
Tensor weighted(const Tensor& y, const Tensor& seed) {
    Tensor by = seed.cast(y.dtype());
    return y.real() * by.real() + y.imag() * by.imag();
}

/// The gradient of x from those of its parts; empty where there is none.
Tensor joined(const Tensor& x, const Tensor& re, const Tensor& im) {
    if (!re && !im) return {};
    return Tensor::of_parts(re ? re : like(x.real(), 0), im ? im : like(x.imag(), 0));
}

}  // namespace

Tensor folded_to(const Tensor& g, const Shape& shape) {
    if (g.shape() == shape) return g;
    std::vector<int> repeated;
    const size_t added = g.shape().size() - shape.size();
    for (size_t i = 0; i < g.shape().size(); ++i)
        if (i < added || g.shape()[i] != shape[i - added]) repeated.push_back(static_cast<int>(i));
    return widened(g).sum(repeated, true).cast(g.dtype()).reshape(shape);
}

std::vector<bool> reach_leaves(std::span<const UOp> roots) {
    std::vector<bool> out(roots.size());
    const std::vector<std::shared_ptr<Leaf>> all = living_leaves();
    if (all.empty() || roots.empty()) return out;
    const Nodes way = on_the_way(in_order_of_gradients(roots), nodes_of(all));
    for (size_t i = 0; i < roots.size(); ++i) out[i] = way.contains(roots[i]);
    return out;
}

bool wants_gradient(const Tensor& x) {
    return x.is_complex() ? wants_gradient(x.real()) || wants_gradient(x.imag()) : reaches_leaf(x.value());
}

std::vector<Tensor> gradients(const Tensor& y, const std::vector<Tensor>& xs, const Tensor& seed) {
    const NoGrad with_history(false);
    check("gradients", y, seed);
    if (y.is_complex()) return gradients(weighted(y, seed), xs);
    if (std::ranges::any_of(xs, &Tensor::is_complex)) {
        std::vector<Tensor> parts, out;
        for (const Tensor& x : xs) parts.insert(parts.end(), {x.real(), x.is_complex() ? x.imag() : x});
        std::vector<Tensor> arrived = gradients(y, parts, seed);
        for (size_t i = 0; i < xs.size(); ++i)
            out.push_back(xs[i].is_complex() ? joined(xs[i], arrived[2 * i], arrived[2 * i + 1]) : arrived[2 * i]);
        return out;
    }
    Nodes wanted;
    for (const Tensor& x : xs) {
        check("gradients", "what it is differentiated by", x);
        UOp source = source_of_gradient(x.uop());
        if (!source)
            user_error(ErrorKind::Usage,
                       "[gradients] by a view, which operations see through: differentiate by what it "
                       "is a view of, or make y of x.contiguous()");
        wanted.insert(source);
    }
    Reverse reverse = accumulated(y, seed, std::move(wanted));
    std::vector<Tensor> out;
    for (const Tensor& x : xs) {
        Tensor arrived = reverse.at(source_of_gradient(x.uop()));
        out.push_back(arrived ? arrived.reshape(x.shape()) : arrived);
    }
    return out;
}

static Tensor marked(Op op, const Tensor& x) {
    GraphScope scope;
    const UOp value = make(op, x.dtype(), {x.value()});
    return x.is_uniform() ? Tensor::uniform(value, x.shape(), x.placement()) : Tensor(value, x.placement());
}

Tensor detach(const Tensor& x) {
    if (x.is_complex()) return each_part(x, detach);
    return x.dtype().is_float() ? marked(Op::detach, x) : x;  // the stop gradient
}

Tensor recompute(const Tensor& x) { return marked(Op::recompute, x); }

Tensor stand_in(const Tensor& x) {
    if (x.is_complex()) return each_part(Tensor(x).realize(), stand_in);
    check("grad", "an argument", x);
    const NoGrad with_history(false);
    Tensor out = detach(detach(Tensor(x).realize()));
    out.requires_grad_();
    return out;
}

Tensor replaced(const Tensor& t, const std::vector<Tensor>& stand_ins, const std::vector<Tensor>& originals) {
    const NoGrad with_history(false);
    GraphScope scope;
    if (stand_ins.size() != originals.size())
        user_error(ErrorKind::Usage, "[replaced] {} tensors by {}", stand_ins.size(), originals.size());
    if (t.is_complex()) return each_part(t, [&](const Tensor& part) { return replaced(part, stand_ins, originals); });
    UOpMap<UOp> by;
    for (size_t i = 0; i < stand_ins.size(); ++i) {
        by.emplace(stand_ins[i].real().value(), originals[i].real().uop());
        if (stand_ins[i].is_complex()) by.emplace(stand_ins[i].imag().value(), originals[i].imag().uop());
    }
    const UOp root = substitute_with_rules(t.value(), by,
                                           [=](const Tensor& x) { return x ? replaced(x, stand_ins, originals) : x; });
    return t.is_uniform() ? Tensor::uniform(root, t.shape(), t.placement()) : Tensor(root, t.placement());
}

}  // namespace strata::ops

namespace strata {

using namespace ops;

Tensor& Tensor::requires_grad_(bool wanted) {
    if (parts_) {
        Parts parts = *parts_;
        parts.re.requires_grad_(wanted);
        parts.im.requires_grad_(wanted);
        parts_ = std::make_shared<const Parts>(std::move(parts));
        return *this;
    }
    if (!wanted) {
        leaf_ = nullptr;
        return *this;
    }
    check("requires_grad_", "the tensor", *this);
    if (leaf_) return *this;
    leaf_ = std::make_shared<Leaf>(shape());
    become_source();
    while (leaf_of(value())) {  // of a tensor with this value: a node that costs nothing separates the two
        root_ = detach(*this).root_;
        leaf_->node = root_;
    }
    add_leaf(leaf_);
    return *this;
}

bool Tensor::requires_grad() const { return parts_ ? parts_->re.requires_grad() : leaf_ != nullptr; }

Tensor Tensor::grad() const {
    if (parts_) return joined(*this, parts_->re.grad(), parts_->im.grad());
    return leaf_ ? leaf_->grad : Tensor();
}

void Tensor::backward(const Tensor& seed) const {
    if (!seed && numel() != 1)
        user_error(ErrorKind::Usage, "[backward] of shape {}: sum it first, or give a gradient of that shape",
                   to_string(shape()));
    check("backward", *this, seed);
    if (parts_) {
        Tensor y = weighted(*this, seed);
        return y.backward(like(y, 1));
    }
    std::vector<std::shared_ptr<Leaf>> all = living_leaves();
    Reverse reverse = accumulated(*this, seed, nodes_of(all));
    bool reached = false;
    for (const std::shared_ptr<Leaf>& leaf : all) {
        Tensor arrived = reverse.at(leaf->node.get());
        if (!arrived) continue;
        reached = true;
        if (Tracing* tracing = Tracing::active()) tracing->leaves_gradient(*leaf);
        arrived = detach(arrived.reshape(leaf->shape));
        leaf->grad = leaf->grad ? leaf->grad.add(arrived) : arrived;
    }
    if (!reached)
        user_error(ErrorKind::Usage,
                   "[backward] the result depends on no tensor that requires a gradient and still has the value that "
                   "the result was made of. Call requires_grad_() before the result is made. Call backward() before "
                   "assign(), x[...] = value or an optimiser's step gives those tensors other values");
}

Tensor& Tensor::assign(const Tensor& value) {
    if (value.shape() != shape() || value.dtype() != dtype())
        user_error(value.shape() != shape() ? ErrorKind::Shape : ErrorKind::DType,
                   "[assign] {} {} to a tensor that is {} {}", value.dtype().name(), to_string(value.shape()),
                   dtype().name(), to_string(shape()));
    if (Capture* capture = Capture::active()) capture->assigned(*this);
    if (Tracing* tracing = Tracing::active()) tracing->assigned(*this);
    if (parts_) {
        Parts parts = *parts_;
        parts.re.assign(value.real());
        parts.im.assign(value.imag().value() == value.real().value() ? detach(value.imag()) : value.imag());
        parts_ = std::make_shared<const Parts>(std::move(parts));
        return *this;
    }
    std::shared_ptr<Leaf> leaf = std::move(leaf_);
    *this = value;
    leaf_ = std::move(leaf);
    if (leaf_) become_source();
    return *this;
}

}  // namespace strata
