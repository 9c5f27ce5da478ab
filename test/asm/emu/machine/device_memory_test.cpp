#include "strata/asm/emu/machine/device_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>
#include <random>
#include <vector>

#include "strata/core/support/settings.h"

namespace strata::emu {
namespace {

size_t resident_bytes() {
    size_t total = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> total >> resident;
    return resident * 4096;
}

TEST(DeviceMemory, KeepsAllocationsApartAndAligned) {
    DeviceMemory memory(1 << 24);
    uint64_t a = memory.allocate(100, "a").value(), b = memory.allocate(1 << 22, "b").value(),
             c = memory.allocate(1, "c").value();
    for (uint64_t at : {a, b, c}) EXPECT_EQ(at % 256, 0u);
    EXPECT_NE(memory.find(a, 100), nullptr);
    EXPECT_NE(memory.find(a + 99, 1), nullptr);
    EXPECT_EQ(memory.find(a + 99, 2), nullptr);
    EXPECT_EQ(memory.find(a - 1, 1), nullptr);
    EXPECT_EQ(memory.find(~0ull, 1), nullptr);
    EXPECT_EQ(memory.find(0, 1), nullptr);
    EXPECT_EQ(memory.allocated(), 101u + (1 << 22));
    memset(reinterpret_cast<void*>(b), 1, 1 << 22);
}

TEST(DeviceMemory, OfWholePagesHasThemToItself) {
    DeviceMemory memory(1 << 24);
    std::vector<uint64_t> small;
    for (int i = 0; i < 20; ++i) small.push_back(memory.allocate(100, {}).value());
    const uint64_t pages = memory.allocate(5000, "pages", DeviceMemory::kPage).value();
    for (int i = 0; i < 60; ++i) small.push_back(memory.allocate(100, {}).value());
    EXPECT_EQ(pages % 4096, 0u);
    EXPECT_EQ(memory.find(pages, 5001), nullptr) << "its bound is as exact as any";
    for (const uint64_t at : small) EXPECT_TRUE(at + 100 <= pages || at >= pages + 8192) << at - pages;
}

TEST(DeviceMemory, ThatIsMappedIsUsedAsItIsPermitted) {
    DeviceMemory memory(1 << 24);
    alignas(8) char host[64];
    const auto at = reinterpret_cast<uint64_t>(host);
    memory.map(at, host, sizeof host, "mapped");
    ASSERT_NE(memory.find(at, 64), nullptr);
    EXPECT_TRUE(memory.find(at, 64)->writable);
    memory.permit(at, true, false);
    EXPECT_FALSE(memory.find(at, 64)->writable);
    memory.permit(at, false, false);
    EXPECT_EQ(memory.find(at, 1), nullptr);
    EXPECT_NE(memory.describe(at, 1).find("at byte 0 of allocation 'mapped' (64 bytes"), std::string::npos);
}

TEST(DeviceMemory, NothingLivesWithinReachOfAnImmediateOffsetFromABlockMadeInStrictMode) {
    DeviceMemory memory(1 << 24);
    uint64_t before = memory.allocate(160, "before").value(), strict = 0;
    {
        Settings strictly = settings();
        strictly.check = "raise";
        ScopedSettings scope(strictly);
        strict = memory.allocate(256, "strict").value();
    }
    uint64_t after = memory.allocate(160, "after").value();
    for (uint64_t other : {before, after}) EXPECT_GE(std::max(strict, other) - std::min(strict, other), 8192u + 256);
    memory.free(before).value();
    memory.free(strict).value();
}

TEST(DeviceMemory, SaysWhereAnAddressLies) {
    DeviceMemory memory(1 << 24);
    EXPECT_EQ(memory.describe(5, 1), "no device memory is allocated");
    uint64_t a = memory.allocate(64, "image").value();
    EXPECT_TRUE(memory.describe(a - 8, 4).starts_with("8 bytes before allocation 'image' (64 bytes at"));
    EXPECT_TRUE(memory.describe(a + 64, 4).starts_with("0 bytes past the end of allocation 'image'"));
    EXPECT_NE(memory.describe(a + 62, 4).find("2 bytes too many"), std::string::npos);
    memory.free(a).value();
    EXPECT_TRUE(memory.describe(a, 4).starts_with("at byte 0 of freed allocation 'image'"));
}

TEST(DeviceMemory, RestsFreedBlocksBeforeTheirAddressesComeBack) {
    DeviceMemory memory(1 << 30);
    uint64_t first = memory.allocate(4096, "old").value();
    memory.free(first).value();
    EXPECT_NE(memory.allocate(4096, "new").value(), first);
    bool again = false;
    for (int i = 0; i < 3000 && !again; ++i) {
        uint64_t at = memory.allocate(4096, "churn").value();
        again = at == first;
        memory.free(at).value();
    }
    EXPECT_TRUE(again);
}

/// Sizes of one block after the other, each freed when the next was made.
template <class Size>
size_t most_resident(DeviceMemory& memory, int blocks, Size size) {
    const size_t before = resident_bytes();
    size_t most = before;
    std::optional<uint64_t> last;
    for (int i = 0; i < blocks; ++i) {
        const size_t bytes = size(i);
        const uint64_t at = memory.allocate(bytes, "block").value();
        memset(reinterpret_cast<void*>(at), 1, bytes);
        if (last) memory.free(*last).value();
        last = at;
        most = std::max(most, resident_bytes());
    }
    return most - before;
}

TEST(DeviceMemory, ABlockThatGrowsNeedsAFewTimesItsSize) {
    Settings small_pool = settings();
    small_pool.emu_pool_mb = 32;
    ScopedSettings scope(small_pool);
    DeviceMemory memory(size_t{1} << 32);
    // Two blocks of at most 48 MiB live at a time, 64 MiB rest in quarantine; all together are 1.2 GiB.
    EXPECT_LT(most_resident(memory, 48, [](int i) { return (size_t{1} + static_cast<size_t>(i)) << 20; }),
              size_t{240} << 20);
    EXPECT_LE(memory.pooled(), size_t{64 + 32} << 20);
}

TEST(DeviceMemory, BlocksOfRandomSizesUseTheMemoryOfOneAnother) {
    DeviceMemory memory(size_t{1} << 32);
    std::mt19937 random(3);
    // Two of at most 48 MiB, 64 in quarantine and 256 in the pool; all together are 1.3 GiB.
    EXPECT_LT(most_resident(memory, 40, [&](int) { return (size_t{16} << 20) + random() % (size_t{32} << 20); }),
              size_t{450} << 20);
}

TEST(DeviceMemory, CodeAddressesComeBackAfterARest) {
    DeviceMemory memory(1 << 24);
    uint64_t first = 0, last = 0;
    bool again = false;
    for (int i = 0; i < 3000 && !again; ++i) {
        last = memory.reserve(5000).value();
        EXPECT_EQ(last % 4096, 0u);
        memory.add({last, last + 5000, "code", false});
        if (i == 0) first = last;
        EXPECT_NE(memory.find(last, 5000), nullptr);
        again = i > 0 && last == first;
        EXPECT_FALSE(memory.free(last)) << "code is no allocation of the user's";
        memory.release(last);
        EXPECT_EQ(memory.find(last, 1), nullptr);
        if (i == 1) {
            EXPECT_NE(last, first) << "it rests before it is used again";
            EXPECT_NE(memory.describe(last, 1).find("freed allocation 'code'"), std::string::npos);
        }
    }
    EXPECT_TRUE(again);
}

TEST(DeviceMemory, RefusesMoreThanTheCardHasAndASecondFree) {
    DeviceMemory memory(1000);
    auto large = memory.allocate(1001, "large");
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error().kind, ErrorKind::Device);
    EXPECT_NE(large.error().message.find("1001 bytes wanted, 0 of 1000 in use"), std::string::npos);
    uint64_t a = memory.allocate(1000, "all").value();
    EXPECT_FALSE(memory.allocate(1, "more"));
    EXPECT_TRUE(memory.free(a));
    EXPECT_FALSE(memory.free(a));
    EXPECT_FALSE(memory.free(12345));
    EXPECT_TRUE(memory.allocate(1000, "again"));
}

TEST(DeviceMemory, MapsMemoryOfTheHostAtAnyAddress) {
    DeviceMemory memory(0);
    char bytes[16] = {};
    memory.map(0x1000, bytes, sizeof bytes, "host");
    const Allocation* at = memory.find(0x1008, 8);
    ASSERT_NE(at, nullptr);
    EXPECT_EQ(0x1000 + at->bias, reinterpret_cast<uint64_t>(bytes));
    EXPECT_TRUE(memory.overlaps(0xfff, 2));
    EXPECT_TRUE(memory.overlaps(0x100f, 1));
    EXPECT_FALSE(memory.overlaps(0x1010, 1));
    EXPECT_FALSE(memory.overlaps(0xff0, 16));
}

}  // namespace
}  // namespace strata::emu
