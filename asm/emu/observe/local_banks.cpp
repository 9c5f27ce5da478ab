#include "strata/asm/emu/observe/local_banks.h"

#include <algorithm>
#include <bit>

namespace strata::emu {
namespace {

constexpr int kBanks = 32;
constexpr size_t kKnown = 64;

}  // namespace

LocalBanks::Cycles LocalBanks::access(uintptr_t what, const uint64_t* addresses, uint64_t active, int lanes,
                                      uint32_t dwords) {
    if (!active) return count(addresses, active, lanes, dwords);
    if (known_.empty()) known_.resize(kKnown);
    const auto first = static_cast<uint32_t>(addresses[std::countr_zero(active)]);
    std::array<uint32_t, kMostLanes> apart;
    for (int lane = 0; lane < lanes; ++lane)
        apart[lane] = active >> lane & 1 ? static_cast<uint32_t>(addresses[lane]) - first : 0;
    Known& known = known_[(what >> 4) % kKnown];
    if (known.what == what && known.active == active && known.in_dword == first % 4 && known.dwords == dwords &&
        std::equal(apart.begin(), apart.begin() + lanes, known.apart.begin()))
        return known.cycles;
    known = {what, active, first % 4, dwords, apart, count(addresses, active, lanes, dwords)};
    return known.cycles;
}

LocalBanks::Cycles LocalBanks::count(const uint64_t* addresses, uint64_t active, int lanes, uint32_t dwords) {
    const int phase_lanes = static_cast<int>(32 / std::bit_ceil(std::min<uint32_t>(dwords, 4)));
    Cycles cycles;
    for (int first = 0; first < lanes; first += phase_lanes) {
        uint32_t words[kBanks][32];  // different ones of each bank
        uint8_t busy[kBanks] = {};
        uint8_t worst = 1;
        uint64_t before = ~0ull;
        for (int lane = first; lane < first + phase_lanes; ++lane) {
            if (!(active >> lane & 1) || addresses[lane] == before) continue;
            before = addresses[lane];
            for (uint32_t i = 0; i < dwords && i < 4; ++i) {
                const uint32_t word = static_cast<uint32_t>(before) / 4 + i, bank = word % kBanks;
                uint32_t* const end = words[bank] + busy[bank];
                if (busy[bank] && std::find(words[bank], end, word) != end) continue;
                *end = word;
                worst = std::max(worst, ++busy[bank]);
            }
        }
        cycles.all += worst;
        cycles.conflicts += worst - 1;
    }
    return cycles;
}

}  // namespace strata::emu
