#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "strata/codegen/interpret/tensor_value.h"

namespace strata::codegen {

/// `n` elements further; null of no memory.
template <class T>
T* further(T* memory, size_t n) {
    return memory ? memory + n : nullptr;
}

/// A tensor in the memory of another: a step for each axis, 0 where an axis repeats one element.
class TensorView {
  public:
    TensorView() = default;
    explicit TensorView(std::shared_ptr<const TensorValue> whole);

    const Shape& shape() const { return shape_; }
    DType type() const { return whole_->type; }
    size_t elements() const;
    bool is_dense() const;  ///< its elements are neighbours, row by row

    /// The view after a movement op but pad; none: a reshape that no steps give.
    std::optional<TensorView> moved(UOp movement) const;
    TensorView copied() const;  ///< dense
    /// `n` elements from the one at `first` on, row by row.
    void read(size_t first, size_t n, double* f, int64_t* i) const;
    /// The elements where they are, if they are neighbours; else null.
    const double* floats(size_t first) const;
    const int64_t* integers(size_t first) const;

  private:
    std::optional<TensorView> reshaped(const Shape& shape) const;
    std::shared_ptr<const TensorValue> whole_;
    Shape shape_;
    std::vector<int64_t> steps_;
    int64_t offset_ = 0;
};

/// A part of the last axis.
struct RowPart {
    size_t to;     ///< of the elements asked for, the first
    int64_t from;  ///< its place by the steps
    size_t count;
};
/// Calls row() for each part of the last axis that the `n` elements from `first` on lie in.
void each_row(const Shape& shape, const std::vector<int64_t>& steps, size_t first, size_t n,
              const std::function<void(const RowPart&)>& row);

}  // namespace strata::codegen
