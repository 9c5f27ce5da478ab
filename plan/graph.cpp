// graph: a use of a row -> a graph over the memory of its operands.
#include "strata/plan/graph_p.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "strata/core/text/parse.h"
#include "strata/core/uop/walk.h"
#include "strata/ops/gradients.h"
#include "strata/runtime/device.h"

namespace strata::plan {
namespace {

bool is_narrow(DType type) { return type.is_float() && type.bits() < 32; }

/// An axis of memory, largest stride first.
struct Axis {
    int64_t size, stride;
    int place;  ///< in the shape
};

/// Axes of more than one element that move through memory.
std::vector<Axis> moving_axes(const Shape& shape, const Shape& strides) {
    std::vector<Axis> axes;
    for (size_t i = 0; i < shape.size(); ++i)
        if (shape[i] > 1 && strides[i] != 0) axes.push_back({shape[i], std::abs(strides[i]), static_cast<int>(i)});
    std::ranges::sort(axes, [](const Axis& a, const Axis& b) {
        return std::pair(-a.stride, a.place) < std::pair(-b.stride, b.place);
    });
    return axes;
}

/// True if each axis lies within one step of the one before.
bool nests(const std::vector<Axis>& axes) {
    for (size_t i = 1; i < axes.size(); ++i)
        if (axes[i - 1].stride % axes[i].stride != 0 || axes[i - 1].stride < axes[i].stride * axes[i].size)
            return false;
    return true;
}

/// Elements that strided() takes of memory: whole steps of the largest stride.
int64_t whole_steps(const Shape& shape, const Shape& strides) {
    const std::vector<Axis> axes = moving_axes(shape, strides);
    if (!axes.empty() && nests(axes)) return axes[0].size * axes[0].stride;
    return static_cast<int64_t>(extent_of(shape, strides).elements);
}

Tensor by_steps(Tensor flat, const std::vector<Axis>& axes) {
    Shape sizes;
    Pairs bounds;
    for (const Axis& axis : axes) {
        if (!sizes.empty()) {
            Pairs inner = bounds;
            inner.emplace_back(0, axis.size * axis.stride);
            flat = flat.shrink(inner);
        }
        sizes.push_back(axis.size);
        bounds.emplace_back(0, axis.size);
        Shape split = sizes;
        split.push_back(axis.stride);
        flat = flat.reshape(split);
    }
    bounds.emplace_back(0, 1);
    return flat.shrink(bounds).reshape(sizes);
}

Tensor by_index(const Tensor& flat, const std::vector<Axis>& axes) {
    Tensor index = Tensor::full({}, int64_t{0}, dtypes::int64);
    for (const Axis& axis : axes)
        index = index.unsqueeze(-1) + Tensor::arange(0, axis.size, 1, dtypes::int64) * axis.stride;
    return flat.take(index);
}

/// Memory of an input, and its elements.
Tensor operand_of(const Spec& spec, size_t place, const runtime::Device& device, UOp& buffer) {
    const Shape strides = spec.strides.value_or(row_major(spec.shape));
    const Extent extent = extent_of(spec.shape, strides);
    if (extent.elements == 0) {
        buffer = stand_in(place, spec.dtype, 0);
        return Tensor::full(spec.shape, int64_t{0}, spec.dtype);
    }
    const bool is_row_major = strides == row_major(spec.shape);
    const Shape in_memory = is_row_major ? spec.shape : Shape{whole_steps(spec.shape, strides)};
    const Tensor memory = Tensor::empty(in_memory, spec.dtype, device.name());
    buffer = buffer_under(memory.uop());
    const Tensor seen = Tensor(memory.uop());
    return is_row_major ? seen : strided(seen, spec.shape, strides, extent.lowest);
}

void check_dy(const Spec& dy, const Tensor& y) {
    const Shape &given = dy.shape, &wanted = y.shape();
    if (given == wanted) return;
    Amounts amounts{wanted.size(), given.size()};
    for (size_t axis = 0; given.size() == wanted.size() && axis < given.size(); ++axis)
        if (given[axis] != wanted[axis]) {
            amounts = {static_cast<uint64_t>(wanted[axis]), static_cast<uint64_t>(given[axis])};
            break;
        }
    plan_error(Status::invalid, "dy", amounts, "[plan] 'dy' has shape {}, and 'y' has {}", to_string(given),
               to_string(wanted));
}

}  // namespace

Shape row_major(const Shape& shape) {
    Shape strides(shape.size(), 1);
    for (size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * std::max<int64_t>(shape[axis], 1);
    return strides;
}

Extent extent_of(const Shape& shape, const Shape& strides) {
    Extent out{0, 1};
    for (size_t axis = 0; axis < shape.size(); ++axis) {
        if (shape[axis] == 0) return {0, 0};
        const int64_t span = (shape[axis] - 1) * strides[axis];
        out.lowest += std::min<int64_t>(span, 0);
        out.elements += static_cast<uint64_t>(std::abs(span));
    }
    return out;
}

std::optional<std::vector<int>> dense_order(const Shape& shape, const Shape& strides) {
    std::vector<int> order(shape.size());
    std::iota(order.begin(), order.end(), 0);
    if (std::ranges::find(shape, 0) != shape.end()) return order;
    const auto stride = [&](int axis) { return strides[static_cast<size_t>(axis)]; };
    const auto size = [&](int axis) { return shape[static_cast<size_t>(axis)]; };
    std::ranges::sort(order, {}, [&](int axis) { return std::tuple(-stride(axis), -size(axis), axis); });
    int64_t step = 1;
    for (size_t i = order.size(); i-- > 0;) {
        if (size(order[i]) == 1) continue;
        if (stride(order[i]) != step) return std::nullopt;
        step *= size(order[i]);
    }
    return order;
}

Tensor strided(const Tensor& flat, const Shape& shape, const Shape& strides, int64_t lowest) {
    const std::vector<Axis> axes = moving_axes(shape, strides);
    const int64_t elements = static_cast<int64_t>(extent_of(shape, strides).elements);
    Tensor found = axes.empty()  ? flat.shrink({{0, 1}}).reshape({})
                   : nests(axes) ? by_steps(flat, axes)
                                 : by_index(flat.shrink({{0, elements}}), axes);
    std::vector<int> turned;
    for (size_t i = 0; i < axes.size(); ++i)
        if (strides[static_cast<size_t>(axes[i].place)] < 0) turned.push_back(static_cast<int>(i));
    if (lowest < 0) found = found.flip(turned);
    std::vector<int> order(axes.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, [&](int i) { return axes[static_cast<size_t>(i)].place; });
    Shape with_ones(shape.size(), 1);
    for (const Axis& axis : axes) with_ones[static_cast<size_t>(axis.place)] = axis.size;
    return found.permute(order).reshape(with_ones).expand(shape);
}

Graph graph_of(const Use& use, const Descriptor& descriptor, const runtime::Device& device) {
    const ops::NoGrad with_gradients(false);
    const Row& row = *use.operation.row;
    Graph out;
    std::vector<Tensor> given(row.operands.size());
    Tensor dy;
    DType narrow = dtypes::none;
    for (size_t i = 0; i < use.inputs.size(); ++i) {
        const Use::Input& input = use.inputs[i];
        Tensor t = operand_of(input.spec, i, device, out.buffers.emplace_back());
        if (input.kind == OperandRow::Kind::main && row.computing == Computing::wide && is_narrow(t.dtype())) {
            narrow = t.dtype();
            t = t.cast(dtypes::float32);
        }
        (input.place == Use::kGradient ? dy : given[input.place]) = t;
    }
    const auto rounded = [&](const Tensor& t) {
        return narrow != dtypes::none && t.dtype() == dtypes::float32 ? t.cast(narrow) : t;
    };
    const Results results = row.function(Call(row, given, descriptor));
    if (!use.operation.is_backward) {
        for (const Tensor& t : results.all) out.results.push_back(rounded(t));
    } else {
        const Tensor& y = results.all[0];
        check_dy(use.inputs[0].spec, y);
        std::vector<Tensor> xs;
        for (const Use::Input& input : use.inputs)
            if (input.place != Use::kGradient && input.kind == OperandRow::Kind::main) xs.push_back(given[input.place]);
        std::vector<Tensor> slopes = ops::gradients(y, xs, dy);
        for (size_t i = 0; i < xs.size(); ++i)
            out.results.push_back(rounded(slopes[i] ? slopes[i] : xs[i].zeros_like()));
    }
    STRATA_CHECK(out.results.size() == use.outputs.size(), "{} gives {} results for {} outputs", use.operation.name(),
                 out.results.size(), use.outputs.size());
    return out;
}

}  // namespace strata::plan
