#include "strata/codegen/target/chip.h"

#include <gtest/gtest.h>

#include "strata/codegen/target/rates.h"
#include "strata/codegen/target/target.h"
#include "strata/core/support/error.h"

namespace strata::codegen {
namespace {

TEST(Chip, EveryNameIsReadBack) {
    ASSERT_GT(chips().size(), isa::archs().size());
    for (Chip chip : chips()) EXPECT_EQ(*Chip::parse(chip.name()), chip) << chip.name();
}

TEST(Chip, AmdsAreTheArchitecturesOfTheMachineLevelInTheirOrder) {
    for (size_t i = 0; i < isa::archs().size(); ++i) {
        EXPECT_TRUE(chips()[i].is_amd());
        EXPECT_EQ(isa::Arch(chips()[i]), isa::archs()[i].arch);
        EXPECT_EQ(chips()[i].name(), isa::archs()[i].name);
    }
}

TEST(Chip, NvidiasHaveNoMachineLevel) {
    const Chip hopper = *Chip::parse("sm_90");
    EXPECT_FALSE(hopper.is_amd());
    EXPECT_THROW((void)isa::Arch(hopper), Exception);
}

TEST(Chip, AnUnknownNameIsToldTheKnownOnes) {
    const Error error = Chip::parse("sm_1").error();
    EXPECT_EQ(error.kind, ErrorKind::Device);
    EXPECT_NE(error.message.find("gfx1100"), std::string::npos);
    EXPECT_NE(error.message.find("sm_90"), std::string::npos);
}

TEST(Chip, TargetsOfNvidiasAreFilledFromTheirRow) {
    for (Chip chip : chips()) {
        if (chip.is_amd()) continue;
        const Target t = target_of(chip);
        EXPECT_EQ(t.arch, chip);
        EXPECT_EQ(t.wave_size, 32) << chip.name();
        EXPECT_EQ(t.lds_bytes > 99 * 1024, chip.name() == "sm_80" || chip.name() == "sm_90") << chip.name();
        EXPECT_EQ(t.max_block, 1024) << chip.name();
        EXPECT_EQ(t.vector_bytes, 16) << chip.name();
        EXPECT_EQ(t.matrix.empty(), chip.name() < "sm_80") << chip.name();
        for (const MatrixShape& shape : t.matrix) {
            EXPECT_TRUE(chip.name() >= "sm_89" || !shape.operand.is_float() || shape.operand.bits() > 8)
                << shape.mnemonic;
            EXPECT_EQ(shape.operand_elements() * t.wave_size, shape.m * shape.k) << shape.mnemonic;
            EXPECT_TRUE(!shape.by_warpgroups || chip.name() == "sm_90") << shape.mnemonic << " is of sm_90a alone";
            EXPECT_GT(clocks_of(shape, t), 0) << shape.mnemonic;
        }
        EXPECT_EQ(t.max_grid[0], 0x7fffffff) << chip.name();
        EXPECT_EQ(t.max_grid[1], 0xffff) << chip.name();
        EXPECT_GT(rates_of(chip).units, 0) << chip.name();
    }
}

}  // namespace
}  // namespace strata::codegen
