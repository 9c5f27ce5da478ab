#include "strata/codegen/kernel/flops.h"

#include "build_helpers.h"

namespace strata::codegen {
namespace {

using namespace test;

uint64_t flops(UOp body) { return count_flops(built(body).kernel.sink); }

TEST(CountFlops, CountsFloatingPointOperationsFromTheLoops) {
    GraphScope scope;
    EXPECT_EQ(flops(filled({64}) + number(1)), 64u);
    EXPECT_EQ(flops(sum(filled({6, 50}), {1})), 300u);
    EXPECT_EQ(flops(matmul(filled({8, 16}), filled({16, 4}))), 2u * 8 * 16 * 4);
    EXPECT_EQ(flops(filled({64}, dtypes::int32) + constant_int(dtypes::int32, 1)), 0u);
    EXPECT_EQ(flops(permute(filled({6, 50}), {1, 0})), 0u);
}

}  // namespace
}  // namespace strata::codegen
