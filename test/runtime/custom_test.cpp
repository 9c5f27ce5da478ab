#include "strata/runtime/custom.h"

#include "helpers.h"
#include "strata/runtime/kernel_call.h"

namespace strata::runtime {
namespace {

using namespace test;

constexpr const char* kDouble = R"(#include <hip/hip_runtime.h>
extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }
extern "C" __global__ void add_to(float* out, float* x) { out[threadIdx.x] += x[threadIdx.x]; x[threadIdx.x] = -1; }
extern "C" __global__ void wild(float* x) { x[threadIdx.x + (1ul << 33)] = 1; }
)";

CustomKernel hip_kernel(const std::string& name, uint32_t threads) {
    return {codegen::HipSource{kDouble, name, false}, name, {1, 1, 1}, {threads, 1, 1}, 0, ""};
}

/// The custom node over these buffers.
Root launch_of(CustomKernel kernel, std::vector<UOp> buffers) {
    GraphScope scope;
    if (const auto* body = std::get_if<codegen::Kernel>(&kernel.body)) kernel.graph = Root(body->sink);
    const CustomArg arg = register_custom({std::make_shared<const CustomKernel>(std::move(kernel))});
    UOp node = make(Op::custom, dtypes::none, buffers, arg);
    return Root(node);
}
Root pick(const Root& launch, int i) {
    GraphScope scope;
    UOp source = launch.get().src(static_cast<size_t>(i));
    return Root(make(Op::pick, source.dtype(), {launch.get()}, IndexArg{i}));
}

TEST_F(Runtime, AUsersKernelRunsOnceForAllItsResults) {
    Root out = on_device(counting(8)), x = on_device(counting(8, 10));
    Root launch = launch_of(hip_kernel("add_to", 8), {out.get(), x.get()});
    Root first = pick(launch, 0), second = pick(launch, 1);
    EXPECT_EQ(values(realized(first.get()))[3], 16);
    EXPECT_EQ(values(realized(second.get()))[3], -1);
    EXPECT_EQ(values(realized(first.get()))[3], 16);
    EXPECT_EQ(stats().kernels, 1u);
    EXPECT_EQ(stats().launches[0].name, "add_to");
}

TEST_F(Runtime, AUsersKernelRunsBetweenComputedKernels) {
    Root out = on_device(counting(8)), x = on_device(counting(8, 10)), launch, root;
    {
        GraphScope scope;
        launch = launch_of(hip_kernel("add_to", 8), {out.get(), x.get() * number(3)});
    }
    {
        Root result = pick(launch, 0);
        GraphScope scope;
        root = Root(result.get() + number(1));
    }
    EXPECT_EQ(values(realized(root.get()))[2], 2 + 36 + 1);
    EXPECT_EQ(values(x)[2], 12) << "the kernel got a buffer of its own";
    EXPECT_EQ(stats().kernels, 3u);
}

/// Runs a kernel over buffers where they are.
void launch_now(const std::shared_ptr<const CustomKernel>& kernel, const Root& x) {
    KernelCall call(device(), {kernel}, 1);
    launch(call, std::array{x.get()});
}

TEST_F(Runtime, WhatAUsersKernelChangesIsACopyWhereOthersSeeItAndComputedAgainWhereItIsNot) {
    Root x = on_device(counting(8)), plus;
    {
        GraphScope scope;
        plus = Root(x.get() + number(1));
    }
    EXPECT_EQ(values(realized(plus.get()))[5], 6);
    Root changed = pick(launch_of(hip_kernel("twice", 8), {x.get()}), 0);
    EXPECT_EQ(values(realized(changed.get()))[5], 10);
    EXPECT_EQ(values(realized(plus.get()))[5], 6);
    EXPECT_EQ(values(x)[5], 5);
    launch_now(std::make_shared<const CustomKernel>(hip_kernel("twice", 8)), x);
    EXPECT_EQ(values(realized(plus.get()))[5], 11);
}

TEST_F(Runtime, AKernelAsAGraphTakesItsLaunchFromItsRanges) {
    codegen::Kernel kernel;
    Root keep;
    {
        GraphScope scope;
        UOp p = make(Op::param, dtypes::float32, {}, ParamArg{Space::global, 0, 64});
        UOp g = make(Op::range, dtypes::index, {}, RangeArg{0, 4, Axis::global});
        UOp t = make(Op::range, dtypes::index, {}, RangeArg{1, 16, Axis::local});
        UOp place = make(Op::index, dtypes::float32, {p, g * 16 + t});
        UOp store = make(Op::store, dtypes::none, {place, make(Op::load, dtypes::float32, {place}) * number(7)});
        kernel = {make(Op::sink, dtypes::none, {make(Op::end, dtypes::none, {store, g, t})}, SinkArg{}), "sevenfold"};
        keep = Root(kernel.sink);
    }
    Root x = on_device(counting(64));
    EXPECT_EQ(values(realized(pick(launch_of({kernel, "sevenfold"}, {x.get()}), 0).get()))[63], 63 * 7);
    EXPECT_EQ(values(x)[63], 63);
    Stats s = stats();
    EXPECT_EQ(s.launches.at(0).grid, (std::array<uint32_t, 3>{4, 1, 1}));
    EXPECT_EQ(s.launches.at(0).block, (std::array<uint32_t, 3>{16, 1, 1}));
}

TEST_F(Runtime, AGraphOfAUsersKernelLivesUntilItIsLaunched) {
    Root x = on_device(counting(64)), result;
    std::weak_ptr<const CustomLaunch> watched;
    {
        Root launch;
        {
            GraphScope scope;
            UOp p = make(Op::param, dtypes::float32, {}, ParamArg{Space::global, 0, 64});
            UOp r = make(Op::range, dtypes::index, {}, RangeArg{0, 64, Axis::global});
            UOp place = make(Op::index, dtypes::float32, {p, r});
            UOp store = make(Op::store, dtypes::none, {place, cast(r, dtypes::float32) * number(0.5)});
            UOp end = make(Op::end, dtypes::none, {store, r});
            codegen::Kernel kernel{make(Op::sink, dtypes::none, {end}, SinkArg{}), "halves"};
            launch = launch_of({kernel, "halves"}, {x.get()});
        }
        watched = find_custom(launch.get().as<CustomArg>().id);
        result = pick(launch, 0);
    }
    collect();
    EXPECT_EQ(values(realized(result.get()))[9], 4.5f);
    result = Root();
    collect();
    EXPECT_TRUE(watched.expired());
}

TEST_F(Runtime, AUsersKernelWithTheWrongNumberOfBuffersIsALaunchError) {
    Root x = on_device(counting(8));
    Root wrong = pick(launch_of(hip_kernel("add_to", 8), {x.get()}), 0);
    expect_error(ErrorKind::Launch, "kernel 'add_to' takes 2 parameters (float* out, float* x), 1 arguments were given",
                 [&] { realized(wrong.get()); });
}

TEST_F(Runtime, AUsersMistakesAreErrorsAndTheRuntimeLivesOn) {
    Root x = on_device(counting(8)), plus;
    Root wild = pick(launch_of(hip_kernel("wild", 8), {x.get()}), 0);
    expect_error(ErrorKind::MemoryFault, "wild", [&] { realized(wild.get()); });
    CustomKernel broken{
        codegen::HipSource{"__global__ void k(float* x) { x[0] = nonsense; }", "k"}, "k", {1, 1, 1}, {1, 1, 1}};
    Root uncompiled = pick(launch_of(broken, {x.get()}), 0);
    expect_error(ErrorKind::Compile, "nonsense", [&] { realized(uncompiled.get()); });
    {
        GraphScope scope;
        plus = Root(x.get() + number(1));
    }
    EXPECT_EQ(values(realized(plus.get()))[7], 8);
}

TEST_F(Runtime, ALaunchCarriesTheValuesOfItsNumbers) {
    constexpr const char* text = R"(#include <hip/hip_runtime.h>
extern "C" __global__ void fill(float value, float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = value; })";
    auto kernel = std::make_shared<const CustomKernel>(
        CustomKernel{codegen::HipSource{text, "fill", false}, "fill", {1, 1, 1}, {8, 1, 1}});
    for (float value : {2.5f, -1.0f}) {
        Root x = on_device(counting(8)), result;
        {
            GraphScope scope;
            CustomLaunch launch{kernel,
                                {{Argument::Number{Kind::Float, 0, value}}, {}, {Argument::Number{Kind::Int, 6}}}};
            UOp node = make(Op::custom, dtypes::none, {x.get()}, register_custom(launch));
            result = Root(make(Op::pick, dtypes::float32, {node}, IndexArg{0}));
        }
        EXPECT_EQ(values(realized(result.get())), (std::vector<float>{value, value, value, value, value, value, 6, 7}));
        EXPECT_EQ(values(x)[0], 0);
    }
}

TEST_F(Runtime, AKernelThatWasLaunchedIsNotLoadedAgain) {
    auto kernel = std::make_shared<const CustomKernel>(hip_kernel("twice", 8));
    Root x = on_device(counting(8));
    launch_now(kernel, x);
    auto first = program(device(), *kernel);
    launch_now(kernel, x);
    EXPECT_EQ(program(device(), *kernel), first);
    EXPECT_EQ(values(x)[3], 12);
}

TEST_F(Runtime, AUsersKernelLivesWhileAnyNodeHasIt) {
    auto kernel = std::make_shared<const CustomKernel>(hip_kernel("twice", 8));
    Root x = on_device(counting(8)), y = on_device(counting(8)), root;
    {
        GraphScope scope;
        const UOp first = make(Op::custom, dtypes::none, {x.get()}, register_custom({std::move(kernel)}));
        root = Root(make(Op::pick, dtypes::float32, {first.with_src(std::vector{y.get()})}, IndexArg{0}));
    }
    collect();  // the first node
    EXPECT_EQ(values(realized(root.get()))[3], 6);
}

TEST_F(Runtime, AUsersKernelGoesWithItsNode) {
    auto kernel = std::make_shared<const CustomKernel>(hip_kernel("twice", 8));
    std::weak_ptr<const CustomKernel> watched = kernel;
    std::weak_ptr<Buffer> memory;
    {
        Root x = on_device(counting(8)), root;
        memory = find_buffer(x.get());
        {
            GraphScope scope;
            const CustomArg arg = register_custom({std::move(kernel)});
            UOp node = make(Op::custom, dtypes::none, {x.get()}, arg);
            root = Root(make(Op::pick, dtypes::float32, {node}, IndexArg{0}));
        }
        realized(root.get());
        EXPECT_FALSE(watched.expired());
    }
    collect();
    EXPECT_TRUE(watched.expired());
    EXPECT_TRUE(memory.expired());
}

}  // namespace
}  // namespace strata::runtime
