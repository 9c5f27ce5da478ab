#include "strata/runtime/program.h"

#include <set>

#include "helpers.h"
#include "strata/codegen/driver/compile.h"
#include "strata/codegen/driver/compile_kernel.h"

namespace strata::runtime {
namespace {

using namespace test;

constexpr const char* kTwoKernels = R"(
__global__ void scale(float* out, const float* x) { out[threadIdx.x] = 3 * x[threadIdx.x]; }
extern "C" __global__ void three(float* a, const float* b, const float* c) { a[threadIdx.x] = b[threadIdx.x] - c[threadIdx.x]; }
)";

codegen::HipSource source(const std::string& kernel) {
    return {"#include <hip/hip_runtime.h>" + std::string(kTwoKernels), kernel, false};
}

std::vector<providers::DevicePtr> pointers(std::vector<Root> buffers) {
    std::vector<providers::DevicePtr> out;
    for (const Root& b : buffers) out.push_back(find_buffer(b.get())->address());
    return out;
}

codegen::Scheduled kernel_of(UOp body) {
    UOp output = make(Op::buffer, body.dtype(), {}, BufferArg{1'000'000, body.numel(), 0});
    return {codegen::start_kernel({output, body}).kernel, {}};
}

/// Slots of the buffers that the kernel's graph names.
std::set<int> slots_of(const codegen::Kernel& kernel) {
    std::set<int> out;
    for (UOp u : toposort(kernel.sink))
        if (u.is(Op::param)) out.insert(u.as<ParamArg>().slot);
    return out;
}

TEST_F(Runtime, AProgramRunsOverTheBuffersInOrder) {
    executable::Code made = codegen::compile_hip(source("three"), isa::Arch::gfx1100).value();
    auto program = Program::load(device(), std::move(made));
    program->code.block = {8, 1, 1};
    Root out = on_device(counting(8)), b = on_device(counting(8, 100)), c = on_device(counting(8, 1));
    Launched launched = program->launch(pointers({out, b, c}));
    EXPECT_EQ(values(out), std::vector<float>(8, 99));
    EXPECT_GT(launched.time_ms, 0);
    EXPECT_EQ(program->code.info().name, "three");
}

TEST_F(Runtime, AProgramWithoutItsEntryIsNotLoaded) {
    executable::Code made = codegen::compile_hip(source("three"), isa::Arch::gfx1100).value();
    made.entry = "four";
    expect_error(ErrorKind::Launch, "no kernel 'four'; it has: ", [&] { Program::load(device(), made); });
}

TEST_F(Runtime, ProgramsThatDifferInTheirLinesAloneComputeTheSame) {
    const codegen::Target target = codegen::target_of(isa::Arch::gfx1100, codegen::Route::asm_);
    const auto loaded = [&](double factor, const char* file) {
        GraphScope scope;
        CustomKernel kernel{kernel_of(filled({8}) * number(factor)).kernel, "k"};
        const size_t lines = toposort(std::get<codegen::Kernel>(kernel.body).sink).size();
        kernel.places = {"k.uops", std::vector<uint32_t>(lines, 1), {{file, 3, 0, 0, ""}}};
        kernel.graph = Root(std::get<codegen::Kernel>(kernel.body).sink);
        return Program::load(device(), compile_custom(kernel, target).value());
    };
    const auto first = loaded(3, "a.py"), moved = loaded(3, "b.py"), other = loaded(4, "a.py");
    EXPECT_NE(first->code.code_object(), moved->code.code_object());
    EXPECT_TRUE(first->computes_as(*moved));
    EXPECT_FALSE(first->computes_as(*other));
}

TEST_F(Runtime, KernelsOfOneCodeObjectShareItsVariables) {
    constexpr const char* text = R"(#include <hip/hip_runtime.h>
namespace of { __device__ int count; }
extern "C" __global__ void first(int* x) { of::count += x[0]; }
extern "C" __global__ void second(int* x) { x[0] = of::count; })";
    auto made = [&](const char* name) {
        return CustomKernel{codegen::HipSource{text, name, false, "file.hip"}, name, {1, 1, 1}, {1, 1, 1}};
    };
    CustomKernel first = made("first"), second = made("second");
    Root x = on_device<int>({5}, dtypes::int32);
    program(device(), first)->launch(pointers({x}));
    program(device(), first)->launch(pointers({x}));
    program(device(), second)->launch(pointers({x}));
    EXPECT_EQ(values<int>(x)[0], 10);
    providers::DeviceRange range = program(device(), second)->variable("of::count");
    int count = 0;
    device().api().memcpy_to_host(device().ordinal(), &count, range.address, sizeof count).value();
    EXPECT_EQ(count, 10);
    EXPECT_EQ(range.bytes, sizeof count);
    expect_error(ErrorKind::Usage, "no variable 'nothing'; it has: of::count",
                 [&] { (void)program(device(), first)->variable("nothing"); });
}

TEST_F(Runtime, WhatIsNoCodeObjectIsNotLoaded) {
    isa::Bytes garbage(200, 0x42);
    EXPECT_THROW(program(device(), CustomKernel{garbage, "k"}), Exception);
    EXPECT_THROW(program(device(), CustomKernel{isa::Bytes(), "k"}), Exception);
}

TEST_F(Runtime, AUsersHipKernelIsFoundByItsPlainName) {
    CustomKernel custom{source("scale"), "scale", {1, 1, 1}, {4, 1, 1}, 0, ""};
    auto made = program(device(), custom);
    Root out = on_device(std::vector<float>(4)), x = on_device(counting(4));
    made->launch(pointers({out, x}));
    EXPECT_EQ(values(out), (std::vector<float>{0, 3, 6, 9}));
    EXPECT_NE(made->code.text.find("scale"), std::string::npos);
}

TEST_F(Runtime, ACodeObjectForAnotherArchitectureIsAnErrorThatNamesBoth) {
    executable::Code made = codegen::compile_hip(source("three"), isa::Arch::gfx942).value();
    CustomKernel custom{made.code_object(), "three", {1, 1, 1}, {4, 1, 1}, 0, "gfx942"};
    expect_error(ErrorKind::Launch, "assembled for gfx942 but the device emu:gfx1100 is gfx1100",
                 [&] { program(device(), custom); });
    custom.arch = "";
    EXPECT_THROW(program(device(), custom), Exception) << "the object itself says so too";
}

TEST_F(Runtime, OneKernelIsCompiledOncePerDevice) {
    GraphScope scope;
    codegen::Scheduled a = kernel_of(filled({64}) + number(1)), b = kernel_of(filled({64}) + number(2));
    std::vector<codegen::Scheduled> kernels{a, b, a};
    auto made = programs(device(), kernels);
    ASSERT_EQ(made.size(), 3u);
    EXPECT_EQ(made[0], made[2]);
    EXPECT_NE(made[0], made[1]);
    EXPECT_EQ(programs(device(), std::span(&a, 1))[0], made[0]);
}

TEST_F(Runtime, CompiledKernelsSayWhichBuffersTheyStillUse) {
    GraphScope scope;
    UOp unused = cast(filled({64}, dtypes::int32) * constant_int(dtypes::int32, 0), dtypes::float32);
    codegen::Scheduled k = kernel_of(filled({64}) + unused + filled({64}));
    executable::Code compiled = compile_kernel(k, target_of(device())).value();
    std::set<int> slots;
    for (const executable::ParameterPlace& place : compiled.places) slots.insert(place.slot);
    EXPECT_EQ(slots, slots_of(k.kernel));
    Root out = on_device(std::vector<float>(64)), one = on_device(counting(64)), two = on_device(counting(64, 5)),
         three = on_device(counting(64, 9));
    auto made = programs(device(), std::span(&k, 1))[0];
    made->launch(pointers({out, one, two, three}));
    for (size_t i = 0; i < 64; ++i) EXPECT_EQ(values(out)[i], static_cast<float>(i) + static_cast<float>(i + 9));
}

}  // namespace
}  // namespace strata::runtime
