// elements: what is computed of all elements of views.
#include "strata/codegen/tile/view.h"
#include "strata/core/layout/layout_error.h"
#include "strata/core/symbolic/symbolic.h"

namespace strata::lang {
namespace {

/// The elements of a view in order of coordinates, by accesses as wide as there can be.
std::vector<UOp> elements_of(const View& view) {
    const View from = view.is_in(Space::reg) ? view : loaded(view);
    std::vector<UOp> out;
    for_each_coordinate(from.shape(), [&](const lo::IntTuple& c) { out.push_back(from.load(c)); });
    return out;
}

}  // namespace

void for_each_coordinate(const lo::IntTuple& shape, const std::function<void(const lo::IntTuple&)>& f) {
    std::vector<int64_t> sizes, at;
    for (const lo::IntTuple& mode : shape.modes()) sizes.push_back(lo::product(mode).value());
    at.resize(sizes.size());
    while (true) {
        if (shape.is_tuple())
            f(lo::IntTuple(std::vector<lo::IntTuple>(at.begin(), at.end())));
        else
            f(lo::IntTuple(at[0]));
        size_t i = 0;
        for (; i < at.size() && ++at[i] == sizes[i]; ++i) at[i] = 0;
        if (i == at.size()) return;
    }
}

lo::IntTuple broadcast(const lo::IntTuple& a, const lo::IntTuple& b) {
    const auto refuse = [&] {
        user_error(ErrorKind::Shape, "the shapes {} and {} do not fit: each mode has the same size in both, or 1",
                   lo::to_string(a), lo::to_string(b));
    };
    if (a.is_tuple() != b.is_tuple() || a.rank() != b.rank()) refuse();
    if (!a.is_tuple()) {
        if (!(a == b) && !a.is(1) && !b.is(1)) refuse();
        return a.is(1) ? b : a;
    }
    std::vector<lo::IntTuple> modes;
    for (size_t i = 0; i < a.rank(); ++i) {
        const lo::Int x = lo::product(a.mode(i)), y = lo::product(b.mode(i));
        if (!(x == y) && !x.is(1) && !y.is(1)) refuse();
        modes.push_back(x.is(1) ? b.mode(i) : a.mode(i));
    }
    return modes;
}

lo::IntTuple repeated(const lo::IntTuple& coordinate, const lo::IntTuple& shape) {
    if (!shape.is_tuple()) return shape.is(1) ? lo::IntTuple(0) : coordinate;
    std::vector<lo::IntTuple> modes;
    for (size_t i = 0; i < shape.rank(); ++i)
        modes.push_back(lo::product(shape.mode(i)).is(1) ? lo::IntTuple(0) : coordinate.mode(i));
    return modes;
}

View map(std::span<const View> views, const OfElements& f) {
    lo::IntTuple shape = views[0].shape();
    for (const View& view : views.subspan(1)) shape = broadcast(shape, view.shape());
    std::vector<UOp> operands, results;
    for_each_coordinate(shape, [&](const lo::IntTuple& c) {
        operands.clear();
        for (const View& view : views) operands.push_back(view.load(repeated(c, view.shape())));
        results.push_back(f(operands));
    });
    const View out = View::registers_of(shape, results[0].dtype());
    size_t next = 0;
    for_each_coordinate(shape, [&](const lo::IntTuple& c) { out.store(c, results[next++]); });
    return out;
}

View loaded(const View& from) {
    const View out = View::registers_of(from.shape(), from.dtype());
    store(out, from);
    return out;
}

void store(const View& to, const View& from) {
    if (to.dtype() != from.dtype())
        user_error(ErrorKind::DType, "a view of {} cannot take elements of {}: cast them, x.cast({})",
                   to.dtype().name(), from.dtype().name(), to.dtype().name());
    const lo::IntTuple wanted = lo::product_each(to.shape());
    if (!(lo::product_each(broadcast(to.shape(), from.shape())) == wanted))
        user_error(ErrorKind::Shape, "{} elements do not fit into a view of {}", lo::to_string(from.shape()),
                   lo::to_string(to.shape()));
    if (lo::product_each(from.shape()) == wanted) return transfer(to, from, common_lanes(to, from));
    for_each_coordinate(to.shape(), [&](const lo::IntTuple& c) { to.store(c, from.load(repeated(c, from.shape()))); });
}

void fill(const View& to, UOp value) {
    for_each_coordinate(to.shape(), [&](const lo::IntTuple& c) { to.store(c, value); });
}

View cast(const View& from, DType type) {
    return map(std::span(&from, 1), [&](std::span<const UOp> x) { return strata::cast(x[0], type); });
}

UOp reduce(const View& from, Op op) {
    std::vector<UOp> values = elements_of(from);
    while (values.size() > 1) {
        std::vector<UOp> half;
        for (size_t i = 0; i + 1 < values.size(); i += 2) half.push_back(alu(op, {values[i], values[i + 1]}));
        if (values.size() % 2) half.push_back(values.back());
        values = std::move(half);
    }
    return values[0];
}

}  // namespace strata::lang
