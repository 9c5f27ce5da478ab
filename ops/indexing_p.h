#pragma once
#include "strata/ops/tensor.h"

namespace strata::ops {

/// The elements that one axis of the source keeps: begin, begin + step, ... (backwards when flipped).
struct AxisPick {
    int64_t begin, end;  ///< range to keep, long enough for count * step elements where the axis has room
    int64_t count, step = 1;
    bool flip = false;
};

AxisPick pick_slice(const Index& slice, int64_t n);
int64_t checked_position(int64_t i, int64_t n, int axis);

/// The entries with the ellipsis written out as whole slices, one for each source axis, and new axes. A mask is one
/// entry for all of its axes. An ellipsis of no axes stays.
std::vector<Index> spelled_out(const std::vector<Index>& indices, const Shape& shape);

/// Positions from 0 on, in a type that holds every position and every index. An index outside of the axis ends the
/// kernel that computes it.
Tensor checked_indices(const Tensor& indices, int64_t n, int axis);
/// The part of a shape that smaller indices along `axis` stand beside: its first elements, (begin, end) an axis. Empty:
/// all of it.
/// one_is_all: indices of size 1 are repeated instead.
Pairs beside(const Shape& indices, const Shape& shape, int axis, bool one_is_all);

/// numpy.take of positions that are right by how they were made.
Tensor take_axis(const Tensor& x, const Tensor& indices, int axis);

/// Sums (before, n, after) of the values (before, m, after) for each of n places, 0 where there are none. The values
/// for one of the m positions are contiguous once they are ordered. They are added up in eights, eights of eights and
/// so on: always in the same order.
Tensor sums_at(const Tensor& positions, const Tensor& values, int64_t n);

}  // namespace strata::ops
