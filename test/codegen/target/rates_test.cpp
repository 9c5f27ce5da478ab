#include "strata/codegen/target/rates.h"

#include <gtest/gtest.h>

namespace strata::codegen {
namespace {

TEST(Rates, OfEveryChipAreThoseOfItsUsualCardInClocks) {
    for (Chip chip : chips()) {
        const Rates& rates = rates_of(chip);
        const isa::Card& card = card_of(chip);
        EXPECT_EQ(card.arch, chip.name());
        EXPECT_EQ(rates.units * rates.cus, card.cus) << chip.name();
        for (const auto& [bytes, gigabytes] : {std::pair(rates.l2_bytes, card.l2_gbs),
                                               {rates.llc_bytes, card.llc_gbs},
                                               {rates.dram_bytes, card.dram_gbs}})
            EXPECT_NEAR(bytes * card.mhz * 1e6, gigabytes * 1e9, 1) << chip.name();
        EXPECT_GT(rates.waves_started, 0) << chip.name();
        EXPECT_GT(rates.memory_clocks, 0) << chip.name();
    }
}

}  // namespace
}  // namespace strata::codegen
