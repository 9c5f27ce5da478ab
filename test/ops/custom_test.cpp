#include "strata/ops/custom.h"

#include "helpers.h"
#include "strata/core/uop/kernel.h"
#include "strata/runtime/custom.h"
#include "strata/runtime/realize.h"

namespace strata::test {
namespace {

constexpr const char* kScale = R"(#include <hip/hip_runtime.h>
extern "C" __global__ void scale(float* out, const float* x) {
    extern __shared__ float tile[];
    tile[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
    out[blockIdx.x * blockDim.x + threadIdx.x] = FACTOR * tile[threadIdx.x];
})";

Tensor four() {
    const float values[] = {1, 2, 3, 4};
    return Tensor::from_host(values, {2, 2}, dtypes::float32, "emu:gfx1100");
}
std::vector<float> on_host(Tensor t) {
    std::vector<float> out(static_cast<size_t>(t.numel()));
    t.to_host(out.data());
    return out;
}
Tensor out() { return Tensor::empty({2, 2}, dtypes::float32, "emu:gfx1100"); }

TEST(CustomKernel, RunsHipSourceWithOptionsAndDynamicLds) {
    auto kernel = ops::hip_kernel(kScale, "scale", 2, 2, {"-DFACTOR=3"}, 8);
    std::vector<Tensor> got = ops::custom_kernel(out(), {four()}, kernel);
    ASSERT_EQ(got.size(), 2u);
    EXPECT_EQ(on_host(got[0]), (std::vector<float>{3, 6, 9, 12}));
    EXPECT_EQ(on_host(got[1]), (std::vector<float>{1, 2, 3, 4}));
}

TEST(CustomKernel, GetsViewsAndValuesAsRowMajorBuffers) {
    auto kernel = ops::hip_kernel(kScale, "scale", 2, 2, {"-DFACTOR=1"}, 8);
    EXPECT_EQ(on_host(ops::custom_kernel(out(), {four().T() + 1}, kernel)[0]), (std::vector<float>{2, 4, 3, 5}));
}

ops::UserKernel doubling() {
    GraphScope scope;
    UOp to = uop::buffer(0, dtypes::float32, 4), from = uop::buffer(1, dtypes::float32, 4);
    UOp i = uop::range(4, 0, Axis::local);
    UOp twice = uop::load(uop::at(from, i)) * constant(dtypes::float32, 2);
    return ops::uop_kernel(uop::sink(uop::end(uop::store(uop::at(to, i), twice), {i}), ""));
}

TEST(CustomKernel, AGraphMayBeKeptAndUsedAgain) {
    ops::UserKernel kernel = doubling();
    for (int round = 0; round < 3; ++round) {
        EXPECT_EQ(on_host(ops::custom_kernel(out(), {four()}, kernel)[0]), (std::vector<float>{2, 4, 6, 8}));
        runtime::collect();  // frees every graph that nothing holds
    }
}

TEST(CustomKernel, AGateKeepsLoadsAndStoresInBounds) {
    ops::UserKernel kernel;
    {
        GraphScope scope;
        UOp to = uop::buffer(0, dtypes::float32, 4), from = uop::buffer(1, dtypes::float32, 4);
        UOp i = uop::range(32, 0, Axis::local), inside = i < 4;
        UOp value = uop::load(uop::at(from, i + 2, i < 2));
        kernel = ops::uop_kernel(uop::sink(uop::end(uop::store(uop::at(to, i, inside), value), {i}), "shift"));
    }
    EXPECT_EQ(on_host(ops::custom_kernel(out(), {four()}, kernel)[0]), (std::vector<float>{3, 4, 0, 0}));
}

constexpr const char* kAxpy = R"(#include <hip/hip_runtime.h>
extern "C" __global__ void axpy(int n, float a, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
})";

TEST(CustomKernel, TakesNumbersInItsOwnOrder) {
    auto kernel = ops::hip_kernel(kAxpy, "axpy");
    ops::LaunchOptions shape{2, 2};
    std::vector<Tensor> got = ops::custom_kernel({4, 10.0f, four(), four()}, kernel, shape);
    ASSERT_EQ(got.size(), 2u);
    EXPECT_EQ(on_host(got[1]), (std::vector<float>{11, 22, 33, 44}));
    EXPECT_EQ(on_host(got[0]), (std::vector<float>{1, 2, 3, 4}));
}

TEST(CustomKernel, ACallRunsNowAndReturnsWhatWasWritten) {
    auto kernel = ops::hip_kernel(kAxpy, "axpy");
    Tensor x = four().realize(), y = four().realize();
    ops::LaunchResult done = ops::launch({3, 1, x, y}, kernel, {2, 2});
    EXPECT_EQ(done.written, (std::vector<size_t>{1}));
    EXPECT_EQ(on_host(y), (std::vector<float>{2, 4, 6, 4})) << "changed where it lies";
    EXPECT_EQ(ops::launch({3, 1, x, y}, kernel, {2, 2}, {"y", 2}).written, (std::vector<size_t>{1, 0}));
    expect_error(ErrorKind::Usage, "no parameter 'z'; its parameters: n, a, x, y",
                 [&] { ops::launch({3, 1, x, y}, kernel, {2, 2}, {"z"}); });
    expect_error(ErrorKind::Usage, "argument 0 of kernel 'axpy' is no tensor",
                 [&] { ops::launch({3, 1, x, y}, kernel, {2, 2}, {0}); });
}

TEST(CustomKernel, ACallGivesALazyTensorMemoryThatNothingElseShares) {
    auto kernel = ops::hip_kernel(kAxpy, "axpy");
    Tensor zero = Tensor::zeros({2, 2}).to("emu:gfx1100"), again = Tensor::zeros({2, 2}).to("emu:gfx1100");
    zero.realize();
    ops::LaunchResult done = ops::launch({4, 1, four(), again}, kernel, {2, 2});
    EXPECT_EQ(on_host(done.tensors[1]), (std::vector<float>{1, 2, 3, 4}));
    EXPECT_EQ(on_host(zero), (std::vector<float>{0, 0, 0, 0}));
    EXPECT_EQ(on_host(Tensor::zeros({2, 2}).to("emu:gfx1100")), (std::vector<float>{0, 0, 0, 0}));
}

TEST(CustomKernel, MistakesAreTheUsers) {
    expect_error(ErrorKind::Launch, "grid (0, 1, 1)", [] { ops::hip_kernel(kScale, "scale", 0, 64); });
    expect_error(ErrorKind::Launch, "block (4, 0, 1)", [] { ops::hip_kernel(kScale, "scale", 1, {4, 0}); });
    EXPECT_THROW(ops::asm_kernel({1, 2, 3}, 1, 1), Exception);
    expect_error(ErrorKind::Usage, "a sink was expected", [] {
        GraphScope scope;
        ops::uop_kernel(constant(dtypes::float32, 1));
    });
    expect_error(ErrorKind::Usage, "no kernel was given", [] { ops::custom_kernel(out(), {four()}, nullptr); });
    expect_error(ErrorKind::Shape, "it has no memory",
                 [] { ops::custom_kernel(Tensor::empty({0}, dtypes::float32, "emu:gfx1100"), {}, doubling()); });
    expect_error(ErrorKind::Usage, "nothing closes it", [] {
        ops::UserKernel open;
        {
            GraphScope scope;
            UOp place = uop::at(uop::buffer(0, dtypes::float32, 4), uop::range(4, 0, Axis::global));
            open = ops::uop_kernel(uop::sink(uop::store(place, 1.0), ""));
        }
        ops::custom_kernel(out(), {}, open)[0].realize();
    });
}

}  // namespace
}  // namespace strata::test
