#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace strata::emu {

/// The modelled cost of one access to local memory.
struct BankConflicts {
    int ways = 1;                         ///< most different dwords of one bank in a pass
    double cycles = 0;                    ///< that the access takes
    double passes = 0;                    ///< cycles that it would take without conflicts
    std::vector<std::vector<int>> lanes;  ///< that share a bank in a pass and have different dwords there
};

/// The conflicts of an access by lanes 0, 1, ... to `dwords` dwords each at these addresses; 64 lanes and 4 dwords at
/// most.
BankConflicts bank_conflicts(std::span<const uint64_t> addresses, uint32_t dwords);

}  // namespace strata::emu
