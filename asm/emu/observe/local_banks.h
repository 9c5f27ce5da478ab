#pragma once
#include <array>
#include <cstdint>
#include <vector>

namespace strata::emu {

/// What the banks of local memory make of accesses: 32 of them serve a dword a clock each, so that an access takes as
/// many cycles as the busiest bank has different dwords.
class LocalBanks {
  public:
    struct Cycles {
        double all = 0, conflicts = 0;  ///< conflicts: of all, what banks that lanes share add
    };
    /// Of the lanes in `active`, which access so many dwords each. `what`: the same for accesses that are likely alike,
    /// as those of an instruction are.
    Cycles access(uintptr_t what, const uint64_t* addresses, uint64_t active, int lanes, uint32_t dwords);

  private:
    static constexpr int kMostLanes = 64;
    /// An access that was counted. Another whose lanes lie as far apart takes as long: banks turn with the address.
    struct Known {
        uintptr_t what = 0;
        uint64_t active = 0;
        uint32_t in_dword = 0, dwords = 0;
        std::array<uint32_t, kMostLanes> apart;  // from the first active lane's address
        Cycles cycles;
    };
    static Cycles count(const uint64_t* addresses, uint64_t active, int lanes, uint32_t dwords);

    std::vector<Known> known_;
};

}  // namespace strata::emu
