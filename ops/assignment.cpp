// Elements given other values: a graph that chooses, at each place, the old value or a new one.
#include <algorithm>

#include "strata/ops/build_p.h"
#include "strata/ops/complex_p.h"
#include "strata/ops/gradient_rules.h"
#include "strata/ops/index_error.h"
#include "strata/ops/indexing_p.h"
#include "strata/ops/store_at_p.h"

namespace strata {

namespace ops {

Tensor sums_at(const Tensor& positions, const Tensor& values, int64_t n) {
    constexpr int64_t kTogether = 8;
    const int64_t m = positions.numel();
    const Tensor order = positions.argsort().contiguous(), place = take_axis(positions, order, 0).contiguous();
    const auto earlier = [&](const Tensor& x, int axis, int64_t by, Number filler) {
        Pairs added(x.shape().size(), {0, 0}), kept;
        added[static_cast<size_t>(axis)].first = by;
        for (int64_t size : x.shape()) kept.emplace_back(0, size);
        return x.pad(added, filler).shrink(kept);
    };
    Tensor sums = take_axis(values, order, 1);
    for (int64_t apart = 1; apart < m; apart *= kTogether) {
        const Tensor these = sums;
        for (int64_t by = apart; by < std::min(apart * kTogether, m); by += apart) {
            const Tensor same = eq(earlier(place, 0, by, -1), place).reshape({1, m, 1});
            sums = sums + where(same, earlier(these, 1, by, 0), 0);
        }
        sums = sums.contiguous();
    }
    const Tensor at = iota(n).cast(place.dtype()), last = place.searchsorted(at, true) - 1, some = last.maximum(0);
    const Tensor there = bitwise_and(ge(last, 0), eq(take_axis(place, some, 0), at)).reshape({1, n, 1});
    return where(there, take_axis(sums, some, 1), 0);
}

}  // namespace ops

using namespace ops;

namespace {

constexpr int64_t kMostPairs = int64_t{1} << 24;  ///< of a place and what may go there; more are ordered, and looked up

/// For each of n places the last j with positions[j] = place, or -1.
Tensor last_writer(const Tensor& positions, int64_t n) {
    const int64_t m = positions.numel();
    if (times("scatter", n, m) <= kMostPairs) {
        const Shape pairs{n, m};
        Tensor place = iota(n).cast(positions.dtype()).reshape({n, 1});
        Tensor writer = where(eq(positions.reshape({1, m}), place), iota(m).reshape({1, m}), -1);
        return reduce(expand_to(writer, pairs), Op::max, {1}).reshape({n}).contiguous();
    }
    Tensor order = positions.argsort().contiguous(), ordered = take_axis(positions, order, 0).contiguous();
    Tensor place = iota(n).cast(positions.dtype());
    Tensor last = ordered.searchsorted(place, true) - 1, some = last.maximum(0);
    Tensor written = bitwise_and(ge(last, 0), eq(take_axis(ordered, some, 0), place));
    return where(written, take_axis(order, some, 0), -1).contiguous();
}

/// old (n,) with values (m,) at positions (m,); of several for one place the last.
Tensor written(const Tensor& old, const Tensor& positions, const Tensor& values) {
    if (positions.numel() == 0) return without_derivative(old, {values});
    if (is_stored_in_place(old, positions.numel())) {
        const Tensor at = positions.contiguous();
        return stored_at(old.reshape({old.numel(), 1}), at, values.reshape({at.numel(), 1}), is_last_there(at))
            .flatten();
    }
    Tensor writer = last_writer(positions.contiguous(), old.numel());
    Tensor chosen = values.is_uniform() ? Tensor::uniform(values.value(), old.shape(), values.placement())
                                        : take_axis(values, writer.maximum(0), 0);
    return where(ge(writer, 0), chosen, old);
}

/// A number or tensor as the value to store in a tensor of x's type.
Tensor as_value(const Tensor& x, const Operand& value) {
    DType from = value.tensor() ? value.tensor()->dtype() : value.number().default_dtype();
    bool loses = (from.is_float() && !x.dtype().is_float()) || from.is_complex();
    if (loses)
        user_error(ErrorKind::DType, "x[...] = {} in a tensor of {}: cast the value first", from.name(),
                   x.dtype().name());
    return value.tensor() ? value.tensor()->cast(x.dtype()) : like(x, value.number(), {}, x.dtype());
}

Tensor fitted(const Tensor& value, const Shape& to) {
    Shape from = value.shape();
    while (from.size() > to.size() && from.front() == 1) from.erase(from.begin());
    bool fits = from.size() <= to.size();
    for (size_t i = 0; fits && i < from.size(); ++i) fits = from[i] == 1 || from[i] == to[to.size() - from.size() + i];
    if (!fits)
        user_error(ErrorKind::Shape, "x[...] = value: the value has shape {}, the place {}", to_string(value.shape()),
                   to_string(to));
    return expand_to(value.reshape(from), to);
}

/// For each of the positions of x[indices], flattened, whether none of those after it is the same; none: there is one.
/// One array of indices alone decides for whole rows.
Tensor is_last_of_rows(const std::vector<Index>& indices, const Tensor& positions) {
    const auto is_array = [](const Index& i) { return i.kind == Index::Kind::tensor; };
    const auto one = std::ranges::find_if(indices, is_array);
    const bool alone = std::ranges::count_if(indices, is_array) == 1 && !one->indices.dtype().is_bool() &&
                       std::ranges::count(indices, Index::Kind::integer, &Index::kind) == 0;
    if (!alone) return is_last_there(positions.flatten());
    const auto first = static_cast<size_t>(
        std::count_if(indices.begin(), one, [](const Index& i) { return i.kind != Index::Kind::ellipsis; }));
    const size_t end = first + one->indices.shape().size();
    Pairs heads;
    Shape along(positions.shape().size(), 1);
    for (size_t i = 0; i < along.size(); ++i) {
        if (i >= first && i < end) along[i] = positions.shape()[i];
        heads.emplace_back(0, along[i]);
    }
    const Tensor last = is_last_there(positions.shrink(heads).flatten());
    return last ? expand_to(last.reshape(along), positions.shape()).flatten() : last;
}

/// x with values at x[indices], whose positions these are.
Tensor stored_in_place(const Tensor& x, const std::vector<Index>& indices, const Tensor& positions,
                       const Tensor& values) {
    const Index& first = indices[0];
    const bool rows = indices.size() == 1 && first.kind == Index::Kind::tensor && !first.indices.dtype().is_bool();
    const int64_t width = rows ? x.numel() / x.size(0) : 1, m = positions.numel() / width;
    const Tensor at = (rows ? checked_indices(first.indices, x.size(0), 0) : positions).reshape({m}).contiguous();
    const bool basic = std::ranges::none_of(indices, [](const Index& i) { return i.kind == Index::Kind::tensor; });
    const Tensor kept = basic  ? Tensor()
                        : rows ? is_last_there(at)
                               : is_last_of_rows(spelled_out(indices, x.shape()), positions);
    return stored_at(x.reshape({x.numel() / width, width}), at, values.reshape({m, width}), kept).reshape(x.shape());
}

bool is_basic(const Index& i) { return i.kind != Index::Kind::tensor; }

/// `value` where x[indices] has its elements, in a tensor of `shape`, and 0 elsewhere. Empty: it has none.
Tensor placed_at(const std::vector<Index>& indices, const Tensor& value, const Shape& shape) {
    Shape result, kept, together;
    Pairs between, reach, around;
    std::vector<int> flips;
    int axis = 0;
    for (const Index& entry : spelled_out(indices, shape)) {
        if (entry.kind == Index::Kind::ellipsis) continue;
        if (entry.kind == Index::Kind::new_axis) {
            result.push_back(1);
            continue;
        }
        const int64_t n = shape[static_cast<size_t>(axis)];
        AxisPick pick{0, 0, 1};
        if (entry.kind == Index::Kind::slice) {
            pick = pick_slice(entry, n);
            result.push_back(pick.count);
        } else {
            pick.begin = checked_position(entry.start.value_or(0), n, axis);
            pick.end = pick.begin + 1;
        }
        kept.insert(kept.end(), {pick.count, 1});
        between.insert(between.end(), {{0, 0}, {0, pick.step - 1}});
        together.push_back(pick.count * pick.step);
        reach.emplace_back(0, pick.end - pick.begin);
        around.emplace_back(pick.begin, n - pick.end);
        if (pick.flip) flips.push_back(axis);
        axis++;
    }
    Tensor fit = fitted(value, result);
    if (fit.numel() == 0) return {};
    return fit.reshape(kept).pad(between).reshape(together).shrink(reach).flip(flips).pad(around);
}

void check_scatter(std::string_view name, const Tensor& x, const Tensor& indices, const Tensor& values, int at) {
    check_integer(name, indices);
    bool fits = x.ndim() == indices.ndim() && x.ndim() == values.ndim();
    for (int i = 0; fits && i < x.ndim(); ++i)
        fits = indices.size(i) <= values.size(i) && (i == at || indices.size(i) <= x.size(i));
    if (!fits)
        user_error(ErrorKind::Shape,
                   "[{}] indices {} and values {} into {}: indices are larger along no axis than values, and, but for "
                   "axis {}, than x",
                   name, to_string(indices.shape()), to_string(values.shape()), to_string(x.shape()), at);
}

/// Those values that have an index.
Tensor with_index(const Tensor& values, const Tensor& indices) {
    if (values.shape() == indices.shape()) return values;
    Pairs bounds;
    for (int64_t n : indices.shape()) bounds.emplace_back(0, n);
    return values.shrink(bounds);
}

/// x with f of those of its elements that smaller indices stand beside; the others stay. nullopt: all do.
template <typename F>
std::optional<Tensor> beside_alone(std::string_view name, const Tensor& x, int at, const Tensor& indices,
                                   const Tensor& values, const F& f) {
    check_scatter(name, x, indices, values, at);
    const Pairs part = beside(indices.shape(), x.shape(), at, false);
    if (part.empty()) return std::nullopt;
    std::vector<Index> place;
    for (const auto& [begin, end] : part) place.push_back(Index::slice(begin, end));
    return x.with(place, f(x.shrink(part)));
}

/// x (rows, n) and what is scattered, (rows, m), with the axis last.
struct Scatter {
    Tensor place;    ///< (1, n, 1)
    Tensor indices;  ///< (rows, 1, m)
    Tensor values;   ///< (rows, 1, m)
    Tensor old;      ///< (rows, n)
    Shape moved;
    int64_t rows() const { return old.size(0); }
    int64_t n() const { return old.size(1); }
    int64_t m() const { return indices.size(2); }
    bool few(std::string_view name) const { return times(name, old.numel(), m()) <= kMostPairs; }
    /// Where the values go in all of old, (rows * m,).
    Tensor positions() const {
        Tensor start = iota(rows()).cast(dtypes::int64).reshape({rows(), 1, 1}) * n();
        return (start + indices).flatten().contiguous();
    }
};

Scatter prepared(std::string_view name, const Tensor& x, int at, const Tensor& indices, const Tensor& values) {
    common_device(name, x, indices);
    common_device(name, x, values);
    const int64_t n = x.size(at), m = indices.size(at), rows = n ? x.numel() / n : 0;
    Tensor old = x.movedim(at, -1), wrapped = checked_indices(indices, n, at).movedim(at, -1);
    return {iota(n).cast(wrapped.dtype()).reshape({1, n, 1}), wrapped.reshape({rows, 1, m}),
            with_index(values, indices).cast(x.dtype()).movedim(at, -1).reshape({rows, 1, m}), old.reshape({rows, n}),
            old.shape()};
}

}  // namespace

Tensor Tensor::with(const std::vector<Index>& indices, const Operand& given) const {
    if (parts_) {
        const Tensor* x = given.tensor();
        Tensor re = x ? real().with(indices, x->real()) : real().with(indices, given.number().real());
        return of_parts(re, x ? imag().with(indices, x->imag()) : imag().with(indices, given.number().imaginary));
    }
    Tensor value = as_value(*this, given);
    common_device("x[...] = value", *this, value);
    const bool basic = std::all_of(indices.begin(), indices.end(), is_basic);
    if (basic && !is_stored_in_place(*this, index(indices).numel())) {
        Tensor mask = placed_at(indices, like(*this, true, {}, dtypes::boolean), shape());
        return mask ? ops::where(mask, placed_at(indices, value, shape()), *this) : *this;
    }
    const Index& only = indices[0];
    if (!basic && indices.size() == 1 && only.indices.dtype().is_bool() && value.numel() == 1 &&
        only.indices.ndim() > 0) {
        Shape mask = only.indices.shape(), start = shape();
        start.resize(std::min(mask.size(), start.size()));
        if (start != mask)
            index_error(ErrorKind::Shape, "[index] a mask of shape {} for a tensor of shape {}", to_string(mask),
                        to_string(shape()));
        mask.resize(shape().size(), 1);
        return ops::where(only.indices.reshape(mask), value.reshape({}), *this);
    }
    Tensor flat = iota(numel());
    flat.device_ = device_;
    Tensor positions =
        numel() ? flat.reshape(shape()).index(indices) : like(*this, 0, shape(), dtypes::int32).index(indices);
    Tensor values = fitted(value, positions.shape());
    if (is_stored_in_place(*this, positions.numel())) return stored_in_place(*this, indices, positions, values);
    return written(flatten(), positions.flatten(), values.flatten()).reshape(shape());
}

Tensor Tensor::scatter(int axis, const Tensor& indices, const Tensor& values) const {
    if (parts_)
        return of_parts(real().scatter(axis, indices, values.real()), imag().scatter(axis, indices, values.imag()));
    const int at = axis_of("scatter", axis, ndim());
    const auto into = [&](const Tensor& x) { return x.scatter(at, indices, values); };
    if (std::optional<Tensor> part = beside_alone("scatter", *this, at, indices, values, into)) return *part;
    Scatter s = prepared("scatter", *this, at, indices, values);
    if (indices.numel() == 0) return without_derivative(*this, {values});
    const int64_t rows = s.rows(), n = s.n(), m = s.m();
    if (!s.few("scatter"))
        return written(s.old.flatten(), s.positions(), s.values.flatten()).reshape(s.moved).movedim(-1, at);
    Tensor writer = ops::where(ops::eq(s.indices, s.place), iota(m).reshape({1, 1, m}), -1);
    writer = reduce(expand_to(writer, {rows, n, m}), Op::max, {2}).reshape({rows, n}).contiguous();
    Tensor start = iota(rows).reshape({rows, 1}).cast(dtypes::int64) * m;
    Tensor chosen = take_axis(s.values.flatten(), (start + writer.maximum(0)), 0);
    return ops::where(ops::ge(writer, 0), chosen, s.old).reshape(s.moved).movedim(-1, at);
}

Tensor Tensor::scatter_add(int axis, const Tensor& indices, const Tensor& values) const {
    if (parts_)
        return of_parts(real().scatter_add(axis, indices, values.real()),
                        imag().scatter_add(axis, indices, values.imag()));
    const int at = axis_of("scatter_add", axis, ndim());
    if (dtype().is_bool())
        user_error(ErrorKind::DType, "[scatter_add] takes integers and floats, not bool; cast first");
    const auto into = [&](const Tensor& x) { return x.scatter_add(at, indices, values); };
    if (std::optional<Tensor> part = beside_alone("scatter_add", *this, at, indices, values, into)) return *part;
    Scatter s = prepared("scatter_add", *this, at, indices, values);
    if (indices.numel() == 0) return without_derivative(*this, {values});
    const int64_t rows = s.rows(), n = s.n();
    Tensor values_there = widened(s.values, false), added;
    if (s.few("scatter_add")) {
        Tensor arrived = ops::where(ops::eq(s.indices, s.place), values_there, 0);
        added = s.m() == 1 ? arrived : reduce(expand_to(arrived, {rows, n, s.m()}), Op::add, {2});
    } else if (!dtype().is_float()) {
        added = integer_sums_at(s.positions(), s.values, rows * n);
    } else {
        added = sums_at(s.positions(), values_there.reshape({1, indices.numel(), 1}), rows * n);
    }
    added = added.reshape({rows, n});
    return (widened(s.old, false) + added).cast(dtype()).reshape(s.moved).movedim(-1, at);
}

Tensor Tensor::index_add(int axis, const Tensor& indices, const Tensor& values) const {
    const int at = axis_of("index_add", axis, ndim());
    if (indices.ndim() != 1)
        user_error(ErrorKind::Shape, "[index_add] indices have one axis, not shape {}", to_string(indices.shape()));
    Shape along(shape().size(), 1), to = shape();
    along[static_cast<size_t>(at)] = to[static_cast<size_t>(at)] = indices.numel();
    return scatter_add(at, indices.reshape(along).expand(to), values);
}

Tensor Tensor::masked_fill(const Tensor& mask, Number value) const {
    if (parts_) return of_parts(real().masked_fill(mask, value.real()), imag().masked_fill(mask, value.imaginary));
    Tensor filled = ops::where(mask, as_value(*this, value), *this);
    if (filled.shape() != shape())
        user_error(ErrorKind::Shape, "[masked_fill] a mask of shape {} for a tensor of shape {}",
                   to_string(mask.shape()), to_string(shape()));
    return filled;
}

}  // namespace strata
