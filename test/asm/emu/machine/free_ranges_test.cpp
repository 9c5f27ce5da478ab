#include "strata/asm/emu/machine/free_ranges.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace strata::emu {
namespace {

constexpr size_t kMiB = 1 << 20;

TEST(FreeRanges, CutABlockFromTheSmallestThatItFits) {
    FreeRanges free;
    EXPECT_FALSE(free.take({1, 0, 1}));
    free.add(1000, 500, 0);
    free.add(4000, 100, 0);
    EXPECT_EQ(free.take({100, 0, 1}), 4000u);
    EXPECT_EQ(free.take({100, 0, 1}), 1000u);
    EXPECT_FALSE(free.take({401, 0, 1}));
    EXPECT_EQ(free.take({400, 0, 1}), 1100u);
    EXPECT_FALSE(free.take({1, 0, 1}));
}

TEST(FreeRanges, PutTheAlignedAddressBehindTheFront) {
    FreeRanges free;
    free.add(1000, 3000, 0);
    EXPECT_EQ(free.take({512, 256, 1024}), 1792u);  // 2048 - 256
    EXPECT_EQ(free.take({792, 0, 1}), 1000u) << "what alignment skipped is still free";
    EXPECT_EQ(free.take({1696, 0, 1}), 2304u);
}

TEST(FreeRanges, JoinTheirNeighbours) {
    FreeRanges free;
    for (uint64_t base : {0x3000, 0x1000, 0x4000, 0x2000}) free.add(base, 0x1000, 0);
    EXPECT_EQ(free.take({0x4000, 0, 1}), 0x1000u);
}

TEST(FreeRanges, GiveTheLastRangeToOneWhoGoesOnFromItsEnd) {
    FreeRanges free;
    free.add(0x1000, 0x100, 0x100);
    free.add(0x8000, 0x1000, 0x800);
    EXPECT_EQ(free.take_last(0xa000), 0xa000u);
    EXPECT_EQ(free.take_last(0x9000), 0x8000u);
    EXPECT_EQ(free.take_last(0x9000), 0x9000u);
}

/// Pages of memory that the host holds.
size_t resident(void* memory, size_t bytes) {
    std::vector<unsigned char> pages(bytes / 4096);
    EXPECT_EQ(mincore(memory, bytes, pages.data()), 0);
    size_t count = 0;
    for (unsigned char page : pages) count += page & 1;
    return count * 4096;
}

TEST(FreeRanges, GivePagesBackBeyondWhatMayBeKept) {
    constexpr size_t kBytes = 16 * kMiB;
    void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    memset(memory, 1, kBytes);
    const auto base = reinterpret_cast<uint64_t>(memory);
    FreeRanges free;
    free.add(base, 4 * kMiB, 4 * kMiB);
    free.add(base + 8 * kMiB, 8 * kMiB, 8 * kMiB);
    EXPECT_EQ(free.kept(), 12 * kMiB);
    free.trim(12 * kMiB);
    EXPECT_EQ(resident(memory, kBytes), kBytes);
    free.trim(6 * kMiB);
    EXPECT_LE(free.kept(), 6 * kMiB);
    EXPECT_LE(resident(memory, kBytes), 4 * kMiB + 6 * kMiB) << "4 MiB are not free";
    free.trim(0);
    EXPECT_EQ(free.kept(), 0u);
    EXPECT_EQ(resident(memory, kBytes), 4 * kMiB);
    munmap(memory, kBytes);
}

/// Blocks of memory are given back in any order: the host is asked to walk each of their pages once, however many there
/// are.
TEST(FreeRanges, GiveEachPageBackOnce) {
    constexpr size_t kBytes = size_t{4} << 30;
    void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    const auto base = reinterpret_cast<uint64_t>(memory);
    std::mt19937 random(3);
    for (const size_t bytes : {size_t{768}, size_t{5000}, size_t{70'000}, size_t{1} << 20})
        for (const size_t keep : {size_t{0}, kMiB, 64 * kMiB})
            for (int order = 0; order < 4; ++order) {
                const size_t count = std::min<size_t>(6000, kBytes / bytes);
                std::vector<uint64_t> blocks(count);
                for (size_t i = 0; i < count; ++i) blocks[i] = base + i * bytes;
                if (order == 1) std::ranges::reverse(blocks);
                if (order == 2) std::ranges::shuffle(blocks, random);
                if (order == 3) std::ranges::partition(blocks, [&](uint64_t at) { return (at - base) / bytes % 2; });
                FreeRanges free;
                for (const uint64_t block : blocks) {
                    free.add(block, bytes, bytes);
                    free.trim(keep);
                    ASSERT_LE(free.kept(), keep);
                }
                EXPECT_LE(free.walked(), count * bytes) << bytes << " bytes, " << keep << " kept, order " << order;
                EXPECT_EQ(free.take({count * bytes, 0, 1}), base);
                EXPECT_EQ(free.kept(), 0u) << "what is in use has its pages";
            }
    munmap(memory, kBytes);
}

TEST(FreeRangesFuzz, NeverGiveOutAnAddressTwiceAndLoseNone) {
    constexpr uint64_t kBase = 1 << 20;
    constexpr size_t kBytes = 1 << 16;
    std::mt19937 random(7);
    auto upto = [&](size_t n) { return random() % n; };
    FreeRanges free;
    free.add(kBase, kBytes, 0);
    std::vector<bool> taken(kBytes);
    std::vector<std::pair<uint64_t, size_t>> blocks;
    auto mark = [&](uint64_t base, size_t bytes, bool now) {
        for (uint64_t at = base - kBase; at < base - kBase + bytes; ++at) {
            ASSERT_NE(taken.at(at), now);
            taken[at] = now;
        }
    };
    for (int step = 0; step < 20'000; ++step) {
        if (upto(2) || blocks.empty()) {
            const FreeRanges::Request request{1 + upto(2000), upto(3) * 16, size_t{1} << upto(9)};
            auto base = free.take(request);
            if (!base) continue;
            EXPECT_EQ((*base + request.front) % request.align, 0u);
            mark(*base, request.bytes, true);
            blocks.emplace_back(*base, request.bytes);
        } else {
            std::swap(blocks[upto(blocks.size())], blocks.back());
            auto [base, bytes] = blocks.back();
            blocks.pop_back();
            mark(base, bytes, false);
            free.add(base, bytes, 0);
        }
    }
    for (auto [base, bytes] : blocks) free.add(base, bytes, 0);
    EXPECT_EQ(free.take({kBytes, 0, 1}), kBase) << "all of it is one range again";
}

}  // namespace
}  // namespace strata::emu
