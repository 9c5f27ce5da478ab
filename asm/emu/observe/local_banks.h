#pragma once
#include <array>
#include <cstdint>
#include <vector>

namespace strata::emu {

/// Bank conflicts of local memory. 32 banks serve a dword a clock each, so that an access takes as many cycles as the
/// busiest bank has different dwords.
class LocalBanks {
  public:
    struct Cycles {
        double all = 0, conflicts = 0;  ///< conflicts: of all, what banks that lanes share add
    };
    static constexpr int kBanks = 32;
    static int bank(uint64_t dword) { return static_cast<int>(dword % kBanks); }
    /// Lanes that are served together.
    static int lanes_of_pass(uint32_t dwords);
    /// Cycles for the lanes in `active`, which access `dwords` dwords each.
    static Cycles count(const uint64_t* addresses, uint64_t active, int lanes, uint32_t dwords);
    /// The same. `what`: the same for accesses that are likely alike, as those of an instruction are.
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
    std::vector<Known> known_;
};

}  // namespace strata::emu
