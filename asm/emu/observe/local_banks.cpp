#include "strata/asm/emu/observe/local_banks.h"

#include <algorithm>
#include <bit>
#include <map>

#include "strata/asm/emu/bank_conflicts.h"

namespace strata::emu {
namespace {

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

int LocalBanks::lanes_of_pass(uint32_t dwords) {
    return static_cast<int>(32 / std::bit_ceil(std::clamp<uint32_t>(dwords, 1, 4)));
}

LocalBanks::Cycles LocalBanks::count(const uint64_t* addresses, uint64_t active, int lanes, uint32_t dwords) {
    const int phase_lanes = lanes_of_pass(dwords);
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
                const uint32_t word = static_cast<uint32_t>(before) / 4 + i;
                const int bank = LocalBanks::bank(word);
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

BankConflicts bank_conflicts(std::span<const uint64_t> addresses, uint32_t dwords) {
    BankConflicts out;
    const int lanes = static_cast<int>(addresses.size()), pass = LocalBanks::lanes_of_pass(dwords);
    for (int first = 0; first < lanes; first += pass) {
        const int count = std::min(pass, lanes - first);
        const LocalBanks::Cycles cycles = LocalBanks::count(&addresses[first], ~0ull >> (64 - count), count, dwords);
        out.cycles += cycles.all;
        out.passes += cycles.all - cycles.conflicts;
        out.ways = std::max(out.ways, static_cast<int>(cycles.conflicts) + 1);
        std::map<int, std::map<uint64_t, std::vector<int>>> by_bank;  // of each bank the lanes of each dword
        for (int lane = first; lane < first + count; ++lane)
            for (uint32_t i = 0; i < dwords; ++i) {
                const uint64_t dword = addresses[lane] / 4 + i;
                by_bank[LocalBanks::bank(dword)][dword].push_back(lane);
            }
        for (const auto& [bank, dwords_of_bank] : by_bank) {
            if (dwords_of_bank.size() < 2) continue;
            std::vector<int> together;
            for (const auto& [dword, of_dword] : dwords_of_bank)
                together.insert(together.end(), of_dword.begin(), of_dword.end());
            std::ranges::sort(together);
            together.erase(std::ranges::unique(together).begin(), together.end());
            if (std::ranges::find(out.lanes, together) == out.lanes.end()) out.lanes.push_back(std::move(together));
        }
    }
    return out;
}

}  // namespace strata::emu
