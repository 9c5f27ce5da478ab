#include "strata/core/process/build_id.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace strata {
namespace {

TEST(BuildId, IsWhatTheLinkerWroteIntoThisProgram) {
    std::ifstream file("/proc/self/exe", std::ios::binary);
    const std::string program{std::istreambuf_iterator<char>(file), {}};
    ASSERT_GE(build_id().size(), 8u);
    EXPECT_NE(program.find(std::string("GNU\0", 4) + build_id()), std::string::npos);
}

}  // namespace
}  // namespace strata
