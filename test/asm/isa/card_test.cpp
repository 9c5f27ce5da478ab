#include "strata/asm/isa/card.h"

#include <gtest/gtest.h>

#include "strata/asm/isa/arch.h"

namespace strata::isa {
namespace {

TEST(Card, EveryArchitectureHasOneAndItsUnit) {
    for (const ArchInfo& arch : archs()) EXPECT_EQ((*find_card(arch.name))->arch, arch.name);
    for (const Card& card : cards()) {
        EXPECT_EQ(card.cus % card.unit().cus, 0) << card.name;
        EXPECT_EQ(*find_card(card.arch, card.name), &card);
    }
}

TEST(Card, TheNearerMemoryIsTheFasterAndTheSmaller) {
    for (const Card& card : cards()) {
        EXPECT_GE(card.l2_gbs, card.llc_gbs) << card.name;
        EXPECT_GE(card.llc_gbs, card.dram_gbs) << card.name;
        EXPECT_LT(card.l2_mib, card.llc_mib > 0 ? card.llc_mib : card.dram_gib * 1024) << card.name;
        EXPECT_GE(card.launch_us, card.next_launch_us) << card.name;
    }
}

TEST(Card, AnUnknownNameIsToldTheKnownOnes) {
    const Error error = find_card("gfx1100", "mi300x").error();
    EXPECT_EQ(error.kind, ErrorKind::Device);
    EXPECT_NE(error.message.find("7900xtx"), std::string::npos);
    EXPECT_EQ(find_card("gfx1").error().kind, ErrorKind::Unsupported);
}

}  // namespace
}  // namespace strata::isa
