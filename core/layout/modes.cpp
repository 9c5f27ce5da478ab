#include "strata/core/layout/modes.h"

#include <algorithm>

#include "strata/core/layout/layout_error.h"

namespace strata::layout {
namespace {

std::vector<IntTuple> modes_of(const IntTuple& t) { return {t.modes().begin(), t.modes().end()}; }
std::vector<Layout> modes_of(const Layout& L) { return L.modes(); }
bool is_tuple(const IntTuple& t) { return t.is_tuple(); }
bool is_tuple(const Layout& L) { return L.shape().is_tuple(); }

template <Tree T>
void check_interval(const char* name, const T& t, int begin, int end) {
    if (begin < 0 || end < begin || static_cast<size_t>(end) > modes_of(t).size())
        throw LayoutError(name, "", {to_string(t)},
                          fmt::format("it has {} modes, no modes {} to {}", modes_of(t).size(), begin, end - 1));
}

template <Tree T>
T padded(const char* name, const T& t, const T& mode, int rank, bool in_front) {
    std::vector<T> modes = modes_of(t);
    if (rank >= 0 && static_cast<size_t>(rank) < modes.size())
        throw LayoutError(name, "", {to_string(t)}, fmt::format("it has more than {} modes", rank));
    if (rank > kMostDepth * kMostDepth)
        throw LayoutError(name, "", {to_string(t)}, fmt::format("{} modes are too many", rank));
    if (rank >= 0 && static_cast<size_t>(rank) == modes.size()) return t;
    const size_t more = rank < 0 ? 1 : static_cast<size_t>(rank) - modes.size();
    modes.insert(in_front ? modes.begin() : modes.end(), more, mode);
    return join<T>(std::move(modes));
}

/// The modes where the coordinate is none, or is not, side by side.
template <Tree T>
void keep(const T& t, const IntTuple& coordinate, bool none, std::vector<T>& out) {
    if (!coordinate.is_tuple()) {
        if (coordinate.is_none() == none) out.push_back(t);
        return;
    }
    const std::vector<T> modes = modes_of(t);
    if (!is_tuple(t) || modes.size() != coordinate.rank())
        refuse("the coordinate {} has not the modes of {}", to_string(coordinate), to_string(t));
    for (size_t i = 0; i < modes.size(); ++i) at_mode(i, [&] { keep(modes[i], coordinate.mode(i), none, out); });
}

}  // namespace

template <>
IntTuple join(std::vector<IntTuple> modes) {
    return modes;
}
template <>
Layout join(std::vector<Layout> modes) {
    return make_layout(modes);
}

template <Tree T>
T unwrapped(std::vector<T> modes) {
    return modes.size() == 1 ? std::move(modes[0]) : join<T>(std::move(modes));
}

template <Tree T>
T get(const T& t, std::span<const int> path) {
    return operation("get", [&]() -> T { return t.at(path); }, t);
}

template <Tree T>
T select(const T& t, std::span<const int> chosen) {
    std::vector<T> out;
    const std::vector<T> modes = modes_of(t);
    for (const int mode : chosen) {
        check_interval("select", t, mode, mode == INT32_MAX ? mode : mode + 1);
        out.push_back(modes[static_cast<size_t>(mode)]);
    }
    return unwrapped(std::move(out));
}

template <Tree T>
T take(const T& t, int begin, int end) {
    check_interval("take", t, begin, end);
    const std::vector<T> modes = modes_of(t);
    return unwrapped(std::vector<T>(modes.begin() + begin, modes.begin() + end));
}

template <Tree T>
T group(const T& t, int begin, int end) {
    check_interval("group", t, begin, end);
    if (begin == end) throw LayoutError("group", "", {to_string(t)}, "a group has a mode at least");
    std::vector<T> modes = modes_of(t);
    std::vector<T> inside(modes.begin() + begin, modes.begin() + end);
    modes[static_cast<size_t>(begin)] = unwrapped(std::move(inside));
    modes.erase(modes.begin() + begin + 1, modes.begin() + end);
    return join<T>(std::move(modes));
}

template <Tree T>
T append(const T& t, const T& mode, int rank) {
    return padded("append", t, mode, rank, false);
}

template <Tree T>
T prepend(const T& t, const T& mode, int rank) {
    return padded("prepend", t, mode, rank, true);
}

template <Tree T>
T slice(const T& t, const IntTuple& coordinate) {
    std::vector<T> out;
    operation("slice", [&] { keep(t, coordinate, true, out); }, t, coordinate);
    return unwrapped(std::move(out));
}

template <Tree T>
T dice(const T& t, const IntTuple& coordinate) {
    std::vector<T> out;
    operation("dice", [&] { keep(t, coordinate, false, out); }, t, coordinate);
    return unwrapped(std::move(out));
}

template Layout unwrapped(std::vector<Layout>);
template IntTuple unwrapped(std::vector<IntTuple>);
template Layout get(const Layout&, std::span<const int>);
template IntTuple get(const IntTuple&, std::span<const int>);
template Layout select(const Layout&, std::span<const int>);
template IntTuple select(const IntTuple&, std::span<const int>);
template Layout take(const Layout&, int, int);
template IntTuple take(const IntTuple&, int, int);
template Layout group(const Layout&, int, int);
template IntTuple group(const IntTuple&, int, int);
template Layout append(const Layout&, const Layout&, int);
template IntTuple append(const IntTuple&, const IntTuple&, int);
template Layout prepend(const Layout&, const Layout&, int);
template IntTuple prepend(const IntTuple&, const IntTuple&, int);
template Layout slice(const Layout&, const IntTuple&);
template IntTuple slice(const IntTuple&, const IntTuple&);
template Layout dice(const Layout&, const IntTuple&);
template IntTuple dice(const IntTuple&, const IntTuple&);

Layout flatten(const Layout& L) { return Layout(flatten(L.shape()), flatten(L.stride())); }

Part slice_and_offset(const Layout& L, const IntTuple& coordinate) {
    return operation(
        "slice_and_offset", [&] { return Part{slice(L, coordinate), crd2idx(coordinate, L.shape(), L.stride())}; }, L,
        coordinate);
}

}  // namespace strata::layout
