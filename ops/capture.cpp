#include "strata/ops/capture.h"

#include <algorithm>

#include "strata/ops/build_p.h"
#include "strata/runtime/device.h"
#include "strata/runtime/realize.h"

namespace strata::ops {
namespace {

thread_local Capture* capturing = nullptr;

}  // namespace

Tensor fed(Shape shape, DType dtype, std::string_view device, const runtime::Feed& feed) {
    Tensor t = Tensor::empty(std::move(shape), dtype, device);
    upload(t, feed().data(), feed);
    return t;
}

/// In memory of its own, row by row.
void Capture::place(Tensor& t) {
    if (t.numel() == 0) return;
    t.realize();
    if (t.in_memory() != t.value())
        user_error(ErrorKind::Usage,
                   "[jit] a tensor of shape {} that was made of others that require gradients comes into a captured "
                   "function, which gradients do not leave: detach() it",
                   to_string(t.shape()));
    if (t.is_uniform() || !whole_buffer(t.value())) t.assign(t.contiguous().realize());
}

Capture::Capture(const std::vector<Tensor*>& inputs) : tensors_(inputs) {
    Tensor::realize(inputs);
    for (Tensor* t : inputs) {
        place(*t);
        Tensor grad = t->grad();
        if (grad) {
            place(grad);
            t->set_grad(grad);
        }
        inputs_.push_back({.shape = t->shape(),
                           .dtype = t->dtype(),
                           .device = t->placement(),
                           .requires_grad = t->requires_grad(),
                           .has_grad = bool(grad),
                           .before = Root(t->value()),
                           .grad_before = grad ? Root(grad.value()) : Root()});
    }
    runtime::forget_results();
    recorder_ = runtime::Recorder();
}

Capture* Capture::active() { return capturing; }

Capture::Scope::Scope(Capture& capture) : previous_(capturing), recorder_(capture.recorder_) { capturing = &capture; }
Capture::Scope::~Scope() { capturing = previous_; }

void Capture::assigned(const Tensor& t) const {
    if (std::ranges::find(tensors_, &t) != tensors_.end() || !t.is_realized() || t.numel() == 0) return;
    UOp buffer = below_views(t.in_memory());
    const bool outside = !recorder_.made(*runtime::find_buffer(buffer));
    const auto has = [&](const Input& input) { return below_views(input.before.get()) == buffer; };
    if (outside && std::ranges::none_of(inputs_, has))
        user_error(
            ErrorKind::Usage,
            "[jit] a tensor of shape {} is changed that neither arguments nor variables of the captured function "
            "lead to: pass it as an argument",
            to_string(t.shape()));
}

Capture::Value Capture::value_of(const Tensor& t, std::vector<UOp>& results) {
    if (t.numel() == 0) return {.fixed = t};
    Value value{.result = results.size(), .device = t.placement()};
    UOp node = t.value();
    for (; info(node.op()).is(kMovement); node = node.src(0)) value.movements.push_back({node.op(), node.arg()});
    std::ranges::reverse(value.movements);
    results.push_back(node);
    return value;
}

void Capture::finish(const std::vector<Tensor*>& results) {
    std::vector<Tensor> grads;
    std::vector<Tensor*> wanted = results;
    for (Tensor* t : tensors_) {
        wanted.push_back(t);
        grads.push_back(t->grad());
    }
    for (Tensor& grad : grads)
        if (grad) wanted.push_back(&grad);
    Tensor::realize(wanted);
    for (Tensor* t : wanted)  // no gradient goes past the function
        if (t->in_memory() != t->value()) t->assign(Tensor(t->in_memory(), t->placement()));
    std::vector<UOp> memory, before;
    for (size_t i = 0; i < inputs_.size(); ++i) {
        Input& input = inputs_[i];
        if (tensors_[i]->numel() == 0) continue;
        if (tensors_[i]->value() != input.before.get()) input.after = value_of(*tensors_[i], memory);
        if (grads[i]) tensors_[i]->set_grad(grads[i]);
        if (grads[i] && grads[i].value() != input.grad_before.get()) input.grad = value_of(grads[i], memory);
        input.loses_grad = !grads[i] && input.has_grad;
    }
    for (Tensor* t : results) results_.push_back(value_of(*t, memory));
    for (const Input& input : inputs_) {
        if (product(input.shape) > 0) before.push_back(below_views(input.before.get()));
        if (input.has_grad) before.push_back(below_views(input.grad_before.get()));
    }
    replay_ = std::make_unique<runtime::Replay>(std::move(recorder_), before, memory);
    tensors_.clear();
    for (Input& input : inputs_) input.before = input.grad_before = Root();
}

std::vector<UOp> Capture::buffers(const std::vector<Tensor*>& inputs) const {
    std::vector<UOp> out;
    for (const Tensor* t : inputs) {
        if (t->numel() > 0) out.push_back(below_views(t->value()));
        if (const Tensor grad = t->grad()) out.push_back(below_views(grad.value()));
    }
    return out;
}

std::optional<std::string> Capture::difference(const Capture& other) const {
    if (auto why = replay_->difference(*other.replay_)) return why;
    for (size_t i = 0; i < inputs_.size() && i < other.inputs_.size(); ++i)
        if (bool(inputs_[i].after) != bool(other.inputs_[i].after) ||
            bool(inputs_[i].grad) != bool(other.inputs_[i].grad) ||
            inputs_[i].loses_grad != other.inputs_[i].loses_grad)
            return fmt::format("input {} of shape {} was changed in one of two calls", i, to_string(inputs_[i].shape));
    return {};
}

std::optional<std::string> Capture::mismatch(const std::vector<Tensor*>& inputs) const {
    if (!replay_->has_settings_in_force()) return "other settings are in force";
    for (size_t i = 0; i < inputs_.size(); ++i) {
        const Input& input = inputs_[i];
        Tensor& t = *inputs[i];
        if (t.shape() != input.shape || t.dtype() != input.dtype)
            return fmt::format("a tensor is {} {}, not {} {}", t.dtype().name(), to_string(t.shape()),
                               input.dtype.name(), to_string(input.shape));
        if (t.requires_grad() != input.requires_grad) return "another tensor requires a gradient";
        Tensor grad = t.grad();
        if (bool(grad) != input.has_grad) return "another tensor has a gradient";
        place(t);
        if (t.placement() != input.device)
            return fmt::format("a tensor is on {}", t.placement() ? t.placement()->name() : "no device");
        if (grad) place(grad), t.set_grad(grad);
    }
    const std::vector<UOp> memory = buffers(inputs);
    for (size_t i = 0; i < memory.size(); ++i)
        if (memory[i] != memory[replay_->first_with_memory_of(i)]) return "tensors that shared memory do not";
    return {};
}

Tensor Capture::tensor_of(const Value& value, const std::vector<Root>& buffers) const {
    if (value.fixed) return *value.fixed;
    UOp node = buffers[value.result].get();
    for (const Movement& m : value.movements) node = make(m.op, node.dtype(), {node}, m.arg);
    return Tensor(node, value.device);
}

std::vector<Tensor> Capture::replay(const std::vector<Tensor*>& inputs, const std::vector<std::vector<uint8_t>>& fed) {
    std::vector<Tensor> out;
    {
        GraphScope scope;
        const std::vector<Root> memory = replay_->run(buffers(inputs), fed);
        for (size_t i = 0; i < inputs_.size(); ++i) {
            const Input& input = inputs_[i];
            if (input.after) inputs[i]->assign(tensor_of(*input.after, memory));
            if (input.grad) inputs[i]->set_grad(tensor_of(*input.grad, memory));
            if (input.loses_grad) inputs[i]->set_grad(Tensor());
        }
        for (const Value& value : results_) out.push_back(tensor_of(value, memory));
    }
    runtime::collect_recent();
    return out;
}

}  // namespace strata::ops
