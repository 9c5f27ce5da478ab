// Device memory that is a file, which other processes may map.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <vector>

#include "strata/asm/emu/gpu.h"

namespace strata::emu {
namespace {

constexpr size_t kBytes = 5000, kMapped = 8192;

TEST(SharedMemory, HoldsWhatItHeldAndWhatIsWrittenToItsFile) {
    Gpu gpu(isa::Arch::gfx1100);
    const DeviceAddress at = gpu.allocate_pages(kBytes).value(), near = gpu.allocate(16).value();
    std::vector<uint8_t> bytes(kBytes), got(kBytes);
    for (size_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<uint8_t>(i * 7);
    ASSERT_TRUE(gpu.write(at, bytes.data(), kBytes));
    ASSERT_TRUE(gpu.write(near, bytes.data(), 16));
    const int file = gpu.share(at).value();
    EXPECT_EQ(gpu.share(at).value(), file) << "asked for again";
    ASSERT_TRUE(gpu.read(got.data(), at, kBytes));
    EXPECT_EQ(got, bytes);
    void* const other = mmap(nullptr, kMapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ASSERT_NE(other, MAP_FAILED);
    static_cast<uint8_t*>(other)[4999] = 99;
    ASSERT_TRUE(gpu.read(got.data(), at + 4999, 1));
    EXPECT_EQ(got[0], 99);
    ASSERT_TRUE(gpu.fill(at, 3, 10));
    EXPECT_EQ(static_cast<uint8_t*>(other)[9], 3);
    ASSERT_TRUE(gpu.free(at));
    struct stat about{};
    EXPECT_NE(fstat(file, &about), 0) << "its end closes the file";
    EXPECT_EQ(static_cast<uint8_t*>(other)[9], 3) << "who has mapped it keeps it";
    ASSERT_TRUE(gpu.read(got.data(), near, 16));
    EXPECT_TRUE(std::equal(got.begin(), got.begin() + 16, bytes.begin()));
    munmap(other, kMapped);
}

TEST(SharedMemory, IsRefusedWhereItIsNotAllOfItsPages) {
    Gpu gpu(isa::Arch::gfx1100);
    const DeviceAddress at = gpu.allocate_pages(kBytes).value();
    DeviceAddress small = gpu.allocate(16).value();
    if (small % 4096 == 0) small = gpu.allocate(16).value();
    for (const DeviceAddress bad : {small, at + 8, at + kBytes})
        EXPECT_NE(gpu.share(bad).error().message.find("is no memory in pages of its own"), std::string::npos);
}

}  // namespace
}  // namespace strata::emu
