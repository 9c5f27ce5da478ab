#pragma once
#include "strata/codegen/interpret/tensor_view_p.h"
#include "strata/core/uop/reference.h"

namespace strata::codegen {

/// A reduction that takes its elements part by part. Floats are added up in float64, in pairs, and rounded once.
class Reduction {
  public:
    explicit Reduction(UOp reduce);
    /// Elements of the source from `first` on, row by row.
    void add(size_t first, size_t n, const double* f, const int64_t* i);
    TensorValue result();

  private:
    void fold_row(size_t to, size_t n, const double* f, const int64_t* i);
    void add_row(size_t to, size_t n, const double* f, const int64_t* i);

    Op op_;
    DType type_, wide_;  ///< wide: in which it is computed
    Shape shape_;        ///< of the source, neighbours that are reduced alike as one axis
    std::vector<int64_t> steps_;
    bool folds_rows_ = false;  ///< the last axis is reduced
    TensorValue sums_;
    std::vector<double> pairs_f_;
    std::vector<int64_t> pairs_i_;
};

/// The reduction of all elements up to each, along an axis.
TensorValue scanned(UOp scan, const TensorView& from);

}  // namespace strata::codegen
