#include "strata/ops/capture.h"

#include <algorithm>

#include "strata/ops/build_p.h"
#include "strata/ops/leaf_p.h"
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
    if (t.has_past())
        user_error(ErrorKind::Usage,
                   "[jit] a tensor of shape {} that was made of others that require gradients comes into a captured "
                   "function, which gradients do not leave: detach() it",
                   to_string(t.shape()));
    if (t.is_uniform() || !whole_buffer(t.in_memory())) t.assign(t.contiguous().realize());
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
                           .before = Root(t->in_memory()),
                           .grad_before = grad ? Root(grad.in_memory()) : Root()});
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
    UOp node = t.in_memory();
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
        if (t->has_past()) t->assign(Tensor(t->in_memory(), t->placement()));
    std::vector<UOp> memory, before;
    for (size_t i = 0; i < inputs_.size(); ++i) {
        Input& input = inputs_[i];
        if (tensors_[i]->numel() == 0) continue;
        if (tensors_[i]->in_memory() != input.before.get()) input.after = value_of(*tensors_[i], memory);
        if (grads[i]) tensors_[i]->set_grad(grads[i]);
        if (grads[i] && grads[i].in_memory() != input.grad_before.get()) input.grad = value_of(grads[i], memory);
        input.loses_grad = !grads[i] && input.has_grad;
    }
    for (Tensor* t : results) results_.push_back(value_of(*t, memory));
    for (const Input& input : inputs_) {
        if (product(input.shape) > 0) before.push_back(below_views(input.before.get()));
        if (input.has_grad) before.push_back(below_views(input.grad_before.get()));
    }
    replay_ = std::make_unique<runtime::Replay>(std::move(recorder_), before, memory);
    tensors_.clear();
    seen_.resize(before.size());
    for (size_t i = 0; i < before.size(); ++i) shares_memory_ |= replay_->first_with_memory_of(i) != i;
    for (const Input& input : inputs_) changes_inputs_ |= input.after || input.grad || input.loses_grad;
    spares_.resize(memory.size());
    find_donors();
    for (Input& input : inputs_) input.before = input.grad_before = Root();
}

void Capture::find_donors() {
    size_t place = 0;
    for (size_t i = 0; i < inputs_.size(); ++i) {
        const Input& input = inputs_[i];
        if (product(input.shape) == 0) continue;
        if (input.after && !input.after->fixed) {
            const runtime::Replay::Result result = replay_->result(input.after->result);
            if (result.kind == runtime::Replay::Result::Kind::made && replay_->donor(result.index) == place) {
                donors_.resize(spares_.size());
                donors_[result.index] = {i, place};
            }
        }
        place += input.has_grad ? 2 : 1;
    }
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

void Capture::nodes_below(const std::vector<Tensor*>& inputs, std::vector<UOp>& out) const {
    out.clear();
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i]->numel() == 0) continue;
        out.push_back(below_views(inputs[i]->in_memory()));
        if (inputs_[i].has_grad) out.push_back(below_views(inputs[i]->grad().in_memory()));
    }
}

/// Nodes come to lie where others lay, so that one may be another buffer by now.
runtime::Buffer* Capture::memory_of(UOp node, Seen& seen) {
    const uint64_t buffer = node.as<BufferArg>().id;
    if (seen.node != node || seen.buffer != buffer) seen = {node, buffer, runtime::find_buffer(node).get()};
    return seen.memory;
}

std::optional<std::string> Capture::mismatch(size_t i, Tensor& t) const {
    const auto is_placed = [](const Tensor& x) {
        return !x.is_uniform() && !x.has_past() && bool(whole_buffer(x.in_memory()));
    };
    const Input& input = inputs_[i];
    if (t.requires_grad() != input.requires_grad) return "another tensor requires a gradient";
    if (t.has_grad() != input.has_grad) return "another tensor has a gradient";
    if (t.shape() != input.shape || t.dtype() != input.dtype)
        return fmt::format("a tensor is {} {}, not {} {}", t.dtype().name(), to_string(t.shape()), input.dtype.name(),
                           to_string(input.shape));
    if (!is_placed(t)) place(t);
    if (t.placement() != input.device)
        return fmt::format("a tensor is on {}", t.placement() ? t.placement()->name() : "no device");
    if (!input.has_grad) return {};
    Tensor grad = t.grad();
    if (is_placed(grad)) return {};
    place(grad);
    t.set_grad(grad);
    return {};
}

std::optional<std::string> Capture::mismatch(const std::vector<Tensor*>& inputs) const {
    if (!replay_->has_settings_in_force()) return "other settings are in force";
    return mismatch_of_inputs(inputs);
}

std::optional<std::string> Capture::mismatch_of_inputs(const std::vector<Tensor*>& inputs) const {
    for (size_t i = 0; i < inputs_.size(); ++i)
        if (auto why = mismatch(i, *inputs[i])) return why;
    if (!shares_memory_) return {};
    std::vector<UOp> nodes;
    nodes_below(inputs, nodes);
    for (size_t i = 0; i < nodes.size(); ++i)
        if (nodes[i] != nodes[replay_->first_with_memory_of(i)]) return "tensors that shared memory do not";
    return {};
}

Tensor Capture::view(const Value& value, UOp buffer) const {
    for (const Movement& m : value.movements) buffer = make(m.op, buffer.dtype(), {buffer}, m.arg);
    return Tensor(buffer, value.device);
}

std::vector<const Capture::Value*> Capture::values() const {
    std::vector<const Value*> out;
    for (const Input& input : inputs_) {
        if (input.after) out.push_back(&*input.after);
        if (input.grad) out.push_back(&*input.grad);
    }
    for (const Value& value : results_) out.push_back(&value);
    return out;
}

bool Capture::Spare::is_held_by(const Tensor* alone) const {
    const UOp held = alone ? alone->in_memory() : UOp(),
              source = alone && alone->requires_grad() ? source_of_gradient(held) : UOp();
    for (const Count& count : counts) {
        const Node& node = *count.node.node();
        const uint32_t roots = count.roots + (count.node == held) + (count.node == source);
        if (node.roots() != roots || node.users.load(std::memory_order_relaxed) != count.users) return false;
    }
    return seen.use_count() == 1;  // the one that is known by the node
}

std::shared_ptr<Capture::Spare> Capture::new_spare(size_t result) const {
    auto spare = std::make_shared<Spare>(Spare{Root(replay_->new_memory(result))});
    spare->seen = runtime::find_buffer(spare->buffer.get());
    spare->memory = spare->seen.lock().get();
    for (const Value* value : values())
        if (!value->fixed && replay_->result(value->result).kind == runtime::Replay::Result::Kind::made &&
            replay_->result(value->result).index == result)
            spare->views.push_back({value, view(*value, spare->buffer.get())});
    for (const Spare::View& one : spare->views)
        for (UOp u = one.tensor.in_memory();; u = u.src(0)) {
            spare->counts.push_back({u, 0, 0});
            if (u.is(Op::buffer)) break;
        }
    for (Spare::Count& count : spare->counts)
        count.roots = count.node.node()->roots(), count.users = count.node.node()->users;
    return spare;
}

/// As many as are kept: what a call left, and what it is computed from.
constexpr size_t kSpares = 2;

std::shared_ptr<Capture::Spare> Capture::donated_spare(size_t result, const std::vector<Tensor*>& inputs) const {
    if (!donors_[result]) return nullptr;
    const auto [input, place] = *donors_[result];
    for (const std::shared_ptr<Spare>& spare : spares_[result])
        if (spare->buffer.get() == now_.nodes[place] && spare->is_held_by(inputs[input])) return spare;
    return nullptr;
}

bool Capture::take_spares(const std::vector<Tensor*>& inputs, bool donates, std::vector<std::shared_ptr<Spare>>& out) {
    bool made = false;
    out.assign(spares_.size(), nullptr);
    for (size_t r = 0; r < spares_.size(); ++r) {
        const runtime::Replay::Result result = replay_->result(r);
        if (result.kind != runtime::Replay::Result::Kind::made || result.index != r) continue;
        std::vector<std::shared_ptr<Spare>>& kept = spares_[r];
        if (donates && (out[r] = donated_spare(r, inputs))) continue;
        const auto free = std::ranges::find_if(kept, [](const auto& spare) { return spare->is_free(); });
        if (free != kept.end()) {
            out[r] = *free;
            continue;
        }
        made = true;
        out[r] = new_spare(r);
        if (kept.size() < kSpares) kept.push_back(out[r]);
    }
    return made;
}

Tensor Capture::tensor_of(const Value& value) const {
    using Kind = runtime::Replay::Result::Kind;
    if (value.fixed) return *value.fixed;
    const runtime::Replay::Result result = replay_->result(value.result);
    if (result.kind == Kind::input) return view(value, now_.nodes[result.index]);
    if (result.kind == Kind::constant) return view(value, result.constant.get());
    const auto& views = now_.spares[result.index]->views;
    return std::ranges::find(views, &value, &Spare::View::value)->tensor;
}

void Capture::tell_inputs(const std::vector<Tensor*>& inputs) {
    size_t at = 0;  // of its node
    for (size_t i = 0; i < inputs_.size(); ++i) {
        const Input& input = inputs_[i];
        if (input.after) {
            inputs[i]->assign(tensor_of(*input.after));
            (void)memory_of(below_views(inputs[i]->in_memory()), seen_[at]);
        }
        if (product(input.shape) > 0) at += input.has_grad ? 2 : 1;
        if (input.grad) inputs[i]->set_grad(tensor_of(*input.grad));
        if (input.loses_grad) inputs[i]->set_grad(Tensor());
    }
}

std::vector<Tensor> Capture::replay(const std::vector<Tensor*>& inputs, const std::vector<std::vector<uint8_t>>& fed) {
    runtime::Computing computing;
    StoppableLock lock(mutex_);
    std::vector<Tensor> out;
    bool made = false;
    {
        GraphScope scope;
        nodes_below(inputs, now_.nodes);
        now_.memory.clear();
        for (size_t i = 0; i < now_.nodes.size(); ++i) now_.memory.push_back(memory_of(now_.nodes[i], seen_[i]));
        made = take_spares(inputs, !donors_.empty() && computing.stay_alone(), now_.spares);
        now_.results.clear();
        for (const auto& spare : now_.spares) now_.results.push_back(spare ? spare->memory : nullptr);
        replay_->run(now_.memory, now_.results, fed);
        out.reserve(results_.size());
        std::vector<Root> kept;  // until all are reported
        if (changes_inputs_) {
            for (UOp node : now_.nodes) kept.emplace_back(node);
            tell_inputs(inputs);
        }
        for (const Value& value : results_) out.push_back(tensor_of(value));
        now_.spares.clear();
    }
    if (made) runtime::collect();
    return out;
}

}  // namespace strata::ops
