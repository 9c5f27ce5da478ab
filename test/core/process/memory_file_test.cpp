#include "strata/core/process/memory_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace strata {
namespace {

TEST(MemoryFile, KeepsItsSizeAndIsKnownByIt) {
    const int file = make_memory_file("strata-test-1");
    ASSERT_GE(file, 0);
    ASSERT_EQ(ftruncate(file, 4096), 0);
    EXPECT_FALSE(is_memory_file(file, "strata-test")) << "it may still become shorter";
    ASSERT_TRUE(fix_size(file));
    EXPECT_TRUE(is_memory_file(file, "strata-test"));
    EXPECT_FALSE(is_memory_file(file, "strata-other"));
    for (const off_t bytes : {0, 8192}) EXPECT_NE(ftruncate(file, bytes), 0);
    EXPECT_EQ(pwrite(file, "x", 1, 4095), 1);
    close(file);
    EXPECT_FALSE(is_memory_file(file, "strata-test"));
    for (const char* other : {"/dev/zero", "/proc/self/exe"}) {
        const int opened = open(other, O_RDONLY);
        EXPECT_FALSE(is_memory_file(opened, "")) << other;
        close(opened);
    }
}

}  // namespace
}  // namespace strata
