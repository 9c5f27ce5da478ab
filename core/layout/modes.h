#pragma once
#include <concepts>

#include "strata/core/layout/layout.h"

namespace strata::layout {

// The modes of layouts and of tuples: what they keep, drop, join. T is Layout or IntTuple.

template <class T>
concept Tree = std::same_as<T, Layout> || std::same_as<T, IntTuple>;

template <Tree T>
T join(std::vector<T> modes);  ///< with these modes
template <Tree T>
T unwrapped(std::vector<T> modes);  ///< the same, the only mode itself
template <Tree T>
T get(const T& t, std::span<const int> path);
template <Tree T>
T select(const T& t, std::span<const int> modes);  ///< in that order
template <Tree T>
T take(const T& t, int begin, int end);  ///< modes begin .. end-1
template <Tree T>
T group(const T& t, int begin, int end);  ///< modes begin .. end-1 as one mode
/// With one mode more at the end; with `rank`, with as many more as it takes to have `rank` modes.
template <Tree T>
T append(const T& t, const T& mode, int rank = -1);
template <Tree T>
T prepend(const T& t, const T& mode, int rank = -1);
template <Tree T>
T slice(const T& t, const IntTuple& coordinate);  ///< the modes where the coordinate has none
template <Tree T>
T dice(const T& t, const IntTuple& coordinate);  ///< those where it has a number
Layout flatten(const Layout& L);

/// A part of a layout, and the index where it begins.
struct Part {
    Layout layout;
    IntTuple offset;
};
Part slice_and_offset(const Layout& L, const IntTuple& coordinate);

}  // namespace strata::layout
