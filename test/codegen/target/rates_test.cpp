#include "strata/codegen/target/rates.h"

#include <gtest/gtest.h>

#include "strata/asm/emu/observe/model.h"

namespace strata::codegen {
namespace {

TEST(Rates, AreThoseOfTheCardThatTheTimingModelTakesForTheArch) {
    for (const isa::ArchInfo& arch : isa::archs()) {
        const Rates& rates = rates_of(arch.arch);
        const emu::Model& card = *emu::find_model(arch.arch, {}).value();
        const auto in_a_clock = [&](double gigabytes_a_second) { return gigabytes_a_second * 1000 / card.mhz; };
        EXPECT_EQ(rates.units * rates.cus, card.cus) << arch.name;
        EXPECT_EQ(rates.cus, card.cus_per_unit());
        EXPECT_EQ(Rates::kSimds, emu::Model::kSimdsPerUnit);
        EXPECT_EQ(rates.waves, card.waves_per_simd());
        EXPECT_EQ(rates.registers, card.registers_per_simd());
        EXPECT_EQ(rates.l0_bytes, card.l0_bytes);
        EXPECT_EQ(rates.l2_mib, card.l2_mib);
        EXPECT_EQ(rates.llc_mib, card.llc_mib);
        EXPECT_NEAR(rates.l2_bytes, in_a_clock(card.l2_gbs), 1);
        EXPECT_NEAR(rates.llc_bytes, in_a_clock(card.llc_gbs), 1);
        EXPECT_NEAR(rates.dram_bytes, in_a_clock(card.dram_gbs), 1);
        EXPECT_NEAR(rates.memory_clocks, card.cycles(card.dram_ns), 1);
    }
}

}  // namespace
}  // namespace strata::codegen
