#include "strata/codegen/render/render.h"

#include <gtest/gtest.h>

#include "../linear/kernels.h"
#include "../target/gfx1100.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

std::string rendered(const Kernel& kernel, const Target& target = gfx1100) {
    auto program = linearize(kernel, target);
    if (!program) return program.error().message;
    auto source = render_hip(*program, target);
    return source ? source->text : source.error().message;
}

TEST(RenderHip, WritesAUsersBlockSumAsItWasMeant) {
    EXPECT_EQ(rendered(block_sum(64)), R"(// block_sum: grid 1024 x 1 x 1, block 256 x 1 x 1, 1024 bytes of local memory
extern "C" __global__ void block_sum_kernel(float* __restrict__ out0, const float* __restrict__ in1) __asm__("block_sum");
extern "C" __global__ void __launch_bounds__(256) block_sum_kernel(float* __restrict__ out0, const float* __restrict__ in1) {
    const int bx = blockIdx.x;  // below 1024
    const int tx = threadIdx.x;  // below 256
    float acc0 = 0.0f;
    __shared__ __attribute__((aligned(16))) float lds0[256];
    float acc1 = 0.0f;
    const int idx0 = bx * 256 + tx;
    for (int r2 = 0; r2 < 64; r2++) {
        acc1 = in1[idx0 + r2 * 262144] + acc1;
    }
    lds0[tx] = acc1;
    __syncthreads();
    for (int r3 = 0; r3 < 256; r3++) {
        acc0 = lds0[r3] + acc0;
    }
    if (tx < 1) out0[bx] = acc0;
}
)");
}

TEST(RenderHip, WritesLoopsThatThreadsLeaveAndConditions) {
    const UOp out = uop::buffer(0, dtypes::int32, 64), x = uop::buffer(1, dtypes::int32, 64);
    const UOp t = uop::range(64, 0, Axis::local), one = uop::range(1, 1, Axis::loop),
              r = uop::range(2147483647, 2, Axis::loop);
    const UOp given = uop::load(uop::at(x, t)), zero = constant_int(dtypes::int32, 0);
    const UOp skipped = uop::break_if(given < zero, one);
    const UOp left = uop::break_if(alu(Op::logical_not, {cast(r, dtypes::int32) < given}), r);
    const UOp step = uop::store(uop::at(uop::after(out, {left, skipped}), t), cast(r, dtypes::int32));
    EXPECT_EQ(rendered(kernel("leaving", uop::end(uop::end(uop::end(step, {r}), {one}), {t}))),
              R"(// leaving: grid 1 x 1 x 1, block 64 x 1 x 1
extern "C" __global__ void leaving_kernel(int* __restrict__ out0, const int* __restrict__ in1) __asm__("leaving");
extern "C" __global__ void __launch_bounds__(64) leaving_kernel(int* __restrict__ out0, const int* __restrict__ in1) {
    const int tx = threadIdx.x;  // below 64
    const int val0 = in1[tx];
    if (!(val0 < 0)) {
        for (int r2 = 0; r2 < 2147483647; r2++) {
            const int alu0 = (int)r2;
            if (!(alu0 < val0)) break;
            out0[tx] = alu0;
        }
    }
}
)");
}

TEST(RenderHip, AsksNvrtcToWriteOutLoopsOverLocalMemoryAlone) {
    const std::string text = rendered(block_sum(64), target_of(Chip::parse("sm_90").value()));
    EXPECT_NE(text.find("    #pragma unroll 8\n    for (int r3 = 0; "), std::string::npos) << text;
    EXPECT_EQ(text.find("#pragma"), text.rfind("#pragma")) << text;
}

}  // namespace
}  // namespace strata::codegen
