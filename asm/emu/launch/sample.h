#pragma once
#include <cstdint>
#include <vector>

namespace strata::emu {

/// Workgroups to measure: the first two, one in the middle and the last. A kernel that divides the same work into other
/// workgroups is measured at the same places. sparse: one of the first two.
std::vector<uint64_t> representatives(uint64_t groups, bool sparse = false);

/// Workgroups spread over a grid, at most `count`: a rank-1 lattice. For each divisor d of the number of workgroups,
/// their numbers modulo d are spread evenly too. Grids have rows of that length, along which work grows or shrinks.
std::vector<uint64_t> spread_over(uint64_t groups, uint64_t count);

}  // namespace strata::emu
