// integers: bits, counts, segments and quantised values for rows of ops.def.
#include "strata/plan/functions_p.h"

namespace strata::plan {
namespace {

/// The bits of each element, zeros above them.
Tensor zero_extended(const Tensor& x) {
    const int bits = x.dtype().bits();
    if (bits == 64) return x.bitcast(dtypes::uint64);
    return ops::bitwise_and(x.cast(dtypes::int64), (int64_t{1} << bits) - 1).bitcast(dtypes::uint64);
}

Tensor shifted(const Tensor& x, int64_t by) { return ops::bitwise_right_shift(x, by); }

/// Ones in each element of uint64: sums of pairs, of fours, of bytes, and of all bytes by a product.
Tensor ones_of(const Tensor& x) {
    constexpr int64_t kPairs = 0x5555555555555555, kFours = 0x3333333333333333, kBytes = 0x0f0f0f0f0f0f0f0f,
                      kEach = 0x0101010101010101;
    const Tensor pairs = x - ops::bitwise_and(shifted(x, 1), kPairs);
    const Tensor fours = ops::bitwise_and(pairs, kFours) + ops::bitwise_and(shifted(pairs, 2), kFours);
    return shifted(ops::bitwise_and(fours + shifted(fours, 4), kBytes) * kEach, 56);
}

/// A scale has x's axes, or fewer, and repeats along them.
void check_scale(const Tensor& x, const Tensor& y, const Tensor& scale) {
    if (y.shape() != x.shape())
        plan_error(Status::invalid, "scale", {static_cast<uint64_t>(x.numel()), static_cast<uint64_t>(scale.numel())},
                   "[plan] 'scale' has shape {}, which does not broadcast to {} of 'x'", to_string(scale.shape()),
                   to_string(x.shape()));
}

}  // namespace

Tensor popcount(const Tensor& x) { return ones_of(zero_extended(x)).cast(x.dtype()); }

Tensor clz(const Tensor& x) {
    Tensor filled = zero_extended(x);
    for (int64_t by = 1; by < 64; by *= 2) filled = ops::bitwise_or(filled, shifted(filled, by));
    return (x.dtype().bits() - ones_of(filled).cast(dtypes::int64)).cast(x.dtype());
}

Tensor ctz(const Tensor& x) {
    const Tensor below = ones_of(ops::bitwise_and(ops::bitwise_invert(zero_extended(x)), zero_extended(x) - 1));
    return below.cast(dtypes::int64).minimum(x.dtype().bits()).cast(x.dtype());
}

// A negative value would count from the end: it becomes an index that is out of range.
Tensor bincount(const Tensor& x, int64_t bins) {
    const Tensor wide = x.cast(dtypes::int64).reshape({-1}), index = ops::where(ops::lt(wide, 0), bins, wide);
    return Tensor::full({bins}, int64_t{0}, dtypes::int64).index_add(0, index, index.ones_like());
}

Tensor segment_sum(const Tensor& x, const Tensor& ids, int64_t segments) {
    if (x.ndim() < 1 || ids.shape() != Shape{x.size(0)})
        plan_error(Status::invalid, "ids",
                   {x.ndim() < 1 ? 0 : static_cast<uint64_t>(x.size(0)), static_cast<uint64_t>(ids.numel())},
                   "[plan] 'ids' has shape {}, and 'x' has {}: one for each of its first axis", to_string(ids.shape()),
                   to_string(x.shape()));
    if (segments < 0) plan_error(Status::invalid, "segments", {}, "[plan] {} segments", segments);
    Shape shape = x.shape();
    shape[0] = segments;
    return Tensor::full(shape, int64_t{0}, x.dtype()).index_add(0, ids, x);
}

Tensor segment_mean(const Tensor& x, const Tensor& ids, int64_t segments) {
    const Tensor sum = segment_sum(x, ids, segments);
    Shape by(x.shape().size(), 1);
    by[0] = segments;
    const Tensor count = segment_sum(Tensor::full(ids.shape(), int64_t{1}, x.dtype()), ids, segments);
    return sum / count.maximum(1).reshape(by);
}

std::vector<Tensor> kthvalue(const Tensor& x, int64_t k, int axis) {
    const TensorPair least = x.topk(k, axis, false);
    const int at = axis < 0 ? axis + x.ndim() : axis;
    const auto last = [&](const Tensor& t) {
        Pairs bounds;
        for (int i = 0; i < t.ndim(); ++i) bounds.emplace_back(i == at ? k - 1 : 0, t.size(i));
        return t.shrink(bounds).squeeze(at);
    };
    return {last(least.first), last(least.second)};
}

Tensor quantized(const Tensor& x, const Tensor& scale, int64_t low, int64_t high) {
    const Tensor y = (x / scale).round().clamp(low, high);
    check_scale(x, y, scale);
    return y;
}

Tensor dequantized(const Tensor& x, const Tensor& scale) {
    if (x.dtype() != dtypes::int8) plan_error(Status::unsupported, "x", {}, "[plan] 'x' is no int8");
    const Tensor y = x.cast(scale.dtype()) * scale;
    check_scale(x, y, scale);
    return y;
}

}  // namespace strata::plan
