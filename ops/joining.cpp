// Joining, splitting and repeating.
#include <algorithm>

#include "strata/ops/build_p.h"
#include "strata/ops/complex_p.h"
#include "strata/ops/gradient_rules.h"

namespace strata {

using namespace ops;

namespace {

Pairs whole(const Shape& shape) {
    Pairs bounds;
    for (int64_t n : shape) bounds.emplace_back(0, n);
    return bounds;
}

}  // namespace

std::vector<Tensor> Tensor::split(const std::vector<int64_t>& sizes, int axis) const {
    axis = axis_of("split", axis, ndim());
    int64_t have = shape()[static_cast<size_t>(axis)], at = 0;
    Pairs bounds = whole(shape());
    std::vector<Tensor> pieces;
    for (int64_t n : sizes) {
        if (n < 0 || n > have - at) break;
        bounds[static_cast<size_t>(axis)] = {at, at + n};
        pieces.push_back(shrink(bounds));
        at += n;
    }
    if (at != have || pieces.size() != sizes.size())
        user_error(ErrorKind::Shape, "[split] sizes {} do not add up to the {} of axis {} of shape {}",
                   to_string(sizes), have, axis, to_string(shape()));
    return pieces;
}

std::vector<Tensor> Tensor::split(int64_t size, int axis) const {
    if (size <= 0) user_error(ErrorKind::Usage, "[split] pieces of {}: the size must be positive", size);
    int64_t have = this->size(axis);
    constexpr int64_t kMostPieces = 1 << 24;
    if (have / size >= kMostPieces)
        user_error(ErrorKind::Usage, "[split] {} elements in pieces of {}: at most {} pieces", have, size, kMostPieces);
    std::vector<int64_t> sizes;
    for (int64_t at = 0; at < have || at == 0; at += sizes.back()) {
        sizes.push_back(std::min(size, have - at));
        if (have == 0) break;
    }
    return split(sizes, axis);
}

std::vector<Tensor> Tensor::chunk(int count, int axis) const {
    if (count <= 0) user_error(ErrorKind::Usage, "[chunk] {} pieces: the count must be positive", count);
    int64_t n = size(axis);
    constexpr int kMostOfNothing = 1 << 16;
    if (n == 0 && count <= kMostOfNothing) return split(Shape(static_cast<size_t>(count), 0), axis);
    return split(std::max<int64_t>(1, n / count + (n % count != 0)), axis);
}

Tensor Tensor::repeat(int64_t count, OptionalAxis axis) const {
    if (count < 0) user_error(ErrorKind::Usage, "[repeat] {} times: the count cannot be negative", count);
    if (!axis) return flatten().repeat(count, 0);
    size_t at = static_cast<size_t>(axis_of("repeat", *axis, ndim()));
    Shape wide = shape(), to = shape();
    wide.insert(wide.begin() + static_cast<int64_t>(at) + 1, count);
    to[at] = times("repeat", to[at], count);
    return unsqueeze(static_cast<int>(at) + 1).expand(wide).reshape(to);
}

Tensor Tensor::tile(std::vector<int64_t> counts) const {
    if (counts.size() < shape().size()) counts.insert(counts.begin(), shape().size() - counts.size(), 1);
    Shape aligned(counts.size() - shape().size(), 1), spread, wide, to;
    aligned.insert(aligned.end(), shape().begin(), shape().end());
    for (size_t i = 0; i < counts.size(); ++i) {
        if (counts[i] < 0) user_error(ErrorKind::Usage, "[tile] {} times: a count cannot be negative", counts[i]);
        spread.insert(spread.end(), {1, aligned[i]});
        wide.insert(wide.end(), {counts[i], aligned[i]});
        to.push_back(times("tile", counts[i], aligned[i]));
    }
    return reshape(spread).expand(wide).reshape(to);
}

Tensor Tensor::repeat(const Tensor& repeats, OptionalAxis axis) const {
    check_integer("repeat", repeats);
    if (!axis) return flatten().repeat(repeats, 0);
    const int at = axis_of("repeat", *axis, ndim());
    const int64_t n = size(at);
    if (repeats.ndim() > 1 || (repeats.numel() != n && repeats.numel() != 1))
        user_error(ErrorKind::Shape, "[repeat] repeats of shape {} for axis {} of size {}", to_string(repeats.shape()),
                   at, n);
    if (n == 0) return *this;
    Tensor counts = expand_to(repeats.reshape({repeats.numel()}), {n}).cast(dtypes::int64);
    if (!counts.device_) counts.device_ = device_;
    if (counts.min().item().as_int() < 0) user_error(ErrorKind::Usage, "[repeat] a count cannot be negative");
    Tensor ends = counts.cumsum(0).contiguous();
    const int64_t total = ends.shrink({{n - 1, n}}).item().as_int();
    return take(ends.searchsorted(arange(total), true), at);
}

Tensor Tensor::roll(const Shape& shifts, Axes wanted) const {
    if (!wanted.list) return flatten().roll(shifts, 0).reshape(shape());
    const std::vector<int>& axes = *wanted.list;
    if (shifts.size() != axes.size() && shifts.size() != 1)
        user_error(ErrorKind::Usage, "[roll] {} shifts for {} axes", shifts.size(), axes.size());
    Tensor out = *this;
    for (size_t i = 0; i < axes.size(); ++i) {
        const int axis = axis_of("roll", axes[i], ndim());
        const int64_t n = size(axis), by = n ? shifts[shifts.size() == 1 ? 0 : i] % n : 0, shift = by < 0 ? by + n : by;
        if (shift == 0) continue;
        std::vector<Tensor> pieces = out.split(std::vector<int64_t>{n - shift, shift}, axis);
        out = cat({pieces[1], pieces[0]}, axis);
    }
    return out;
}

namespace ops {

Tensor cat(const std::vector<Tensor>& tensors, int axis) {
    if (tensors.empty()) user_error(ErrorKind::Usage, "[cat] at least one tensor is needed");
    const Tensor &first = tensors[0], *placed = &first;
    size_t at = static_cast<size_t>(axis_of("cat", axis, first.ndim()));
    DType type = first.dtype();
    int64_t total = 0;
    for (const Tensor& t : tensors) {
        Shape a = first.shape(), b = t.shape();
        if (a.size() == b.size()) a[at] = b[at] = 0;
        if (a != b)
            user_error(ErrorKind::Shape, "[cat] shapes {} and {} differ in more than axis {}", to_string(first.shape()),
                       to_string(t.shape()), at);
        common_device("cat", *placed, t);
        if (!placed->placement()) placed = &t;
        if (type != t.dtype()) type = promote(type, t.dtype());
        total = plus("cat", total, t.shape()[at]);
    }
    GraphScope scope;
    if (type.is_complex()) {
        std::vector<Tensor> reals, imags;
        for (const Tensor& t : tensors) {
            Tensor piece = t.cast(type);
            reals.push_back(piece.real());
            imags.push_back(piece.imag());
        }
        return Tensor::of_parts(cat(reals, axis), cat(imags, axis));
    }
    // Each piece padded with zeros to the whole, chosen by position: bits survive, which adding would not promise for
    // -0.
    Shape shape = first.shape();
    shape[at] = total;
    check_shape("cat", shape);
    std::vector<Tensor> empty;
    Tensor out, position = iota_along(shape, static_cast<int>(at));
    int64_t end = total;
    for (size_t i = tensors.size(); i-- > 0;) {
        int64_t n = tensors[i].shape()[at], begin = end - n;
        if (n > 0) {
            Pairs room(shape.size(), {0, 0});
            room[at] = {begin, total - end};
            Tensor piece = tensors[i].cast(type);
            piece = piece.is_uniform() ? Tensor::uniform(piece.value(), shape, piece.placement()) : piece.pad(room);
            out = out ? where(lt(position, end), piece, out) : piece;
        } else {
            empty.push_back(tensors[i]);
        }
        end = begin;
    }
    if (!out) out = Tensor::uniform(constant_int(type, 0), shape, placed->placement());
    return empty.empty() ? out : without_derivative(out, std::move(empty));
}

Tensor stack(const std::vector<Tensor>& tensors, int axis) {
    if (tensors.empty()) user_error(ErrorKind::Usage, "[stack] at least one tensor is needed");
    int at = axis_of("stack", axis, tensors[0].ndim() + 1);
    std::vector<Tensor> rows;
    for (const Tensor& t : tensors) {
        if (t.shape() != tensors[0].shape())
            user_error(ErrorKind::Shape, "[stack] shapes {} and {} differ", to_string(tensors[0].shape()),
                       to_string(t.shape()));
        rows.push_back(t.unsqueeze(at));
    }
    return cat(rows, at);
}

std::vector<Tensor> broadcast_tensors(const std::vector<Tensor>& tensors) {
    Shape shape;
    for (const Tensor& t : tensors) shape = broadcast_shapes("broadcast_tensors", shape, t.shape());
    std::vector<Tensor> out;
    for (const Tensor& t : tensors) out.push_back(expand_to(t, shape));
    return out;
}

}  // namespace ops
}  // namespace strata
