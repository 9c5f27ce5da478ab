#include "strata/codegen/kernel/coordinates.h"

#include "strata/core/symbolic/symbolic.h"

namespace strata::codegen {
namespace {

/// `flat` as coordinates of the axes [from, to) of a shape.
void unflatten(UOp flat, const Shape& shape, size_t from, size_t to, Coordinates& out) {
    int64_t stride = 1;
    for (size_t i = from; i < to; ++i) stride *= shape[i];
    for (size_t i = from; i < to; ++i) {
        int64_t outer = stride;
        stride /= shape[i];
        UOp at = outer == 1 ? index_const(0) : flat;
        if (i > from && shape[i] != 1) at = at % outer;
        if (stride != 1) at = at / stride;
        out.push_back(shape[i] == 1 ? index_const(0) : simplify(at));
    }
}

/// Axes are matched in groups of equal product, so that a reshape that only splits or joins axes stays local to them.
Coordinates reshape_coordinates(const Shape& from, const Shape& to, const Coordinates& at) {
    Coordinates out;
    size_t i = 0, j = 0;
    while (i < from.size() || j < to.size()) {
        size_t i0 = i, j0 = j;
        int64_t a = i < from.size() ? from[i++] : 1, b = j < to.size() ? to[j++] : 1;
        while (a != b)
            if (a < b)
                a *= from[i++];
            else
                b *= to[j++];
        Coordinates group(at.begin() + static_cast<std::ptrdiff_t>(j0), at.begin() + static_cast<std::ptrdiff_t>(j));
        Shape sizes(to.begin() + static_cast<std::ptrdiff_t>(j0), to.begin() + static_cast<std::ptrdiff_t>(j));
        if (i - i0 == 1 && j - j0 == 1)
            out.push_back(group[0]);
        else
            unflatten(simplify(flatten(group, sizes)), from, i0, i, out);
    }
    return out;
}

}  // namespace

UOp flatten(const Coordinates& at, const Shape& shape) {
    UOp flat = index_const(0);
    for (size_t i = 0; i < at.size(); ++i) flat = i == 0 ? at[i] : flat * shape[i] + at[i];
    return flat;
}

Coordinates source_coordinates(UOp u, const Coordinates& at) {
    const Shape& from = u.src(0).shape();
    Coordinates out(from.size());
    switch (u.op()) {
        case Op::reshape: return reshape_coordinates(from, u.shape(), at);
        case Op::permute: {
            const std::vector<int>& axes = u.as<AxesArg>().axes;
            for (size_t i = 0; i < axes.size(); ++i) out[static_cast<size_t>(axes[i])] = at[i];
            return out;
        }
        case Op::expand:
            for (size_t i = 0; i < from.size(); ++i) out[i] = from[i] == 1 ? index_const(0) : at[i];
            return out;
        case Op::shrink:
            for (size_t i = 0; i < from.size(); ++i)
                out[i] = u.as<BoundsArg>().bounds[i].first ? at[i] + u.as<BoundsArg>().bounds[i].first : at[i];
            return out;
        case Op::flip:
            out = at;
            for (int axis : u.as<AxesArg>().axes) {
                UOp& c = out[static_cast<size_t>(axis)];
                c = index_const(from[static_cast<size_t>(axis)] - 1) - c;
            }
            return out;
        default: STRATA_CHECK(false, "no movement: {}", to_string(u));
    }
}

}  // namespace strata::codegen
