#pragma once
#include "strata/ops/tensor.h"

namespace strata::ops {

/// True if a store of `values` values is worth a kernel that changes the tensor in place. The tensor is in memory as it
/// is.
bool is_stored_in_place(const Tensor& old, int64_t values);
/// old (n, width) with values (m, width) in rows at positions (m,), which are in range. kept (m,): which of them are
/// stored, one at most for a row; none: all are. One kernel that touches these rows alone, and before it a copy where
/// others see the old value.
Tensor stored_at(const Tensor& old, const Tensor& positions, const Tensor& values, const Tensor& kept);
/// Sums (n,) of the integers (m,) for each place, 0 where there are none: by atomic additions, as their order is no
/// matter.
Tensor integer_sums_at(const Tensor& positions, const Tensor& values, int64_t n);
/// For each of positions (m,), whether none of those after it is the same; none: there is one.
Tensor is_last_there(const Tensor& positions);

}  // namespace strata::ops
