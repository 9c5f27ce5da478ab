#include <algorithm>
#include <mutex>

#include "strata/core/support/mutex.h"
#include "strata/ops/build_p.h"
#include "strata/ops/complex_p.h"
#include "strata/ops/gradients.h"
#include "strata/ops/leaf_p.h"

namespace strata::ops {
namespace {

struct Leaves {
    Mutex mutex;
    std::vector<std::weak_ptr<Leaf>> all;
};
Leaves& leaves() {
    static Leaves all;
    return all;
}

}  // namespace

void add_leaf(const std::shared_ptr<Leaf>& leaf) {
    Leaves& known = leaves();
    std::lock_guard lock(known.mutex);
    std::erase_if(known.all, [](const std::weak_ptr<Leaf>& l) { return l.expired(); });
    known.all.push_back(leaf);
}

UOp source_of_gradient(UOp root) {
    while (root.is(Op::reshape)) root = root.src(0);
    return info(root.op()).is(kMovement) ? UOp() : root;
}

std::vector<std::shared_ptr<Leaf>> living_leaves() {
    Leaves& known = leaves();
    std::lock_guard lock(known.mutex);
    std::vector<std::shared_ptr<Leaf>> out;
    for (const std::weak_ptr<Leaf>& l : known.all)
        if (std::shared_ptr<Leaf> leaf = l.lock()) out.push_back(std::move(leaf));
    return out;
}

std::shared_ptr<Leaf> leaf_of(UOp value) {
    const UOp source = source_of_gradient(value);
    for (std::shared_ptr<Leaf>& leaf : living_leaves())
        if (leaf->node.get() == source) return std::move(leaf);
    return nullptr;
}

}  // namespace strata::ops

namespace strata {

using namespace ops;

Tensor Tensor::twin() const {
    Tensor out = *this;
    if (parts_) {
        out.parts_ = std::make_shared<const Parts>(Parts{parts_->re.twin(), parts_->im.twin()});
    } else if (leaf_) {
        leaf_->stays = true;
        out.leaf_ = std::make_shared<Leaf>(*leaf_);
        add_leaf(out.leaf_);
    }
    return out;
}

void Tensor::become_source() {
    const NoGrad with_history(false);
    memory_ = cut_ = Root();
    no_grad_ = leaf_->stays = false;
    if (uniform_ || !source_of_gradient(value())) {
        root_ = contiguous().root_;
        uniform_ = false;
    }
    leaf_->node = Root(source_of_gradient(value()));
}

UOp Tensor::cut() const {
    if (!dtype().is_float()) return root_.get();
    if (!cut_.get()) {
        GraphScope scope;
        cut_ = Root(make(Op::detach, dtype(), {root_.get()}));
    }
    return cut_.get();
}

bool Tensor::has_grad() const { return parts_ ? bool(grad()) : leaf_ && leaf_->grad; }

void Tensor::set_grad(const Tensor& grad) {
    if (!requires_grad()) user_error(ErrorKind::Usage, "[grad] of a tensor that asks for none: requires_grad_() first");
    if (grad && (grad.shape() != shape() || grad.dtype() != dtype()))
        user_error(ErrorKind::Shape, "[grad] {} {} for a tensor that is {} {}", grad.dtype().name(),
                   to_string(grad.shape()), dtype().name(), to_string(shape()));
    if (parts_) {
        Tensor(parts_->re).set_grad(grad ? grad.real() : grad);
        return Tensor(parts_->im).set_grad(grad ? grad.imag() : grad);
    }
    leaf_->grad = grad;
}

}  // namespace strata
