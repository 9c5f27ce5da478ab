#include "strata/core/layout/layout_error.h"
#include "strata/core/layout/tuple.h"

namespace strata::layout {
namespace {

/// f of the leaves in the same place; an integer meets every leaf.
template <class F>
IntTuple by_leaf(const IntTuple& a, const IntTuple& b, F f) {
    if (!a.is_tuple() && !b.is_tuple()) return f(a, b);
    if (a.is_tuple() && b.is_tuple() && a.rank() != b.rank())
        refuse("{} and {} have {} and {} modes", to_string(a), to_string(b), a.rank(), b.rank());
    const size_t rank = a.is_tuple() ? a.rank() : b.rank();
    std::vector<IntTuple> modes;
    modes.reserve(rank);
    for (size_t i = 0; i < rank; ++i)
        modes.push_back(by_leaf(a.is_tuple() ? a.mode(i) : a, b.is_tuple() ? b.mode(i) : b, f));
    return modes;
}

template <class F>
IntTuple by_integer(const IntTuple& a, const IntTuple& b, F f) {
    return by_leaf(a, b, [&](const IntTuple& x, const IntTuple& y) { return IntTuple(f(x.integer(), y.integer())); });
}

/// A sum or difference of leaves: basis elements of one mode make another.
template <class F>
IntTuple of_one_mode(const IntTuple& a, const IntTuple& b, F f) {
    return by_leaf(a, b, [&](const IntTuple& x, const IntTuple& y) {
        if (x.is_none() || y.is_none()) refuse("{} and {} are no numbers", to_string(x), to_string(y));
        if (x.path() != y.path()) refuse("{} and {} are of different modes", to_string(x), to_string(y));
        return IntTuple::basis(f(x.value(), y.value()), x.path());
    });
}

}  // namespace

IntTuple operator+(const IntTuple& a, const IntTuple& b) {
    return of_one_mode(a, b, [](const Int& x, const Int& y) { return x + y; });
}

IntTuple operator-(const IntTuple& a, const IntTuple& b) {
    return of_one_mode(a, b, [](const Int& x, const Int& y) { return x - y; });
}

IntTuple operator*(const IntTuple& a, const IntTuple& b) {
    return by_leaf(a, b, [](const IntTuple& x, const IntTuple& y) {
        if (x.is_basis()) return IntTuple::basis(x.value() * y.integer(), x.path());
        if (y.is_basis()) return IntTuple::basis(x.integer() * y.value(), y.path());
        return IntTuple(x.integer() * y.integer());
    });
}

IntTuple tuple_div(const IntTuple& a, const IntTuple& b) {
    return by_integer(a, b, [](const Int& x, const Int& y) { return floor_div(x, y); });
}

IntTuple tuple_mod(const IntTuple& a, const IntTuple& b) {
    return by_integer(a, b, [](const Int& x, const Int& y) { return floor_mod(x, y); });
}

IntTuple ceil_div(const IntTuple& a, const IntTuple& b) {
    if (a.is_tuple() && b.is_tuple() && b.rank() < a.rank()) {
        std::vector<IntTuple> modes;
        for (size_t i = 0; i < a.rank(); ++i)
            modes.push_back(i < b.rank() ? ceil_div(a.mode(i), b.mode(i)) : a.mode(i));
        return modes;
    }
    if (a.is_tuple() && !b.is_tuple()) return ceil_div(a, IntTuple(std::vector<IntTuple>{b}));
    if (!a.is_tuple() && b.is_tuple()) return IntTuple(ceil_div(a.integer(), product(b)));
    return by_leaf(a, b,
                   [](const IntTuple& x, const IntTuple& y) { return IntTuple(ceil_div(x.integer(), y.integer())); });
}

IntTuple shape_div(const IntTuple& a, const IntTuple& b) {
    if (a.is_tuple() && b.is_tuple()) return by_leaf(a, b, shape_div);
    if (a.is_tuple()) {  // b elements of the whole shape: mode by mode
        Int left = b.integer();
        std::vector<IntTuple> modes;
        for (const IntTuple& mode : a.modes()) {
            modes.push_back(shape_div(mode, left));
            left = shape_div(left, product(mode)).integer();
        }
        return modes;
    }
    if (b.is_tuple()) return shape_div(a, product(b));
    if (b.is(1)) return a;
    if (!a.integer().known()) return floor_div(a.integer(), b.integer());
    const int64_t x = a.known(), y = b.known();
    if (x <= 0 || y <= 0) refuse("{} and {} are no sizes: sizes are from 1 on", x, y);
    if (x % y && y % x) refuse("neither of {} and {} divides the other", x, y);
    return x % y ? 1 : x / y;
}

Int product(const IntTuple& t) {
    Int out = 1;
    for_each_leaf(t, [&](const IntTuple& leaf) { out = out.is(1) ? leaf.integer() : out * leaf.integer(); });
    return out;
}

IntTuple product_each(const IntTuple& t) {
    std::vector<IntTuple> modes;
    for (const IntTuple& mode : t.modes()) modes.emplace_back(product(mode));
    return t.is_tuple() ? IntTuple(std::move(modes)) : t;
}

IntTuple product_like(const IntTuple& t, const IntTuple& guide) {
    if (!guide.is_tuple()) return product(t);
    if (!t.is_tuple() || t.rank() != guide.rank()) refuse("{} has not the modes of {}", to_string(t), to_string(guide));
    std::vector<IntTuple> modes;
    for (size_t i = 0; i < t.rank(); ++i) modes.push_back(product_like(t.mode(i), guide.mode(i)));
    return modes;
}

IntTuple prefix_product(const IntTuple& t, const Int& first) {
    Int so_far = first;
    return map_leaves(t, [&](const IntTuple& leaf) {
        IntTuple out = so_far;
        so_far = so_far * leaf.integer();
        return out;
    });
}

IntTuple inner_product(const IntTuple& a, const IntTuple& b) {
    IntTuple out = 0;
    if (a.is_tuple() != b.is_tuple() || a.rank() != b.rank())
        refuse("{} and {} have not the same modes", to_string(a), to_string(b));
    if (!a.is_tuple()) return a * b;
    for (size_t i = 0; i < a.rank(); ++i) out = coordinate_sum(out, inner_product(a.mode(i), b.mode(i)));
    return out;
}

IntTuple as_coordinate(const IntTuple& basis) {
    if (!basis.is_basis()) return basis;
    IntTuple out = basis.value();
    for (size_t i = basis.path().size(); i-- > 0;) {
        std::vector<IntTuple> modes(static_cast<size_t>(basis.path()[i]) + 1);
        modes.back() = std::move(out);
        out = std::move(modes);
    }
    return out;
}

IntTuple coordinate_sum(const IntTuple& a, const IntTuple& b) {
    if (a.is_integer() && b.is_integer()) return a.is(0) ? b : b.is(0) ? a : IntTuple(a.value() + b.value());
    if (a.is_basis() || b.is_basis()) return coordinate_sum(as_coordinate(a), as_coordinate(b));
    if (a.is(0)) return b;
    if (b.is(0)) return a;
    if (!a.is_tuple() || !b.is_tuple()) refuse("{} and {} have no sum", to_string(a), to_string(b));
    std::vector<IntTuple> modes;
    for (size_t i = 0; i < std::max(a.rank(), b.rank()); ++i)
        modes.push_back(i >= a.rank() ? b.mode(i) : i >= b.rank() ? a.mode(i) : coordinate_sum(a.mode(i), b.mode(i)));
    return modes;
}

}  // namespace strata::layout
