#include <array>

#include "helpers.h"
#include "strata/ops/custom.h"
#include "strata/ops/random.h"
#include "strata/runtime/custom.h"
#include "strata/runtime/device.h"
#include "strata/runtime/realize.h"

using namespace strata;
using namespace strata::test;

namespace {

const std::array<float, 6> six = {1, 2, 3, 4, 5, 6};

Tensor on_device() { return Tensor::from_host(six.data(), {2, 3}, dtypes::float32, "emu:gfx1100"); }

std::vector<float> read(Tensor t) {
    std::vector<float> out(static_cast<size_t>(t.numel()));
    t.to_host(out.data());
    return out;
}

TEST(Interop, HostMemoryComesBack) {
    Tensor x = on_device();
    EXPECT_TRUE(x.is_realized());
    EXPECT_EQ(x.device().name(), "emu:gfx1100");
    EXPECT_EQ(x.nbytes(), 24);
    EXPECT_EQ(read(x), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(Interop, ViewsAreReadInRowMajorOrder) { EXPECT_EQ(read(on_device().T()), (std::vector<float>{1, 4, 2, 5, 3, 6})); }

TEST(Interop, OperationsComputeNothingUntilRealize) {
    Tensor x = on_device();
    runtime::reset_stats();
    Tensor y = (x + 1) * 2;
    EXPECT_FALSE(y.is_realized());
    EXPECT_EQ(runtime::stats().kernels, 0u);
    y.realize();
    EXPECT_TRUE(y.is_realized());
    EXPECT_EQ(runtime::stats().kernels, 1u);
    EXPECT_EQ(read(y), (std::vector<float>{4, 6, 8, 10, 12, 14}));
    EXPECT_EQ(runtime::stats().kernels, 1u);
}

TEST(Interop, RealizesTogetherAndKeepsUniformTensorsShapes) {
    Tensor a = on_device().exp(), b = a.sum(), c = Tensor::ones({2, 2});
    Tensor::realize({&a, &b, &c});
    EXPECT_TRUE(a.is_realized() && b.is_realized() && c.is_realized());
    EXPECT_FALSE(c.is_uniform());
    EXPECT_EQ(read(c), (std::vector<float>{1, 1, 1, 1}));
}

TEST(Interop, ItemsOfEveryKind) {
    EXPECT_EQ(on_device().sum().item().as_double(), 21);
    EXPECT_EQ(Tensor::full({1, 1}, -5).item().as_int(), -5);
    EXPECT_EQ(Tensor::full({}, -5, dtypes::int8).item().as_int(), -5);
    EXPECT_EQ(Tensor::full({}, true).item().kind, Kind::Bool);
    EXPECT_EQ(Tensor::full({}, 1.5, dtypes::bfloat16).item().as_double(), 1.5);
    EXPECT_EQ(Tensor::full({}, uint64_t{0xffffffffffffffff}).item().kind, Kind::UInt);
    expect_error(ErrorKind::Usage, "[item] shape (2, 3) holds 6 elements", [] { on_device().item(); });
}

TEST(Interop, EmptyTensorsNeedNoDevice) {
    Tensor x = Tensor::zeros({0, 4}).sum(1);
    x.realize();
    EXPECT_TRUE(x.is_realized());
    EXPECT_TRUE(read(x).empty());
    EXPECT_EQ(Tensor::empty({3, 0}).shape(), (Shape{3, 0}));
}

TEST(Interop, TheHostSeesTheMemoryOfAnEmulatedDevice) {
    Tensor x = on_device() * 2;
    Tensor::HostView view = x.T().host_view();
    ASSERT_NE(view.data, nullptr);
    EXPECT_EQ(static_cast<const float*>(view.data)[1], 8);
}

TEST(Interop, DevicesDoNotMix) {
    const runtime::Device& here = runtime::device("emu:gfx1100");
    static const runtime::Device other("emu:other", 77, here.arch(), here.api(), here.ordinal());
    Tensor a = on_device(), b(Tensor::ones({2, 3}).uop(), &other);
    expect_error(ErrorKind::Device, "[add] tensors on emu:gfx1100 and emu:other", [&] { a + b; });
    expect_error(ErrorKind::Device, "[matmul] tensors on emu:gfx1100 and emu:other", [&] { a.matmul(b.T()); });
    expect_error(ErrorKind::Device, "[cat] tensors on emu:gfx1100 and emu:other", [&] { ops::cat({a, b}); });
    EXPECT_EQ((Tensor::ones({2}) + 1).to("emu:gfx1100").device().name(), "emu:gfx1100");
    expect_error(ErrorKind::Device, "unknown device 'abacus'", [&] { a.to("abacus"); });
    expect_error(ErrorKind::Device, "unknown device 'emu:gfx9000'", [&] { a.to("emu:gfx9000"); });
}

TEST(Interop, SeedsRepeatTheSequence) {
    ops::manual_seed(7);
    Tensor a = ops::rand({3}), b = ops::rand({3});
    ops::manual_seed(7);
    Tensor again = ops::rand({3});
    EXPECT_EQ(read(a), read(again));
    EXPECT_NE(read(a), read(b));
    ops::manual_seed(8);
    EXPECT_NE(read(a), read(ops::rand({3})));
    Tensor dice = ops::randint({100}, -3, 4, dtypes::int32);
    std::vector<int32_t> v(100);
    dice.to_host(v.data());
    EXPECT_EQ(*std::min_element(v.begin(), v.end()), -3);
    EXPECT_EQ(*std::max_element(v.begin(), v.end()), 3);
    expect_error(ErrorKind::Usage, "[randint] [3, 3)", [] { ops::randint({1}, 3, 3); });
    expect_error(ErrorKind::DType, "[rand] gives floats, not int32", [] { ops::rand({1}, dtypes::int32); });
}

TEST(Interop, CustomKernelsFillTheirOutput) {
    auto kernel = std::make_shared<runtime::CustomKernel>();
    codegen::HipSource source;
    source.text =
        "extern \"C\" __global__ void twice(float* out, const float* x) { out[threadIdx.x] = 2 * x[threadIdx.x]; }\n";
    source.text = "#include <hip/hip_runtime.h>\n" + source.text;
    source.kernel = kernel->name = "twice";
    source.freestanding = false;
    kernel->body = source;
    kernel->grid = {1, 1, 1};
    kernel->block = {6, 1, 1};
    std::vector<Tensor> results =
        ops::custom_kernel(Tensor::empty({2, 3}, dtypes::float32, "emu:gfx1100"), {on_device() + 1}, kernel);
    ASSERT_EQ(results.size(), 2u);
    Tensor::realize({&results[0], &results[1]});
    EXPECT_EQ(results[0].shape(), (Shape{2, 3}));
    EXPECT_EQ(read(results[0]), (std::vector<float>{4, 6, 8, 10, 12, 14}));
    EXPECT_EQ(read(results[1]), (std::vector<float>{2, 3, 4, 5, 6, 7}));
    expect_error(ErrorKind::Shape, "[custom_kernel] argument 0 has shape (0,)",
                 [&] { ops::custom_kernel(Tensor::zeros({0}), {}, kernel); });
}

}  // namespace
