#include "strata/asm/emu/services/heap.h"

#include <gtest/gtest.h>

#include <set>

namespace strata::emu {
namespace {

constexpr uint64_t kSlab = 2u << 20;

struct Heap : ::testing::Test {
    DeviceMemory memory{1u << 30};
    DeviceHeap heap{memory, 4 * kSlab};
    void SetUp() override { ASSERT_TRUE(heap.place()); }
};

TEST_F(Heap, SlabsAndPagesStandWhereTheDeviceLibraryExpectsThem) {
    EXPECT_EQ(heap.allocate(kSlab) % kSlab, 0u);
    EXPECT_EQ(heap.allocate(5000) % 4096, 0u);
    EXPECT_EQ(heap.allocate(kSlab) % kSlab, 0u);
}

TEST_F(Heap, BlocksAreApartAndKnownByTheirSize) {
    std::set<uint64_t> seen;
    for (int i = 0; i < 100; ++i) {
        const uint64_t at = heap.allocate(5000);
        ASSERT_TRUE(at && seen.insert(at).second);
        EXPECT_TRUE(memory.find(at, 5000));
        EXPECT_FALSE(memory.find(at, 5001));
    }
    for (auto it = seen.begin(); std::next(it) != seen.end(); ++it) EXPECT_GE(*std::next(it) - *it, 5000u);
}

TEST_F(Heap, SmallBlocksLieCloseAndEndExactly) {
    std::set<uint64_t> seen;
    uint64_t bytes = 0;
    for (uint64_t size = 1; size <= 3072; size += 7) {
        const uint64_t at = heap.allocate(size);
        ASSERT_TRUE(at && at % 16 == 0 && seen.insert(at).second);
        EXPECT_TRUE(memory.find(at, size));
        EXPECT_FALSE(memory.find(at, size + 1));
        bytes += (size + 15) / 16 * 16;
    }
    EXPECT_EQ(*seen.rbegin() - *seen.begin() + 3072, bytes + 3072 - (3068 + 15) / 16 * 16);
    for (uint64_t at : seen) EXPECT_TRUE(heap.free(at));
    EXPECT_NE(heap.allocate(4 * kSlab), 0u);
}

TEST_F(Heap, WhatIsFreedIsGivenOutAgainAndCleared) {
    uint64_t slabs[4];
    for (uint64_t& slab : slabs) ASSERT_TRUE(slab = heap.allocate(kSlab));
    EXPECT_EQ(heap.allocate(1), 0u);
    *reinterpret_cast<int*>(slabs[2]) = 7;
    ASSERT_TRUE(heap.free(slabs[2]));
    EXPECT_FALSE(memory.find(slabs[2], 1));
    EXPECT_EQ(heap.allocate(kSlab), slabs[2]);
    EXPECT_EQ(*reinterpret_cast<int*>(slabs[2]), 0);
}

TEST_F(Heap, WhatDoesNotFitIsNull) {
    EXPECT_EQ(heap.allocate(0), 0u);
    EXPECT_EQ(heap.allocate(4 * kSlab + 1), 0u);
    EXPECT_EQ(heap.allocate(~0ull), 0u);
    EXPECT_NE(heap.allocate(4 * kSlab), 0u);
    EXPECT_EQ(heap.allocate(1), 0u);
}

TEST_F(Heap, OnlyWhatItGaveIsFreed) {
    const uint64_t at = heap.allocate(5000);
    EXPECT_FALSE(heap.free(at + 4096));
    EXPECT_TRUE(heap.free(at));
    EXPECT_FALSE(heap.free(at));
}

}  // namespace
}  // namespace strata::emu
