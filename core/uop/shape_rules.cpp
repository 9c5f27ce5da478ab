#include "strata/core/uop/shape_rules_p.h"

namespace strata {
namespace {

Shape elementwise_shape(Op op, std::span<const UOp> sources) {
    const Shape* shape = nullptr;
    for (UOp s : sources) {
        if (s.shape().empty()) continue;
        if (!shape) shape = &s.shape();
        STRATA_CHECK(s.shape() == *shape, "{}: shapes {} and {}", info(op).name, to_string(*shape),
                     to_string(s.shape()));
    }
    return shape ? *shape : Shape{};
}

int64_t product(const Shape& shape) {
    int64_t n = 1;
    for (int64_t d : shape) n *= d;
    return n;
}

Shape reshape_shape(const Shape& from, const Shape& to) {
    STRATA_CHECK(product(from) == product(to), "reshape {} to {}", to_string(from), to_string(to));
    return to;
}

Shape iota_shape(const Shape& shape) {
    STRATA_CHECK(shape.size() == 1 && shape[0] >= 0, "iota along {}", to_string(shape));
    return shape;
}

Shape permute_shape(const Shape& from, const std::vector<int>& axes) {
    STRATA_CHECK(from.size() == axes.size(), "permute of {} axes by {}", from.size(), axes.size());
    Shape to;
    for (int axis : axes) to.push_back(from.at(static_cast<size_t>(axis)));
    return to;
}

Shape expand_shape(const Shape& from, const Shape& to) {
    STRATA_CHECK(from.size() == to.size(), "expand {} to {}", to_string(from), to_string(to));
    for (size_t i = 0; i < to.size(); ++i)
        STRATA_CHECK(from[i] == to[i] || from[i] == 1, "expand {} to {}", to_string(from), to_string(to));
    return to;
}

Shape bounds_shape(Op op, const Shape& from, const BoundsArg& arg) {
    STRATA_CHECK(from.size() == arg.bounds.size(), "{} of {} axes by {}", info(op).name, from.size(),
                 arg.bounds.size());
    Shape to;
    for (size_t i = 0; i < from.size(); ++i) {
        auto [a, b] = arg.bounds[i];
        if (op == Op::shrink)
            STRATA_CHECK(0 <= a && a <= b && b <= from[i], "shrink axis {} of {} to [{}, {})", i, from[i], a, b);
        else
            STRATA_CHECK(a >= 0 && b >= 0, "pad axis {} by {} and {}", i, a, b);
        to.push_back(op == Op::pad ? from[i] + a + b : b - a);
    }
    return to;
}

Shape reduce_shape(Shape shape, const ReduceArg& arg) {
    for (int axis : arg.axes) shape.at(static_cast<size_t>(axis)) = 1;
    return shape;
}

Shape take_shape(const Shape& x, const Shape& indices, int axis) {
    STRATA_CHECK(axis >= 0 && static_cast<size_t>(axis) < x.size(), "take along axis {} of {}", axis, to_string(x));
    Shape to(x.begin(), x.begin() + axis);
    to.insert(to.end(), indices.begin(), indices.end());
    to.insert(to.end(), x.begin() + axis + 1, x.end());
    return to;
}

}  // namespace

Shape shape_of(Op op, std::span<const UOp> sources, const Arg& arg) {
    if (info(op).elementwise()) return elementwise_shape(op, sources);
    switch (op) {
        case Op::buffer: return {std::get<BufferArg>(arg).size};
        case Op::iota: return iota_shape(std::get<ShapeArg>(arg).shape);
        case Op::reshape: return reshape_shape(sources[0].shape(), std::get<ShapeArg>(arg).shape);
        case Op::expand: return expand_shape(sources[0].shape(), std::get<ShapeArg>(arg).shape);
        case Op::permute: return permute_shape(sources[0].shape(), std::get<AxesArg>(arg).axes);
        case Op::flip:
        case Op::scan:
        case Op::contiguous: return sources[0].shape();
        case Op::pad:
        case Op::shrink: return bounds_shape(op, sources[0].shape(), std::get<BoundsArg>(arg));
        case Op::reduce: return reduce_shape(sources[0].shape(), std::get<ReduceArg>(arg));
        case Op::take: return take_shape(sources[0].shape(), sources[1].shape(), std::get<TakeArg>(arg).axis);
        case Op::pick: return sources[0].src(static_cast<size_t>(std::get<IndexArg>(arg).index)).shape();
        default: return {};
    }
}

}  // namespace strata
