#pragma once
#include "strata/ops/tensor.h"

namespace strata {

namespace runtime {
struct CustomKernel;
}

namespace ops {

/// A user's kernel over tensors: it gets `out` and the inputs as buffers in this order (row-major, made so where they
/// are not) and fills `out`, whose previous content it may read. Lazy: launched once, when a result is realized.
/// Returns one tensor a buffer as the kernel leaves them, `out` first.
std::vector<Tensor> custom_kernel(const Tensor& out, const std::vector<Tensor>& inputs,
                                  std::shared_ptr<const runtime::CustomKernel> kernel);

}  // namespace ops
}  // namespace strata
