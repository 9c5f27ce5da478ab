#include "strata/providers/hip_api.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "strata/providers/providers.h"

namespace strata::providers {
namespace {

TEST(HipApi, EveryProviderFillsEveryRow) {
    for (const Provider& provider : kProviders) {
        Result<void> complete = check_complete(provider.api());
        EXPECT_TRUE(complete) << complete.error().message;
    }
}

TEST(HipApi, AnEmptyRowIsNamedAsHipNamesIt) {
    HipApi api = emulated();
    api.provider = "partial";
    api.event_record = nullptr;
    Result<void> complete = check_complete(api);
    ASSERT_FALSE(complete);
    EXPECT_EQ(complete.error().kind, ErrorKind::Device);
    EXPECT_EQ(complete.error().message, "the provider 'partial' lacks hipEventRecord");
    api = emulated();
    api.host_view = nullptr;
    EXPECT_FALSE(check_complete(api));
}

TEST(HipApi, EntryPointsAreThoseOfAmdsLibrary) {
    void* library = dlopen("libamdhip64.so", RTLD_LAZY | RTLD_LOCAL);
    if (!library) GTEST_SKIP() << "needs Debian package libamdhip64-dev";
    for (const char* entry : entry_points()) EXPECT_TRUE(dlsym(library, entry)) << entry;
    EXPECT_FALSE(dlsym(library, "hipMallocNothing"));
}

}  // namespace
}  // namespace strata::providers
