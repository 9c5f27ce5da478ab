// places: functions of shapes and axes for rows of ops.def.
#include <algorithm>

#include "strata/ops/gradients.h"
#include "strata/plan/functions_p.h"

namespace strata::plan {
namespace {

/// (before, after) by axis.
Pairs pairs_of(const std::vector<int64_t>& list, int rank, const char* name) {
    if (list.size() != 2 * static_cast<size_t>(rank))
        plan_error(Status::invalid, name, {2 * static_cast<uint64_t>(rank), list.size()},
                   "[plan] '{}' has {} numbers: a pair for each of {} axes", name, list.size(), rank);
    Pairs out;
    for (size_t i = 0; i < list.size(); i += 2) out.emplace_back(list[i], list[i + 1]);
    return out;
}

Tensor part(const Tensor& x, int axis, int64_t begin, int64_t end) {
    Pairs bounds;
    for (int i = 0; i < x.ndim(); ++i) bounds.emplace_back(i == axis ? begin : 0, i == axis ? end : x.size(i));
    return x.shrink(bounds);
}

/// The axis with elements on both sides, taken of those that it has.
Tensor padded(const Tensor& x, int axis, int64_t before, int64_t after, const std::string& mode) {
    const int64_t n = x.size(axis), most = mode == "reflect" ? n - 1 : mode == "circular" ? n : std::max(before, after);
    if (before < 0 || after < 0 || (n == 0 && before + after > 0) || std::max(before, after) > most)
        plan_error(Status::invalid, "padding",
                   {static_cast<uint64_t>(std::max<int64_t>(most, 0)), static_cast<uint64_t>(std::max(before, after))},
                   "[pad] axis {} of size {} has no {} elements to repeat by '{}'", axis, n, std::max(before, after),
                   mode);
    const auto edge = [&](int64_t at, int64_t count) {
        Shape shape = x.shape();
        shape[static_cast<size_t>(axis)] = count;
        return part(x, axis, at, at + 1).expand(shape);
    };
    std::vector<Tensor> parts;
    if (before > 0)
        parts.push_back(mode == "reflect"     ? part(x, axis, 1, before + 1).flip(axis)
                        : mode == "replicate" ? edge(0, before)
                                              : part(x, axis, n - before, n));
    parts.push_back(x);
    if (after > 0)
        parts.push_back(mode == "reflect"     ? part(x, axis, n - 1 - after, n - 1).flip(axis)
                        : mode == "replicate" ? edge(n - 1, after)
                                              : part(x, axis, 0, after));
    return ops::cat(parts, axis);
}

}  // namespace

Tensor pad(const Tensor& x, const Call& call) {
    const Pairs pairs = pairs_of(call.integers("padding"), x.ndim(), "padding");
    if (call.text("mode") == "constant") return x.pad(pairs, call.number("value"));
    Tensor out = x;
    for (int axis = 0; axis < x.ndim(); ++axis) {
        const auto [before, after] = pairs[static_cast<size_t>(axis)];
        out = padded(out, axis, before, after, call.text("mode"));
    }
    return out;
}

Tensor concat(const Call& call) {
    std::vector<Tensor> parts;
    for (size_t i = 0; i < 8; ++i)
        if (call.at(i)) parts.push_back(call.at(i));
    return ops::cat(parts, call.axis());
}

Tensor write_slice(const Tensor& x, const Tensor& values, const std::vector<int64_t>& start) {
    if (start.size() != x.shape().size() || values.ndim() != x.ndim())
        plan_error(Status::invalid, "start", {x.shape().size(), start.size()},
                   "[write_slice] 'x', 'values' and 'start' have one number of axes");
    std::vector<Index> at;
    for (size_t i = 0; i < start.size(); ++i) {
        const int64_t end = start[i] + values.shape()[i];
        if (start[i] < 0 || end > x.shape()[i])
            plan_error(Status::invalid, "values", {static_cast<uint64_t>(x.shape()[i]), static_cast<uint64_t>(end)},
                       "[write_slice] 'values' leave axis {} of 'x'", i);
        at.push_back(Index::slice(start[i], end));
    }
    return x.with(at, values);
}

Tensor reduce_to(const Tensor& x, const std::vector<int64_t>& shape) {
    const size_t rank = x.shape().size();
    if (shape.size() > rank)
        plan_error(Status::invalid, "shape", {rank, shape.size()}, "[reduce_to] 'shape' has more axes than 'x'");
    std::vector<int> axes;
    for (size_t i = 0; i < rank; ++i) {
        const bool is_new = i + shape.size() < rank;
        const int64_t wanted = is_new ? 1 : shape[i + shape.size() - rank], size = x.shape()[i];
        if (wanted != size && wanted != 1)
            plan_error(Status::invalid, "shape", {static_cast<uint64_t>(size), static_cast<uint64_t>(wanted)},
                       "[reduce_to] 'x' of shape {} is broadcast from no {}", to_string(x.shape()), to_string(shape));
        if (wanted != size || is_new) axes.push_back(static_cast<int>(i));
    }
    return axes.empty() ? x : x.sum(axes, true, x.dtype()).reshape(shape);
}

Tensor trace(const Tensor& x) {
    if (x.ndim() < 2)
        plan_error(Status::invalid, "x", {2, x.shape().size()}, "[trace] 'x' has {} axes, a matrix has two", x.ndim());
    const Tensor one = Tensor::eye(x.size(-2), x.size(-1), 0, dtypes::boolean);
    return ops::where(one, x, 0).sum({-2, -1}, false, x.dtype());
}

OptionalAxis optional_axis(const Call& call) {
    const std::vector<int64_t>& axes = call.integers("axis");
    if (axes.size() > 1)
        plan_error(Status::invalid, "axis", {1, axes.size()}, "[plan] it takes one axis, or none for all");
    return axes.empty() ? OptionalAxis() : static_cast<int>(axes[0]);
}

std::optional<Shape> sizes(const Call& call, std::string_view attribute) {
    const std::vector<int64_t>& list = call.integers(attribute);
    return list.empty() ? std::nullopt : std::optional(list);
}

// Steps of 1, 2, 4, ... elements: each adds what lies that far before.
Tensor logcumsumexp(const Tensor& x, int axis) {
    const int at = axis < 0 ? axis + x.ndim() : axis;
    const int64_t n = x.size(at);
    Tensor y = x;
    for (int64_t step = 1; step < n; step *= 2) {
        const Tensor earlier = part(y, at, 0, n - step), later = part(y, at, step, n);
        y = ops::cat({part(y, at, 0, step), later.logaddexp(earlier)}, at);
    }
    return y;
}

// The support are the elements above a threshold (Martins and Astudillo 2016), which sums to 1 over it.
Tensor sparsemax(const Tensor& x, int axis) {
    const Tensor sorted = x.sort(axis, true), sums = sorted.cumsum(axis);
    Shape along(static_cast<size_t>(x.ndim()), 1);
    const int at = axis < 0 ? axis + x.ndim() : axis;
    along[static_cast<size_t>(at)] = x.size(at);
    const Tensor count = Tensor::arange(1, x.size(at) + 1, 1, x.dtype()).reshape(along);
    const Tensor in = ops::gt(sorted * count + 1, sums).cast(x.dtype()), size = in.sum(at, true);
    const Tensor first = ((sorted * in).sum(at, true) - 1) / size;
    const Tensor support = ops::gt(x, ops::detach(first)).cast(x.dtype());
    const Tensor level = ((x * support).sum(at, true) - 1) / support.sum(at, true);
    return (x - level) * support;
}

}  // namespace strata::plan
