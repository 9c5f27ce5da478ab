#include "strata/providers/nvidia/allocator_bins.h"

#include <gtest/gtest.h>

namespace strata::providers {
namespace {

TEST(AllocatorBins, AFreedBlockServesTheNextRequestOfItsSizeOnce) {
    AllocatorBins blocks;
    EXPECT_FALSE(blocks.take(64));
    blocks.add(0x1000, 64);
    EXPECT_FALSE(blocks.take(64)) << "it is in use";
    EXPECT_TRUE(blocks.keep(0x1000));
    EXPECT_EQ(blocks.kept_bytes(), 512u);
    EXPECT_FALSE(blocks.take(513));
    EXPECT_EQ(blocks.take(512), 0x1000u);
    EXPECT_FALSE(blocks.take(512));
    EXPECT_EQ(blocks.kept_bytes(), 0u);
    EXPECT_TRUE(blocks.keep(0x1000));
}

TEST(AllocatorBins, LargeBlocksAndThoseOfOthersAreTheDrivers) {
    AllocatorBins blocks;
    EXPECT_EQ(AllocatorBins::rounded(0), 512u);
    EXPECT_EQ(AllocatorBins::rounded(513), 1024u);
    EXPECT_EQ(AllocatorBins::rounded((64 << 10) + 1), (64u << 10) + 1);
    blocks.add(0x1000, (64 << 10) + 1);
    EXPECT_FALSE(blocks.keep(0x1000));
    EXPECT_FALSE(blocks.keep(0x2000));
    EXPECT_EQ(blocks.kept_bytes(), 0u);
}

TEST(AllocatorBins, KeepsNoMoreThanItMayAndGivesBackAll) {
    AllocatorBins blocks;
    size_t kept = 0;
    for (DevicePtr memory = 1; memory <= 300; ++memory) {
        blocks.add(memory, 64 << 10);
        kept += blocks.keep(memory);
    }
    EXPECT_EQ(kept, 256u);
    EXPECT_EQ(blocks.kept_bytes(), 16u << 20);
    EXPECT_EQ(blocks.give_back().size(), 256u);
    EXPECT_EQ(blocks.kept_bytes(), 0u);
    EXPECT_FALSE(blocks.take(64 << 10));
    EXPECT_TRUE(blocks.give_back().empty());
}

}  // namespace
}  // namespace strata::providers
