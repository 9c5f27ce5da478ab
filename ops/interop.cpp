#include <algorithm>
#include <cstring>
#include <map>
#include <span>

#include "strata/core/support/bools.h"
#include "strata/ops/build_p.h"
#include "strata/ops/capture.h"
#include "strata/ops/complex_p.h"
#include "strata/ops/gradients.h"
#include "strata/ops/leaf_p.h"
#include "strata/ops/tracing.h"
#include "strata/runtime/buffer.h"
#include "strata/runtime/device.h"
#include "strata/runtime/donation.h"
#include "strata/runtime/realize.h"
#include "strata/runtime/replay.h"

namespace strata {

using namespace ops;

namespace ops {

void upload(Tensor& t, const void* data, const runtime::Feed& feed) {
    runtime::Buffer& memory = *runtime::find_buffer(whole_buffer(t.value()));
    memory.copy_in(data, memory.bytes());
    if (runtime::Recorder* recorder = runtime::Recorder::active())
        recorder->uploaded(memory, data, memory.bytes(), feed);
}

}  // namespace ops

static void refuse_to_read(const Tensor& t) {
    runtime::refuse_in_recording("the values of a tensor are read");
    const Tracing* tracing = Tracing::active();
    if (!tracing || t.is_complex()) return;  // parts are read one by one
    const UOp node = t.in_memory();
    tracing->read({&node, 1});
}

Tensor Tensor::empty(Shape shape, DType dtype, std::string_view device) {
    check_shape("empty", shape);
    runtime::Device& on = runtime::device(device);
    GraphScope scope;
    if (dtype.is_complex()) return of_parts(empty(shape, dtype.part(), device), empty(shape, dtype.part(), device));
    if (product(shape) == 0) return uniform(constant_int(dtype, 0), std::move(shape), &on);
    return Tensor(runtime::new_buffer(on, dtype, product(shape)), &on).reshape(std::move(shape));
}

Tensor Tensor::from_host(const void* data, Shape shape, DType dtype, std::string_view device) {
    if (dtype.is_complex()) {
        Shape pairs = shape;
        pairs.push_back(2);
        Tensor all = from_host(data, pairs, dtype.part(), device);
        std::vector<Tensor> parts = all.split(1, -1);
        return of_parts(parts[0].reshape(shape), parts[1].reshape(shape));
    }
    Tensor t = empty(std::move(shape), dtype, device);
    if (t.numel() == 0) return t;
    const std::span bytes(static_cast<const uint8_t*>(data), static_cast<size_t>(t.nbytes()));
    if (!dtype.is_bool() || are_bools(bytes)) {
        upload(t, data, {});
        return t;
    }
    std::vector<uint8_t> bools(bytes.size());
    std::ranges::transform(bytes, bools.begin(), [](uint8_t byte) { return byte != 0; });
    upload(t, bools.data(), {});
    return t;
}

const runtime::Device& Tensor::device() const { return device_ ? *device_ : runtime::device(); }

Tensor Tensor::to(std::string_view name) const {
    runtime::Device& target = runtime::device(name);
    Tensor moved = *this;
    if (device_ && device_ != &target) {
        std::vector<uint8_t> bytes(static_cast<size_t>(nbytes()));
        moved.to_host(bytes.data());
        return from_host(bytes.data(), shape(), dtype(), name);
    }
    if (parts_) return each_part(*this, [&](const Tensor& part) { return part.to(name); });
    moved.device_ = &target;
    return moved;
}

UOp Tensor::in_memory() const {
    if (parts_) say_that_parts_are_two();
    return memory_.get() ? memory_.get() : root_.get();
}

bool Tensor::is_realized() const {
    if (parts_) return parts_->re.is_realized() && parts_->im.is_realized();
    return numel() == 0 || (!uniform_ && below_views(in_memory()).is(Op::buffer));
}

/// The value is there now, and what it was made of goes.
void Tensor::place(Root view) {
    root_ = std::move(view);
    uniform_ = false;
    if (leaf_) become_source();
}

Tensor Tensor::interleaved() const { return stack({real(), imag()}, -1); }

void Tensor::realize(const std::vector<Tensor*>& tensors) {
    std::vector<Tensor*> real;
    std::vector<std::pair<Tensor*, std::shared_ptr<Parts>>> complex;
    for (Tensor* t : tensors) {
        if (!t->parts_) {
            real.push_back(t);
            continue;
        }
        const auto& [of, parts] = complex.emplace_back(t, std::make_shared<Parts>(*t->parts_));
        real.insert(real.end(), {&parts->re, &parts->im});
    }
    realize_real(real);
    for (auto& [of, parts] : complex) {
        of->device_ = parts->re.device_;
        of->parts_ = std::move(parts);
    }
}

void Tensor::realize_real(const std::vector<Tensor*>& tensors) {
    const NoGrad with_history(false);
    runtime::collect_dropped();
    std::map<const runtime::Device*, std::vector<Tensor*>> by_device;
    for (Tensor* t : tensors)
        if (!t->is_realized()) by_device[t->device_].push_back(t);
    for (auto& [device, group] : by_device) {
        std::vector<Root> rooted;
        std::vector<UOp> nodes;
        for (Tensor* t : group) {
            GraphScope scope;
            rooted.emplace_back(t->uop());
            nodes.push_back(rooted.back().get());
        }
        if (Tracing* tracing = Tracing::active()) tracing->read(nodes);
        // The history of a value is kept where a gradient may be asked for. Leaves have none, and their nodes stay
        // only where others know them.
        std::vector<bool> keeps = reach_leaves(nodes);
        for (size_t i = 0; i < group.size(); ++i)
            keeps[i] = !group[i]->uniform_ && (group[i]->leaf_ ? group[i]->leaf_->stays : keeps[i]);
        const auto put = [&](size_t i, Root view) {
            if (keeps[i])
                group[i]->memory_ = std::move(view);
            else
                group[i]->place(std::move(view));
        };
        const auto releases = [&](size_t i) -> std::vector<UOp> {  // by put(), and by `rooted`
            const Tensor& t = *group[i];
            if (t.uniform_ || keeps[i]) return {};
            std::vector<UOp> held{t.root_.get(), rooted[i].get()};
            if (t.leaf_) held.insert(held.end(), {t.leaf_->node.get(), t.cut_.get(), t.memory_.get()});
            std::erase(held, UOp());
            return held;
        };
        const runtime::Donation donation{
            .releases = releases,
            .keep = put,
        };
        std::vector<Root> views =
            runtime::realize(nodes, device ? &runtime::device(device->index()) : nullptr, donation);
        for (size_t i = 0; i < group.size(); ++i) {
            STRATA_CHECK(views[i].get().shape() == group[i]->shape(), "a value of shape {} was realized as {}",
                         to_string(group[i]->shape()), to_string(views[i].get().shape()));
            group[i]->device_ = device ? device : &runtime::device();
            put(i, std::move(views[i]));
        }
    }
    runtime::collect();
}

Tensor& Tensor::realize() {
    realize({this});
    return *this;
}

void Tensor::to_host(void* data) {
    if (numel() == 0) return;
    refuse_to_read(*this);
    realize();
    if (parts_) return interleaved().to_host(data);
    Tensor flat = *this;
    if (!whole_buffer(in_memory())) flat = contiguous().realize();
    const runtime::Computing reading;
    runtime::find_buffer(whole_buffer(flat.in_memory()))->copy_out(data, static_cast<size_t>(nbytes()));
}

Tensor::HostView Tensor::host_view() {
    if (numel() == 0) return {};
    refuse_to_read(*this);
    realize();
    if (parts_) return interleaved().host_view();
    if (!whole_buffer(in_memory())) {
        Root whole(contiguous().realize().in_memory());
        if (leaf_ ? leaf_->stays : reaches_leaf(root_.get()))
            memory_ = std::move(whole);
        else
            place(std::move(whole));
    }
    const runtime::Computing reading;
    std::shared_ptr<runtime::Buffer> memory = runtime::find_buffer(whole_buffer(in_memory()));
    void* const data = memory->host_view();
    return {data, std::move(memory)};
}

Number Tensor::item() {
    if (numel() != 1)
        user_error(ErrorKind::Usage, "[item] shape {} holds {} elements, not one", to_string(shape()), numel());
    if (parts_) {
        realize();
        return std::complex(Tensor(parts_->re).item().f, Tensor(parts_->im).item().f);
    }
    uint64_t bits = 0;
    to_host(&bits);
    DType t = dtype();
    if (t.is_float()) return decode_scalar(t, bits);
    if (t.is_bool()) return bits != 0;
    return t == dtypes::uint64 ? Number(bits) : Number(wrap_to(t, static_cast<int64_t>(bits)));
}

}  // namespace strata
