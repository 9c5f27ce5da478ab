// Contents of caches: of earlier launches, of one launch beside its other workgroups.
#include "../kernel.h"

namespace strata::emu::harness {
namespace {

class TimingOfCaches : public ::testing::Test {
  protected:
    static constexpr const char* kSource = R"(
        KERNEL void scale(float* o, const float* a) { uint i = BX * NX + TX; o[i] = a[i] * 2; }
        KERNEL void rows(float* o, const float* a, uint width) { uint row = BX * NX + TX; float s = 0;
            _Pragma("nounroll") for (uint i = 0; i < width; ++i) s += a[row * width + i]; o[row] = s; }
    )";
    explicit TimingOfCaches(isa::Arch arch = isa::Arch::gfx942)
        : gpu(arch), module(gpu.load(compile_hip(kSource, "-O3", isa::info(arch).name)).value()) {}
    LaunchStats run(const char* kernel, uint32_t grid, const Arguments& arguments, bool warm) {
        LaunchConfig shape = config({grid, 1, 1}, {256, 1, 1});
        shape.sampled = true;
        shape.warm = warm;
        return gpu.launch(*module, kernel, shape, arguments.bytes()).value();
    }
    Gpu gpu;
    std::shared_ptr<Module> module;
};

TEST_F(TimingOfCaches, AWarmLaunchTakesLessAndAColdOneAlwaysTheSame) {
    const Buffer<float> in(gpu, 1 << 20), out(gpu, 1 << 20);
    const auto ms = [&](bool warm) { return run("scale", 1 << 12, Arguments() << out << in, warm).modelled_ms; };
    const double cold = ms(false), first = ms(true), second = ms(true);
    EXPECT_EQ(first, cold) << "nothing was left yet";
    EXPECT_LT(second, 0.9 * first);
    EXPECT_EQ(ms(false), cold);
    EXPECT_EQ(ms(true), second) << "launches that do not ask leave nothing";
}

TEST_F(TimingOfCaches, WhatNoCacheHoldsTakesAsLongAgain) {
    const Buffer<float> in(gpu, 256), out(gpu, 256);
    const auto ms = [&] { return run("scale", 1, Arguments() << out << in, true).modelled_ms; };
    const double cold = ms(), warm = ms();
    EXPECT_LT(warm, cold);
    const Buffer<float> much(gpu, 1 << 27);  // 512 MiB, twice the last-level cache
    run("scale", 1 << 19, Arguments() << much << much, true);
    EXPECT_EQ(ms(), cold);
}

TEST_F(TimingOfCaches, LinesThatComeBackBehindMoreThanTheL2HoldsComeFromBehindIt) {
    // A thread walks a row: each wave has 64 lines under way, each of which it uses 32 times.
    constexpr uint32_t kWidth = 128;
    const Buffer<float> in(gpu, 1 << 27), out(gpu, 1 << 20);
    const auto times_read = [&](uint32_t groups) {
        LaunchConfig shape = config({groups, 1, 1}, {512, 1, 1});
        shape.sampled = shape.profiled = true;
        const Arguments arguments = Arguments() << out << in << kWidth;
        const Estimate moved = gpu.launch(*module, "rows", shape, arguments.bytes()).value().profile->estimate;
        return moved.llc_bytes / moved.dram_bytes;
    };
    EXPECT_NEAR(times_read(256), 1, 0.1) << "16 MiB are under way in 32 MiB of L2";
    EXPECT_GT(times_read(1216), 4) << "80 MiB are";
}

}  // namespace
}  // namespace strata::emu::harness
