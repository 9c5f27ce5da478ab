#include <algorithm>

#include "strata/core/support/settings.h"
#include "strata/ops/build_p.h"
#include "strata/ops/complex_p.h"
#include "strata/ops/gradient_rules.h"
#include "strata/ops/index_error.h"
#include "strata/ops/indexing_p.h"

namespace strata {

using namespace ops;

namespace ops {

AxisPick pick_slice(const Index& s, int64_t n) {
    if (s.step == 0) user_error(ErrorKind::Usage, "[index] a slice with step 0");
    bool down = s.step < 0;
    int64_t most = std::max<int64_t>(n, 1), step = std::clamp(s.step, -most, most);
    if (down) step = -step;
    int64_t lowest = down ? -1 : 0, highest = down ? n - 1 : n;
    auto bound = [&](std::optional<int64_t> at, int64_t absent) {
        if (!at) return absent;
        return std::clamp(*at < 0 ? *at + n : *at, lowest, highest);
    };
    int64_t start = bound(s.start, down ? highest : lowest), stop = bound(s.stop, down ? lowest : highest);
    int64_t span = down ? start - stop : stop - start;
    if (span <= 0) return {0, 0, 0};
    int64_t count = (span - 1) / step + 1, reach = times("index", count, step);
    if (!down) return {start, reach < n - start ? start + reach : n, count, step, false};
    return {std::max(start - reach + 1, int64_t{0}), start + 1, count, step, true};
}

int64_t checked_position(int64_t i, int64_t n, int axis) {
    if (i < -n || i >= n)
        index_error(ErrorKind::Usage, "[index] index {} is out of range for axis {} of size {}", i, axis, n);
    return i < 0 ? i + n : i;
}

}  // namespace ops

namespace {

/// One pick an axis: shrink, flip, then every step-th element by a reshape to (count, step) of which column 0 is kept.
Tensor picked(const Tensor& x, const std::vector<AxisPick>& picks) {
    Pairs keep, room, columns;
    std::vector<int> flips;
    Shape split, to;
    bool strided = false;
    for (size_t i = 0; i < picks.size(); ++i) {
        const AxisPick& p = picks[i];
        keep.emplace_back(p.begin, p.end);
        if (p.flip) flips.push_back(static_cast<int>(i));
        room.emplace_back(0, p.count * p.step - (p.end - p.begin));
        columns.insert(columns.end(), {{0, p.count}, {0, 1}});
        split.insert(split.end(), {p.count, p.step});
        to.push_back(p.count);
        strided |= p.step != 1;
    }
    Tensor out = x.shrink(keep).flip(flips);
    if (out.is_uniform()) return Tensor::uniform(out.value(), to, x.placement());
    if (product(to) == 0) return without_derivative(like(x, 0, to, x.dtype()), {x});
    if (!strided) return out;
    return out.pad(room).reshape(split).shrink(columns).reshape(to);
}

struct AdvancedIndex {
    int axis;        ///< in the tensor that basic indexing left
    int source;      ///< in the tensor that is indexed
    Tensor indices;  ///< or empty: `position`
    int64_t position = 0;
};

}  // namespace

namespace ops {

Tensor checked_indices(const Tensor& indices, int64_t n, int axis) {
    DType type = indices.dtype();
    bool narrow = type.bits() < 32 || type == dtypes::int32;
    Tensor wide = indices.cast(type == dtypes::uint64                  ? type
                               : narrow && n <= int_max(dtypes::int32) ? dtypes::int32
                                                                       : dtypes::int64);
    if (settings().check_indices) return op(Op::bounded, {wide, like(wide, n), like(wide, axis)});
    return wide.dtype().is_unsigned() ? wide : where(lt(wide, 0), add(wide, n), wide);
}

Tensor take_axis(const Tensor& x, const Tensor& indices, int axis) {
    const runtime::Device* device = common_device("take", x, indices);
    Shape to(x.shape().begin(), x.shape().begin() + axis);
    to.insert(to.end(), indices.shape().begin(), indices.shape().end());
    to.insert(to.end(), x.shape().begin() + axis + 1, x.shape().end());
    check_shape("take", to);
    if (product(to) > 0 && x.size(axis) == 0)
        user_error(ErrorKind::Shape, "[take] axis {} of shape {} has no elements to take", axis, to_string(x.shape()));
    GraphScope scope;
    if (product(to) == 0) return without_derivative(Tensor::uniform(constant_int(x.dtype(), 0), to, device), {x});
    if (x.is_uniform() && !settings().check_indices) return Tensor::uniform(x.value(), to, device);
    UOp result = make(Op::take, x.dtype(), {x.uop(), indices.uop()}, TakeArg{axis});
    return Tensor(result, device);
}

}  // namespace ops

namespace {

/// The type of offsets below `elements`; those that are not checked keep all bits of their indices.
DType offset_dtype(int64_t elements) {
    return settings().check_indices && elements <= int_max(dtypes::int32) ? dtypes::int32 : dtypes::int64;
}

/// Integer tensors on several axes: the axes are made one, indexed by the offset into it. `adjacent`: nothing stands
/// between them that takes no axis.
Tensor take_together(Tensor x, const std::vector<AdvancedIndex>& parts, bool adjacent) {
    Shape shape, merged_sizes;
    std::vector<int> order;
    for (size_t i = 0; i < parts.size(); ++i) {
        adjacent &= i == 0 || parts[i].axis == parts[i - 1].axis + 1;
        if (parts[i].indices) shape = broadcast_shapes("index", shape, parts[i].indices.shape());
        merged_sizes.push_back(x.size(parts[i].axis));
    }
    int at = adjacent ? parts[0].axis : 0;
    for (int i = 0; i < x.ndim(); ++i)
        if (std::none_of(parts.begin(), parts.end(), [&](const AdvancedIndex& p) { return p.axis == i; }))
            order.push_back(i);
    for (size_t i = parts.size(); i-- > 0;) order.insert(order.begin() + at, parts[i].axis);
    int64_t stride = product(merged_sizes), known = 0;
    DType type = offset_dtype(stride);
    Tensor offset;
    for (size_t i = 0; i < parts.size(); ++i) {
        stride = merged_sizes[i] ? stride / merged_sizes[i] : 0;
        if (!parts[i].indices) {
            known += parts[i].position * stride;
            continue;
        }
        Tensor part = mul(checked_indices(parts[i].indices, merged_sizes[i], parts[i].source).cast(type), stride);
        offset = offset ? add(offset, part) : part;
    }
    if (known) offset = add(offset, known);
    x = x.permute(order);
    x = x.flatten(at, at + static_cast<int>(parts.size()) - 1);
    return take_axis(x, expand_to(offset, shape), at);
}

void check_indices(const Tensor& indices) {
    if (indices.dtype().is_bool())
        user_error(ErrorKind::Usage, "[index] a mask takes no place of integer indices: x[mask], or mask.nonzero()");
    check_integer("index", indices);
}

bool is_mask(const Index& i) { return i.kind == Index::Kind::tensor && i.indices.dtype().is_bool(); }

/// The entries with, in place of each mask, the positions of what is true in it.
std::vector<Index> without_masks(const std::vector<Index>& entries, const Shape& shape) {
    std::vector<Index> out;
    size_t axis = 0;
    for (const Index& entry : entries) {
        if (!is_mask(entry)) {
            out.push_back(entry);
            axis += entry.kind != Index::Kind::new_axis && entry.kind != Index::Kind::ellipsis;
            continue;
        }
        const Shape& mask = entry.indices.shape();
        if (mask.empty()) user_error(ErrorKind::Usage, "[index] a mask without axes stands alone: x[mask]");
        if (!std::equal(mask.begin(), mask.end(), shape.begin() + static_cast<int64_t>(axis)))
            index_error(ErrorKind::Shape, "[index] a mask of shape {} at axis {} of shape {}", to_string(mask), axis,
                        to_string(shape));
        for (Tensor& positions : entry.indices.nonzero()) out.push_back(Index::tensor(std::move(positions)));
        axis += mask.size();
    }
    return out;
}

}  // namespace

namespace ops {

std::vector<Index> spelled_out(const std::vector<Index>& indices, const Shape& shape) {
    int consumed = 0, dots = 0;
    for (const Index& i : indices) {
        bool takes_axis = i.kind != Index::Kind::new_axis && i.kind != Index::Kind::ellipsis;
        consumed += is_mask(i) ? i.indices.ndim() : takes_axis;
        dots += i.kind == Index::Kind::ellipsis;
    }
    if (dots > 1) index_error(ErrorKind::Usage, "[index] more than one ellipsis");
    int missing = static_cast<int>(shape.size()) - consumed;
    if (missing < 0)
        index_error(ErrorKind::Usage, "[index] {} indices for the {} axes of shape {}", consumed, shape.size(),
                    to_string(shape));
    std::vector<Index> out;
    for (const Index& i : indices) {
        if (i.kind != Index::Kind::ellipsis || !missing)
            out.push_back(i);
        else
            out.insert(out.end(), static_cast<size_t>(missing), Index::slice());
    }
    if (!dots) out.insert(out.end(), static_cast<size_t>(missing), Index::slice());
    return out;
}

}  // namespace ops

Tensor Tensor::index(const std::vector<Index>& indices) const {
    if (indices.size() == 1 && is_mask(indices[0]) && indices[0].indices.ndim() == 0) {
        Tensor all = unsqueeze(0), mask = indices[0].indices;
        Pairs bounds{{0, mask.item().as_int()}};
        for (int64_t n : shape()) bounds.emplace_back(0, n);
        return all.shrink(bounds);
    }
    std::vector<Index> entries = spelled_out(indices, shape());
    for (Index& entry : entries)
        if (is_mask(entry) && !entry.indices.device_) entry.indices.device_ = device_;
    entries = without_masks(entries, shape());
    if (parts_) return each_part(*this, [&](const Tensor& part) { return part.index(entries); });
    bool advanced =
        std::any_of(entries.begin(), entries.end(), [](const Index& i) { return i.kind == Index::Kind::tensor; });
    std::vector<AxisPick> picks;
    std::vector<AdvancedIndex> parts;
    Shape to;
    int axis = 0;
    size_t before_dots = 0;  // parts before an ellipsis of no axes
    for (const Index& entry : entries) {
        if (entry.kind == Index::Kind::ellipsis) {
            before_dots = parts.size();
            continue;
        }
        if (entry.kind == Index::Kind::new_axis) {
            to.push_back(1);
            continue;
        }
        int64_t n = shape()[static_cast<size_t>(axis)];
        if (entry.kind == Index::Kind::integer) {
            int64_t i = checked_position(entry.start.value_or(0), n, axis);
            // Beside integer tensors an integer takes part as a 0-D one: NumPy's rule for where their axes go.
            if (advanced) parts.push_back({static_cast<int>(to.size()), axis, {}, i});
            picks.push_back(advanced ? AxisPick{0, n, n} : AxisPick{i, i + 1, 1});
            if (advanced) to.push_back(n);
        } else if (entry.kind == Index::Kind::slice) {
            picks.push_back(pick_slice(entry, n));
            to.push_back(picks.back().count);
        } else {
            check_indices(entry.indices);
            if (entry.ends) {
                checked_position(entry.ends->first, n, axis);
                checked_position(entry.ends->second, n, axis);
            }
            parts.push_back({static_cast<int>(to.size()), axis, entry.indices});
            picks.push_back({0, n, n});
            to.push_back(n);
        }
        axis++;
    }
    Tensor x = picked(*this, picks).reshape(to);
    return parts.empty() ? x : take_together(x, parts, before_dots == 0 || before_dots == parts.size());
}

Tensor Tensor::take(const Tensor& indices, OptionalAxis axis) const {
    if (parts_) return each_part(*this, [&](const Tensor& part) { return part.take(indices, axis); });
    check_indices(indices);
    if (!axis) return flatten().take(indices, 0);
    int at = axis_of("take", *axis, ndim());
    return take_axis(*this, size(at) ? checked_indices(indices, size(at), at) : indices, at);
}

namespace ops {

Pairs beside(const Shape& indices, const Shape& shape, int axis, bool one_is_all) {
    Pairs bounds;
    bool smaller = false;
    for (size_t i = 0; i < shape.size(); ++i) {
        const bool all = static_cast<int>(i) == axis || indices[i] >= shape[i] || (one_is_all && indices[i] == 1);
        bounds.emplace_back(0, all ? shape[i] : indices[i]);
        smaller |= !all;
    }
    return smaller ? bounds : Pairs{};
}

}  // namespace ops

Tensor Tensor::gather(int axis, const Tensor& indices) const {
    if (parts_) return each_part(*this, [&](const Tensor& part) { return part.gather(axis, indices); });
    check_indices(indices);
    int at = axis_of("gather", axis, ndim());
    Shape from = shape(), wanted = indices.shape();
    if (from.size() != wanted.size())
        user_error(ErrorKind::Shape, "[gather] shapes {} and {}: both need the same number of axes", to_string(from),
                   to_string(wanted));
    if (const Pairs first = beside(wanted, from, at, true); !first.empty()) return shrink(first).gather(axis, indices);
    from[static_cast<size_t>(at)] = 1;
    Shape to = broadcast_shapes("gather", from, wanted);
    int64_t stride = numel();
    DType type = offset_dtype(stride);
    Tensor offset;
    const runtime::Device* device = common_device("gather", *this, indices);
    GraphScope scope;
    if (product(to) == 0) return without_derivative(uniform(constant_int(dtype(), 0), std::move(to), device), {*this});
    for (int i = 0; i < ndim(); ++i) {
        int64_t n = shape()[static_cast<size_t>(i)];
        stride = n ? stride / n : 0;
        if (i != at && n == 1) continue;
        Tensor position = i == at && n ? checked_indices(indices, n, at) : iota_along(to, i);
        Tensor part = ops::mul(position.cast(type), stride);
        offset = offset ? ops::add(offset, part) : part;
    }
    // Each place of the axis gets what arrived where it was taken, of the same row alone.
    Shape whole = to;
    whole[static_cast<size_t>(at)] = size(at);
    return with_backward(take_axis(reshape({numel()}), expand_to(offset, to), 0), "gathered", {expand_to(*this, whole)},
                         [=, places = held(indices)](const Tensor& g) {
                             Tensor none = like(g, 0, whole, g.dtype());
                             return std::vector{none.scatter_add(at, expand_to(places, to), g)};
                         });
}

Tensor Tensor::one_hot(int64_t classes, DType type) const {
    check_integer("one_hot", *this);
    if (classes < 0) user_error(ErrorKind::Usage, "[one_hot] {} classes: the count cannot be negative", classes);
    if (classes == 0 || numel() == 0) {
        Shape to = shape();
        to.push_back(classes);
        return like(*this, 0, std::move(to), type);
    }
    DType compared = classes - 1 <= int_max(dtype()) ? dtype() : dtypes::int64;  // one that has every class
    return ops::eq(unsqueeze(-1).cast(compared), iota(classes).cast(compared)).cast(type);
}

}  // namespace strata
