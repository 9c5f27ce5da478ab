#pragma once
#include <array>
#include <cstdint>

namespace strata::isa {

/// Workgroups along each dimension of a launch, on every arch: HIP's limits.
inline constexpr std::array<uint32_t, 3> kMaxGrid{0x7fffffff, 65535, 65535};

}  // namespace strata::isa
