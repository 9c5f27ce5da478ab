#include "strata/asm/emu/observe/local_banks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>

namespace strata::emu {
namespace {

using Addresses = std::array<uint64_t, 64>;

/// By the words of RDNA3's ISA, 12.1: 32 banks of a dword; each phase of lanes waits for the bank with the most
/// different dwords.
double cycles_by_words(const Addresses& addresses, uint64_t active, int lanes, uint32_t dwords) {
    const int together = dwords == 1 ? 32 : dwords == 2 ? 16 : 8;
    double cycles = 0;
    for (int first = 0; first < lanes; first += together) {
        std::map<uint64_t, std::set<uint64_t>> of_bank;
        for (int lane = first; lane < first + together; ++lane)
            for (uint32_t i = 0; i < dwords && active >> lane & 1; ++i)
                of_bank[(addresses[static_cast<size_t>(lane)] / 4 + i) % 32].insert(
                    addresses[static_cast<size_t>(lane)] / 4 + i);
        size_t most = 1;
        for (const auto& [bank, words] : of_bank) most = std::max(most, words.size());
        cycles += static_cast<double>(most);
    }
    return cycles;
}

TEST(LocalBanks, AnAccessTakesAsLongWhetherOneLikeItWasSeenOrNot) {
    std::mt19937 random(7);
    LocalBanks banks;
    for (int round = 0; round < 20000; ++round) {
        const int lanes = round % 2 ? 32 : 64;
        const uint32_t dwords = 1u << random() % 3, stride = 4 * (random() % 40),
                       from = 4 * (random() % 64) + random() % 4;
        const uint64_t active = random() % 3 ? ~0ull : random() * 0x100000001ull;
        Addresses addresses;
        for (size_t lane = 0; lane < addresses.size(); ++lane)
            addresses[lane] =
                from + lane % (1u << random() % 2 * 6) * stride + (random() % 64 == 0 ? 4 * (random() % 8) : 0);
        const uint64_t of_wave = lanes == 32 ? active & 0xffffffff : active;
        const LocalBanks::Cycles got = banks.access(16 * (random() % 4), addresses.data(), of_wave, lanes, dwords);
        const double wanted = cycles_by_words(addresses, of_wave, lanes, dwords);
        ASSERT_EQ(got.all, wanted) << round;
        ASSERT_EQ(got.conflicts, wanted - lanes / (dwords == 1 ? 32 : dwords == 2 ? 16 : 8)) << round;
    }
}

TEST(LocalBanks, BanksTurnWithTheAddressButNotWithinADword) {
    LocalBanks banks;
    Addresses addresses;
    const auto all = [&](uint64_t from) {
        for (size_t lane = 0; lane < addresses.size(); ++lane) addresses[lane] = from + lane * 2;
        return banks.access(16, addresses.data(), ~0u, 32, 1).all;
    };
    EXPECT_EQ(all(0), 1);
    EXPECT_EQ(all(4), 1);
    EXPECT_EQ(all(66), 1);  // 17 dwords
    for (size_t lane = 0; lane < addresses.size(); ++lane) addresses[lane] = lane % 2 * 130;
    EXPECT_EQ(banks.access(16, addresses.data(), ~0u, 32, 1).all, 2);  // dwords 0 and 32
    for (uint64_t& address : addresses) address += 2;
    EXPECT_EQ(banks.access(16, addresses.data(), ~0u, 32, 1).all, 1);  // 0 and 33
}

}  // namespace
}  // namespace strata::emu
