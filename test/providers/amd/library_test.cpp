#include "strata/providers/amd/library.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "strata/providers/hip_api.h"

namespace strata::providers {
namespace {

Result<AmdLibrary> open(std::vector<std::string> files) { return open_amd_library(files); }

TEST(AmdLibrary, IsLookedForByNewestSonameThenInTheFoldersOfRocm) {
    setenv("ROCM_PATH", "/somewhere/rocm", 1);
    const std::vector<std::string> files = amd_library_files();
    unsetenv("ROCM_PATH");
    EXPECT_EQ(files.at(0), "libamdhip64.so.7");
    EXPECT_EQ(files.at(2), "libamdhip64.so.5");
    EXPECT_EQ(files.at(4), "/somewhere/rocm/lib/libamdhip64.so.7");
    EXPECT_EQ(files.back(), "/opt/rocm/lib/libamdhip64.so");
    EXPECT_EQ(amd_library_files().size(), files.size() - 4);
}

TEST(AmdLibrary, MissingItSaysWhatWasLookedFor) {
    const Result<AmdLibrary> got = open({"libnowhere.so.7", "/nowhere/libamdhip64.so"});
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().kind, ErrorKind::Device);
    EXPECT_EQ(got.error().message,
              "AMD's HIP runtime is not found; looked for libnowhere.so.7, /nowhere/libamdhip64.so");
}

TEST(AmdLibrary, AFileThatIsNoLibraryIsNamedWithItsReason) {
    const Result<AmdLibrary> got = open({"/nowhere/libamdhip64.so", STRATA_SOURCE_DIR "/README.md"});
    ASSERT_FALSE(got);
    EXPECT_NE(got.error().message.find("README.md cannot be opened: "), std::string::npos) << got.error().message;
    EXPECT_NE(got.error().message.find("invalid ELF header"), std::string::npos) << got.error().message;
}

TEST(AmdLibrary, ALibraryThatLacksACallIsTooOld) {
    const Result<AmdLibrary> got = open({STRATA_OLD_HIP_LIBRARY});
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().kind, ErrorKind::Device);
    EXPECT_NE(got.error().message.find("lacks hipGetErrorName: Strata needs AMD's HIP runtime of version 5 or later"),
              std::string::npos)
        << got.error().message;
}

TEST(AmdLibrary, HasTheCallsOfTheTable) {
    std::vector<std::string_view> calls;
#define CALL(since, result, name, parameters) calls.push_back(#name);
#include "strata/providers/amd/calls.def"
#undef CALL
    for (const std::string_view entry : entry_points())
        EXPECT_NE(std::ranges::find(calls, entry), calls.end()) << entry;
}

TEST(AmdLibrary, TheSameFileIsHip5Or6Or7ByItsName) {
    for (const char* version : {"5", "6", "7"}) {
        const Result<AmdLibrary> hip = open({STRATA_HIP_FOLDER "/libamdhip64.so." + std::string(version)});
        ASSERT_TRUE(hip) << hip.error().message;
        EXPECT_TRUE(hip->hipGetDevicePropertiesR0600);
        EXPECT_EQ(hip->version().value().substr(0, 4), "HIP ");
    }
}

TEST(AmdLibrary, ErrorsCarryNameAndTextOfHip) {
    const AmdLibrary hip = open({STRATA_HIP_FOLDER "/libamdhip64.so.6"}).value();
    const Result<void> got = hip.checked(hip.hipSetDevice(99), "hipSetDevice");
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().message, "hipErrorInvalidDevice: invalid device ordinal (hipSetDevice)");
    EXPECT_EQ(hip.hipGetLastError(), abi::hipSuccess) << "who shares the runtime does not find our errors there";
    EXPECT_TRUE(hip.checked(abi::hipSuccess, "hipInit"));
}

TEST(AmdLibrary, TextsAreThereForHip5Too) {
    const Result<AmdLibrary> debian = open({"libamdhip64.so.5"});
    if (!debian) GTEST_SKIP() << "needs Debian package libamdhip64-dev";
    EXPECT_EQ(debian->checked(abi::hipErrorOutOfMemory, "hipMalloc").error().message,
              "hipErrorOutOfMemory: out of memory (hipMalloc)");
}

}  // namespace
}  // namespace strata::providers
