// tensor_view: movement ops as steps.
#include "strata/codegen/interpret/tensor_view_p.h"

#include <algorithm>

namespace strata::codegen {
namespace {

std::vector<int64_t> dense_steps(const Shape& shape) {
    std::vector<int64_t> steps(shape.size());
    int64_t step = 1;
    for (size_t d = shape.size(); d-- > 0; step *= shape[d]) steps[d] = step;
    return steps;
}

}  // namespace

TensorView::TensorView(std::shared_ptr<const TensorValue> whole)
    : whole_(std::move(whole)), shape_(whole_->shape), steps_(dense_steps(shape_)) {}

size_t TensorView::elements() const {
    size_t count = 1;
    for (const int64_t size : shape_) count *= static_cast<size_t>(size);
    return count;
}

bool TensorView::is_dense() const {
    const std::vector<int64_t> dense = dense_steps(shape_);
    for (size_t d = 0; d < shape_.size(); ++d)
        if (shape_[d] != 1 && steps_[d] != dense[d]) return false;
    return true;
}

/// Axes of size 1 come and go; anything else only of neighbours.
std::optional<TensorView> TensorView::reshaped(const Shape& shape) const {
    TensorView out = *this;
    out.shape_ = shape;
    if (is_dense() || elements() == 0) {
        out.steps_ = dense_steps(shape);
        return out;
    }
    out.steps_.assign(shape.size(), 0);
    size_t from = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
        if (shape[d] == 1) continue;
        while (from < shape_.size() && shape_[from] == 1) ++from;
        if (from == shape_.size() || shape_[from] != shape[d]) return {};
        out.steps_[d] = steps_[from++];
    }
    return out;
}

std::optional<TensorView> TensorView::moved(UOp u) const {
    TensorView out = *this;
    out.shape_ = u.shape();
    if (u.is(Op::reshape)) return reshaped(out.shape_);
    if (u.is(Op::permute))
        for (size_t d = 0; d < shape_.size(); ++d) out.steps_[d] = steps_[static_cast<size_t>(u.as<AxesArg>().axes[d])];
    if (u.is(Op::expand))
        for (size_t d = 0; d < shape_.size(); ++d)
            if (shape_[d] != out.shape_[d]) out.steps_[d] = 0;
    if (u.is(Op::shrink))
        for (size_t d = 0; d < shape_.size(); ++d) out.offset_ += u.as<BoundsArg>().bounds[d].first * steps_[d];
    if (u.is(Op::flip))
        for (const int axis : u.as<AxesArg>().axes) {
            const auto d = static_cast<size_t>(axis);
            out.offset_ += (shape_[d] - 1) * steps_[d];
            out.steps_[d] = -steps_[d];
        }
    return out;
}

TensorView TensorView::copied() const {
    auto made = std::make_shared<TensorValue>(type(), shape_);
    read(0, elements(), made->f.data(), made->i.data());
    return TensorView(std::move(made));
}

const double* TensorView::floats(size_t first) const {
    return is_dense() ? further(whole_->f.data(), static_cast<size_t>(offset_) + first) : nullptr;
}
const int64_t* TensorView::integers(size_t first) const {
    return is_dense() ? further(whole_->i.data(), static_cast<size_t>(offset_) + first) : nullptr;
}

void TensorView::read(size_t first, size_t n, double* f, int64_t* i) const {
    if (!n) return;
    const int64_t step = shape_.empty() ? 0 : steps_.back();
    const bool is_float = type().is_float();
    each_row(shape_, steps_, first, n, [&](const RowPart& row) {
        const int64_t from = offset_ + row.from;
        if (is_float)
            for (size_t k = 0; k < row.count; ++k)
                f[row.to + k] = whole_->f[static_cast<size_t>(from + static_cast<int64_t>(k) * step)];
        else
            for (size_t k = 0; k < row.count; ++k)
                i[row.to + k] = whole_->i[static_cast<size_t>(from + static_cast<int64_t>(k) * step)];
    });
}

void each_row(const Shape& shape, const std::vector<int64_t>& steps, size_t first, size_t n,
              const std::function<void(const RowPart&)>& row) {
    if (!n) return;
    if (shape.empty()) return row({0, 0, 1});
    std::vector<int64_t> at(shape.size());
    auto rest = static_cast<int64_t>(first);
    int64_t from = 0;
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) at[d] = rest % shape[d], from += at[d] * steps[d];
    const size_t last = shape.size() - 1;
    for (size_t done = 0; done < n;) {
        const size_t count = std::min(n - done, static_cast<size_t>(shape[last] - at[last]));
        row({done, from, count});
        done += count;
        from -= at[last] * steps[last];
        at[last] = 0;
        for (size_t d = last; d-- > 0;) {
            from += steps[d];
            if (++at[d] < shape[d]) break;
            from -= shape[d] * steps[d];
            at[d] = 0;
        }
    }
}

}  // namespace strata::codegen
