// Functions of the library return HIP's code for null pointers, handles that are none and sizes that cannot be, a row each of refusals.def.
#include "fixture.h"
#include "strata/bindings/hip/structs_p.h"

namespace strata::hip::library {
namespace {

class Refusals : public Library {};

TEST_F(Refusals, AreTheCodesOfTheTableAndLeaveTheDeviceAsItWas) {
    alignas(16) char text[512] = {}, none[64] = {};
    int one = 0;
    unsigned flags = 0;
    size_t size = 0, before = 0, now = 0, total = 0;
    float ms = 0;
    void *out = nullptr, *memory = filled(counted(1));
    ASSERT_EQ(hipMemGetInfo(&before, &total), hipSuccess);
#define REFUSES(code, call) EXPECT_EQ(call, hipError##code) << #call;
#include "refusals.def"
#undef REFUSES
    ASSERT_EQ(hipMemGetInfo(&now, &total), hipSuccess);
    EXPECT_EQ(now, before);
    EXPECT_EQ(read(memory), counted(1));
    free_all({memory});
}

}  // namespace
}  // namespace strata::hip::library
