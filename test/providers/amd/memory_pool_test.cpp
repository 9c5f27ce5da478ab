#include "strata/providers/amd/memory_pool.h"

#include <gtest/gtest.h>

namespace strata::providers {
namespace {

/// A driver with a given number of bytes, which counts requests.
struct Driver {
    size_t total = 1 << 20;
    size_t used = 0;
    int mallocs = 0, frees = 0, synchronizations = 0;
    DevicePtr next = 0x1000;
    std::map<DevicePtr, size_t> blocks = {};

    MemoryPool pool() {
        return MemoryPool("amd:0", {.malloc = [this](size_t bytes) -> Result<std::optional<DevicePtr>> {
                                        ++mallocs;
                                        if (used + bytes > total) return std::optional<DevicePtr>();
                                        used += blocks[next] = bytes;
                                        return std::optional(std::exchange(next, next + 0x1000000));
                                    },
                                    .free = [this](DevicePtr memory) -> Result<void> {
                                        ++frees;
                                        used -= blocks.at(memory);
                                        blocks.erase(memory);
                                        return {};
                                    },
                                    .synchronize = [this]() -> Result<void> {
                                        ++synchronizations;
                                        return {};
                                    },
                                    .info = [this] { return MemoryDriver::Info{total - used, total}; }});
    }
};

TEST(MemoryPool, AFreedBlockServesTheNextRequestOfItsSize) {
    Driver driver;
    MemoryPool pool = driver.pool();
    const DevicePtr a = pool.malloc(1000).value();
    ASSERT_TRUE(pool.free(a));
    EXPECT_EQ(pool.pooled_bytes(), 1024u);
    EXPECT_EQ(pool.malloc(900).value(), a);
    EXPECT_EQ(pool.pooled_bytes(), 0u);
    EXPECT_NE(pool.malloc(900).value(), a) << "it is in use";
    EXPECT_EQ(driver.mallocs, 2);
    EXPECT_EQ(driver.frees, 0);
}

TEST(MemoryPool, ALargeBlockDoesNotServeASmallRequest) {
    Driver driver;
    MemoryPool pool = driver.pool();
    const DevicePtr large = pool.malloc(64 << 10).value();
    ASSERT_TRUE(pool.free(large));
    EXPECT_NE(pool.malloc(512).value(), large);
    EXPECT_EQ(pool.malloc(60 << 10).value(), large) << "an eighth may go unused";
}

TEST(MemoryPool, OutOfMemoryGivesBackWhatIsKeptAndAsksAgain) {
    Driver driver;
    MemoryPool pool = driver.pool();
    std::vector<DevicePtr> small;
    for (int i = 0; i < 1024; ++i) small.push_back(pool.malloc(1024).value());
    for (const DevicePtr memory : small) ASSERT_TRUE(pool.free(memory));
    ASSERT_TRUE(pool.malloc(512 << 10)) << "the small ones fill the device until they go back";
    EXPECT_EQ(driver.synchronizations, 1);
    EXPECT_EQ(driver.frees, 1024);
    EXPECT_EQ(pool.pooled_bytes(), 0u);
}

TEST(MemoryPool, TheErrorNamesBytesAskedFreeAndHeld) {
    Driver driver;
    MemoryPool pool = driver.pool();
    const DevicePtr kept = pool.malloc(4096).value();
    ASSERT_TRUE(pool.malloc(8192));
    ASSERT_TRUE(pool.free(kept));
    const Result<DevicePtr> got = pool.malloc(1 << 20);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().kind, ErrorKind::Device);
    EXPECT_EQ(
        got.error().message,
        "amd:0 is out of memory: 1048576 bytes asked for, 1040384 of 1048576 free, 8192 in use here; the pool held "
        "4096 and gave them back; free tensors or use smaller ones");
}

TEST(MemoryPool, OtherErrorsOfTheDriverAreNotTakenForAFullDevice) {
    Driver driver;
    MemoryPool pool("amd:0", {.malloc = [](size_t) -> Result<std::optional<DevicePtr>> {
                                  return make_error(ErrorKind::Device, "hipErrorIllegalAddress");
                              },
                              .synchronize = [&]() -> Result<void> {
                                  ++driver.synchronizations;
                                  return {};
                              }});
    EXPECT_EQ(pool.malloc(1).error().message, "hipErrorIllegalAddress");
    EXPECT_EQ(driver.synchronizations, 0);
}

TEST(MemoryPool, FreeOfWhatItDidNotGiveOutIsAnError) {
    Driver driver;
    MemoryPool pool = driver.pool();
    const DevicePtr a = pool.malloc(8).value();
    ASSERT_TRUE(pool.free(a));
    EXPECT_EQ(pool.free(a).error().kind, ErrorKind::Usage) << "twice";
    EXPECT_FALSE(pool.free(0x77));
}

TEST(MemoryPool, SizesAreWholeUnitsAndDoNotWrapAround) {
    EXPECT_EQ(MemoryPool::rounded(0), 512u);
    EXPECT_EQ(MemoryPool::rounded(513), 1024u);
    EXPECT_EQ(MemoryPool::rounded(1 << 20), 2u << 20);
    EXPECT_EQ(MemoryPool::rounded((2 << 20) + 1), 4u << 20);
    EXPECT_EQ(MemoryPool::rounded(SIZE_MAX - 3), SIZE_MAX - 3);
}

}  // namespace
}  // namespace strata::providers
