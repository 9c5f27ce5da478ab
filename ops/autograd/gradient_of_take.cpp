// The gradient of the source of take: sums by index, without atomics, so that they have the same bits each time.
#include "strata/ops/autograd/gradients_p.h"

#include <numeric>

#include "strata/ops/build_p.h"
#include "strata/ops/indexing_p.h"

namespace strata::ops {
namespace {

constexpr int64_t kFewPairs = 1 << 27;  ///< of an element and what may have been taken there: each is looked at

}  // namespace

Tensor to_taken(const Tensor& g, const Tensor& x, const Tensor& indices, int axis) {
    const auto at = static_cast<size_t>(axis);
    const Shape& shape = x.shape();
    const int64_t before = std::reduce(shape.begin(), shape.begin() + axis, int64_t{1}, std::multiplies{});
    const int64_t after = std::reduce(shape.begin() + axis + 1, shape.end(), int64_t{1}, std::multiplies{});
    if (times("take", x.numel(), indices.numel()) > kFewPairs) {
        const DType type = shape[at] < int_max(dtypes::int32) ? dtypes::int32 : dtypes::int64;
        const Tensor places = indices.reshape({indices.numel()}).cast(type).contiguous();  // they are checked once
        return sums_at(places, widened(g.reshape({before, indices.numel(), after})), shape[at])
            .cast(g.dtype())
            .reshape(shape);
    }
    Tensor place = indices.reshape({1, indices.numel(), 1, 1});
    Tensor arrived = widened(g.reshape({before, indices.numel(), 1, after}));
    Tensor here = eq(place, iota(shape[at]).cast(indices.dtype()).reshape({1, 1, shape[at], 1}));
    return where(here, arrived, 0).sum(1).cast(g.dtype()).reshape(shape);
}

}  // namespace strata::ops
