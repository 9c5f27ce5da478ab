// What arrives at the source of take: sums by index, without atomics, so that they have the same bits each time.
#include "strata/ops/gradients_p.h"

#include <numeric>

#include "strata/ops/build_p.h"

namespace strata::ops {
namespace {

constexpr int64_t kPart = 32;  ///< of so many a thread looks for one

/// For each of `count` rows the first place in `rows` that has it, or a place beyond.
Tensor first_places(const Tensor& rows, int64_t count) {
    const int64_t taken = rows.numel(), parts = (taken + kPart - 1) / kPart;
    Tensor padded = rows.add(1).pad({{0, parts * kPart - taken}}).sub(1);  // none is -1
    Tensor row = iota(count).cast(rows.dtype()).reshape({count, 1, 1});
    Tensor hit = eq(padded.reshape({1, parts, kPart}), row);
    Tensor place = iota(parts * kPart).reshape({1, parts, kPart});
    return where(hit, place, taken).min(2).contiguous().min(1);
}

/// Of a table with more rows than were taken: what arrives at the same row is added up for each that takes it, and the row gets
/// the sum of the first. arrived is (before, taken, after).
Tensor to_rows_of_firsts(const Tensor& arrived, const Tensor& rows, int64_t count) {
    const int64_t taken = rows.numel();
    const Shape& shape = arrived.shape();
    Tensor same = eq(rows.reshape({taken, 1}), rows.reshape({1, taken})).reshape({1, taken, taken, 1});
    Tensor sums = where(same, arrived.reshape({shape[0], 1, taken, shape[2]}), 0).sum(2);
    Tensor first = first_places(rows, count), there = lt(first, taken);
    return where(there.reshape({1, count, 1}), sums.take(where(there, first, 0), 1), 0);
}

}  // namespace

Tensor to_taken(const Tensor& g, const Tensor& x, const Tensor& indices, int axis) {
    const auto at = static_cast<size_t>(axis);
    const Shape& shape = x.shape();
    const int64_t before = std::reduce(shape.begin(), shape.begin() + axis, int64_t{1}, std::multiplies{});
    const int64_t after = std::reduce(shape.begin() + axis + 1, shape.end(), int64_t{1}, std::multiplies{});
    if (indices.numel() < shape[at]) {
        Tensor arrived = widened(g.reshape({before, indices.numel(), after}));
        const DType type = shape[at] < int_max(dtypes::int32) ? dtypes::int32 : dtypes::int64;
        Tensor rows = indices.reshape({indices.numel()}).cast(type).contiguous();  // they are checked once
        return to_rows_of_firsts(arrived, rows, shape[at]).cast(g.dtype()).reshape(shape);
    }
    Tensor place = indices.reshape({1, indices.numel(), 1, 1});
    Tensor arrived = widened(g.reshape({before, indices.numel(), 1, after}));
    Tensor here = eq(place, iota(shape[at]).cast(indices.dtype()).reshape({1, 1, shape[at], 1}));
    return where(here, arrived, 0).sum(1).cast(g.dtype()).reshape(shape);
}

}  // namespace strata::ops
