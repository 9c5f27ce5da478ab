// Order: sort and what is found by it. Nothing is moved: the positions are computed, and values taken there.
#include <algorithm>
#include <bit>
#include <limits>

#include "strata/ops/build_p.h"
#include "strata/ops/complex_p.h"
#include "strata/ops/indexing_p.h"
#include "strata/ops/order/order_items_p.h"

namespace strata {

using namespace ops;

namespace {

/// Integers that are ordered as the values are: NaN above all, -0 as 0.
Tensor keys_of(const Tensor& x) {
    if (x.dtype().is_bool()) return x.cast(dtypes::uint8);
    if (!x.dtype().is_float()) return x;
    Tensor wide = widened(x);
    DType type = bits_of(wide.dtype());
    Tensor bits = wide.bitcast(type), largest = like(bits, int_max(type));
    Tensor ordered = where(lt(bits, 0), bitwise_xor(bits, largest), bits);
    return where(wide.isnan(), largest, where(eq(wide, 0), 0, ordered));
}

/// 0, 1, ... along an axis of `shape`, in a type that holds its number of elements.
Tensor counting(const Shape& shape, int axis) {
    return iota_along(shape, axis).cast(product(shape) <= int_max(dtypes::int32) ? dtypes::int32 : dtypes::int64);
}

/// A tensor as rows along an axis, and back.
struct Rows {
    Shape moved;  ///< the shape with the axis last
    int axis;
    Rows(std::string_view name, const Tensor& x, int at) : moved(x.shape()), axis(axis_of(name, at, x.ndim())) {
        std::rotate(moved.begin() + axis, moved.begin() + axis + 1, moved.end());
    }
    int64_t length() const { return moved.back(); }
    Tensor of(const Tensor& x) const {
        return x.movedim(axis, -1).reshape({product(Shape(moved.begin(), moved.end() - 1)), length()});
    }
    Tensor back(const Tensor& rows, int64_t length) const {
        Shape shape = moved;
        shape.back() = length;
        return rows.reshape(shape).movedim(-1, axis);
    }
};

/// The values at positions (rows, k) of each row.
Tensor at_positions(const Tensor& rows, const Tensor& positions) {
    Tensor start = counting(rows.shape(), 0) * rows.size(1);
    return take_axis(rows.flatten(), expand_to(start + positions, positions.shape()), 0);
}

}  // namespace

Tensor Tensor::argsort(int axis, bool descending, bool) const {
    check_ordered("argsort", *this);
    if (ndim() == 0) return like(*this, 0, {}, dtypes::int64);
    Rows rows("argsort", *this, axis);
    if (numel() == 0) return like(*this, 0, shape(), dtypes::int64);
    return rows.back(order_of_rows(rows.of(*this), descending, rows.length(), dtypes::int64), rows.length());
}

Tensor Tensor::sort(int axis, bool descending, bool) const {
    check_ordered("sort", *this);
    if (ndim() == 0) return *this;
    Rows rows("sort", *this, axis);
    if (numel() == 0 || is_uniform()) return *this;
    Tensor lines = rows.of(*this);
    return rows.back(at_positions(lines, order_of_rows(lines, descending, rows.length())), rows.length());
}

std::pair<Tensor, Tensor> Tensor::topk(int64_t k, int axis, bool largest) const {
    check_ordered("topk", *this);
    Rows rows("topk", *this, axis);
    if (k < 0 || k > rows.length())
        user_error(ErrorKind::Usage, "[topk] {} of the {} elements of axis {}", k, rows.length(), rows.axis);
    Tensor lines = rows.of(*this);
    if (numel() == 0 || k == 0) {
        Tensor none = rows.back(lines.shrink({{0, lines.size(0)}, {0, k}}), k);
        return {none, like(none, 0, none.shape(), dtypes::int64)};
    }
    Tensor best = order_of_rows(lines, largest, k);
    return {rows.back(at_positions(lines, best), k), rows.back(best.cast(dtypes::int64), k)};
}

Tensor Tensor::searchsorted(const Tensor& values, bool right) const {
    check_ordered("searchsorted", *this);
    if (ndim() != 1)
        user_error(ErrorKind::Shape, "[searchsorted] looks in one ordered axis, not in shape {}", to_string(shape()));
    check_ordered("searchsorted", values);
    common_device("searchsorted", *this, values);
    const int64_t n = numel();
    if (values.numel() == 0 || n == 0) return like(values, 0, values.shape(), dtypes::int64);
    DType type = ops::result_type(*this, values);
    Tensor keys = keys_of(cast(type).contiguous()), wanted = keys_of(values.cast(type));
    Tensor low = like(wanted, 0, wanted.shape(), iota(n + 1).dtype()), high = like(low, n);
    for (int step = std::bit_width(static_cast<uint64_t>(n)); step > 0; --step) {
        Tensor middle = ops::bitwise_right_shift(low + high, 1), open = ops::lt(low, high);
        Tensor key = take_axis(keys, ops::where(open, middle, 0), 0);
        Tensor before = right ? ops::le(key, wanted) : ops::lt(key, wanted);
        low = ops::where(ops::bitwise_and(open, before), middle + 1, low);
        high = ops::where(ops::bitwise_and(open, before.logical_not()), middle, high);
    }
    return low.cast(dtypes::int64);
}

Tensor Tensor::count_nonzero(Axes axis, bool keepdims) const {
    return cast(dtypes::boolean).sum(std::move(axis), keepdims, dtypes::int64);
}

std::vector<Tensor> Tensor::nonzero() const {
    Tensor at = flat_nonzero();
    std::vector<Tensor> out;
    int64_t stride = numel();
    for (int64_t n : shape()) {
        stride = n ? stride / n : 1;
        out.push_back(at.floor_divide(stride).remainder(std::max<int64_t>(n, 1)));
    }
    return out;
}

Tensor Tensor::flat_nonzero() const {
    if (numel() == 0) return like(*this, 0, {0}, dtypes::int64);
    Tensor so_far = cast(dtypes::boolean).flatten().cumsum(0, dtypes::int64).contiguous();
    so_far.realize();
    const int64_t count = so_far.shrink({{numel() - 1, numel()}}).item().as_int();
    Tensor at = iota(count).cast(dtypes::int64);
    at.device_ = so_far.device_;
    return count ? so_far.searchsorted(at + 1, false) : like(*this, 0, {0}, dtypes::int64);
}

}  // namespace strata
