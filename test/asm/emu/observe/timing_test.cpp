#include <algorithm>

#include "../kernel.h"

namespace strata::emu::harness {
namespace {

/// Modelled times rank schedules; the numbers themselves promise nothing.
class Timing : public ::testing::Test {
  protected:
    Gpu gpu{isa::Arch::gfx1100};
    static constexpr uint32_t kCount = 1 << 22;
    Buffer<float> in{gpu, kCount}, out{gpu, kCount};
    std::shared_ptr<Module> module = gpu.load(compile_hip(R"(
        typedef float f4 __attribute__((ext_vector_type(4)));
        KERNEL void straight(float* o, const float* a) { uint i = BX * NX + TX; o[i] = a[i] * 2; }
        KERNEL void strided(float* o, const float* a) { uint i = BX * NX + TX, j = (i * 1024 + (i >> 12)) & ((1 << 22) - 1); o[j] = a[j] * 2; }
        KERNEL void rows(float* o, const float* a) { float x[16];
            _Pragma("unroll") for (int k = 0; k < 16; ++k) x[k] = a[BX * 16384 + k * 1024 + TX];
            _Pragma("unroll") for (int k = 0; k < 16; ++k) for (int n = 0; n < 40; ++n) x[k] = x[k] * x[k] + 0.25f;
            _Pragma("unroll") for (int k = 0; k < 16; ++k) o[BX * 16384 + k * 1024 + TX] = x[k]; }
        KERNEL void wide(f4* o, const f4* a) { uint i = BX * NX + TX; o[i] = a[i] * 2; }
        KERNEL void sum(float* o, const float* a, uint n, uint step) { float s = 0; for (uint i = BX * NX + TX; i < n; i += step) s += a[i]; o[BX * NX + TX] = s; }
        KERNEL void banks(float* o, uint stride) { __shared__ float t[8192]; float s = 0; for (uint k = 0; k < 64; ++k) { t[(TX * stride + k) & 8191] = s; s += t[(TX * stride + k * 3) & 8191]; } o[BX * NX + TX] = s; }
        KERNEL void math(float* o, int n) { float x = TX; for (int i = 0; i < n; ++i) x = x * 1.5f + 0.25f; o[BX * NX + TX] = x; }
        KERNEL void finish(float* o, uint* counter, uint groups, int n) { __shared__ uint number;
            if (TX == 0) number = __hip_atomic_fetch_add(counter, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
            sync();
            if (number != groups - 1) return;
            float x = TX; for (int i = 0; i < n; ++i) x = x * 1.5f + 0.25f;
            o[TX] = x; if (TX == 0) o[0] = BX; }
        KERNEL void rows_of_work(float* o, uint beside, uint row, uint most) { float x = TX; for (uint i = 0, k = BX / beside % row, n = 8 * (k < most ? k : most); i < n; ++i) x = x * 1.5f + 0.25f; o[BX * NX + TX] = x; }
        KERNEL void triangle(float* o) { float x = TX; for (int i = 0; i < (BX & 127) * 16; ++i) x = x * 1.5f + 0.25f; o[BX * NX + TX] = x; }
    )"))
                                         .value();

    LaunchStats stats(const char* kernel, uint32_t grid, uint32_t block, const Arguments& arguments) {
        return gpu.launch(*module, kernel, config({grid, 1, 1}, {block, 1, 1}), arguments.bytes()).value();
    }
    double ms(const char* kernel, uint32_t grid, uint32_t block, const Arguments& arguments) {
        return stats(kernel, grid, block, arguments).modelled_ms;
    }
};

TEST_F(Timing, WorkgroupsThatDoNotAllDoTheSameCountForWhatTheyDo) {
    const double even = ms("math", 4096, 128, Arguments() << out << 127 * 8);
    EXPECT_NEAR(ms("triangle", 4096, 128, Arguments() << out), even, even * 0.05);
}

TEST_F(Timing, WhatTheLastWorkgroupDoesWhenAllOthersAreDoneAddsToTheirTime) {
    constexpr uint32_t kGroups = 512;
    const auto last = [&](int n, int threads) {
        Buffer<uint32_t> counter(gpu, 1);
        LaunchConfig shape = config({kGroups, 1, 1}, {128, 1, 1});
        shape.last_waits = true;
        shape.threads = threads;
        const Arguments arguments = Arguments() << out << counter << kGroups << n;
        const LaunchStats stats = gpu.launch(*module, "finish", shape, arguments.bytes()).value();
        EXPECT_EQ(counter.values()[0], kGroups);
        EXPECT_EQ(out.values()[0], kGroups - 1) << "the one with the highest number, on " << threads << " threads";
        return stats.modelled_ms;
    };
    const double none = last(0, 1), some = last(4000, 1);
    for (int threads : {2, 3}) EXPECT_EQ(last(4000, threads), some) << threads;
    const auto alone = [&](int n) { return ms("math", 1, 128, Arguments() << out << n); };
    EXPECT_NEAR(some - none, alone(4000) - alone(0), 0.05 * alone(4000));
}

TEST_F(Timing, CoalescedAccessBeatsStrided) {
    EXPECT_LT(ms("straight", kCount / 1024, 256, Arguments() << out << in) * 2,
              ms("strided", kCount / 1024, 256, Arguments() << out << in));
}

TEST_F(Timing, OfASampleIsThatOfTheWholeLaunchAndOnlyTheSampleIsWritten) {
    const Arguments arguments = Arguments() << out << in;
    LaunchConfig shape = config({kCount / 256, 1, 1}, {256, 1, 1});
    const std::vector<float> ones(kCount, 1), before(kCount, -1);
    gpu.write(in.address(), ones.data(), kCount * sizeof(float)).value();
    gpu.write(out.address(), before.data(), kCount * sizeof(float)).value();
    shape.sampled = true;
    const LaunchStats sampled = gpu.launch(*module, "straight", shape, arguments.bytes()).value();
    std::vector<float> got = out.values();
    const auto written = static_cast<size_t>(std::ranges::count(got, 2.0f));
    EXPECT_EQ(written, sampled.waves * 32);
    EXPECT_EQ(std::ranges::count(got, -1.0f), std::ssize(got) - static_cast<std::ptrdiff_t>(written));
    EXPECT_EQ(written, 4u * 256);
    for (uint32_t group : {0u, 1u, kCount / 512, kCount / 256 - 1}) EXPECT_EQ(got[group * 256], 2.0f) << group;
    shape.sparse = true;
    gpu.write(out.address(), before.data(), kCount * sizeof(float)).value();
    const LaunchStats sparse = gpu.launch(*module, "straight", shape, arguments.bytes()).value();
    got = out.values();
    EXPECT_EQ(std::ranges::count(got, 2.0f), 3 * 256);
    for (uint32_t group : {0u, kCount / 256 - 1}) EXPECT_EQ(got[group * 256], 2.0f) << group;
    EXPECT_NEAR(static_cast<double>(sparse.modelled_cycles), static_cast<double>(sampled.modelled_cycles),
                0.01 * static_cast<double>(sampled.modelled_cycles));
    shape.sampled = shape.sparse = false;
    const LaunchStats whole = gpu.launch(*module, "straight", shape, arguments.bytes()).value();
    EXPECT_EQ(sampled.modelled_cycles, whole.modelled_cycles);
    EXPECT_EQ(whole.waves, kCount / 32);
}

TEST_F(Timing, OfASampleIsNearThatOfTheWholeLaunchWhereWorkgroupsDoNotAllDoTheSame) {
    // As causal attention has them (rows of a head, heads beside each other or not), ragged ones, and sliding windows.
    struct Grid {
        uint32_t groups, beside, row, most;
    };
    for (const auto [groups, beside, row, most] :
         {Grid{1024, 1, 16, 16}, Grid{1024, 64, 16, 16}, Grid{4096, 1, 128, 128}, Grid{4096, 32, 128, 128},
          Grid{208, 1, 13, 13}, Grid{624, 48, 13, 13}, Grid{4096, 1, 64, 8}, Grid{2048, 16, 32, 4},
          Grid{50, 5, 10, 9}}) {
        const Arguments arguments = Arguments() << out << beside << row << most;
        LaunchConfig shape = config({groups, 1, 1}, {128, 1, 1});
        const auto whole =
            static_cast<double>(gpu.launch(*module, "rows_of_work", shape, arguments.bytes()).value().modelled_cycles);
        shape.sampled = true;
        const LaunchStats sampled = gpu.launch(*module, "rows_of_work", shape, arguments.bytes()).value();
        EXPECT_NEAR(static_cast<double>(sampled.modelled_cycles), whole, 0.03 * whole)
            << groups << " workgroups, " << beside << " alike of " << row << ", " << most << " at most";
        EXPECT_LE(sampled.waves, 4u * 72);
        EXPECT_EQ(gpu.launch(*module, "rows_of_work", shape, arguments.bytes()).value().modelled_cycles,
                  sampled.modelled_cycles);
    }
}

TEST_F(Timing, StraightCodeIsMeasuredToItsEnd) {
    // 32 waves of some 700 instructions, which load first and store last.
    const double gbs = 2.0 * kCount * 4 / (ms("rows", kCount / 16384, 1024, Arguments() << out << in) * 1e6);
    EXPECT_LT(gbs, 960) << "DRAM gives no more";
}

TEST_F(Timing, WideLoadsAreNoSlowerThanNarrowOnes) {
    EXPECT_LT(ms("wide", kCount / 1024, 256, Arguments() << out << in),
              ms("straight", kCount / 256, 256, Arguments() << out << in));
}

TEST_F(Timing, OneWorkgroupIsMuchSlowerThanAFullGrid) {
    auto time = [&](uint32_t grid) { return ms("sum", grid, 256, Arguments() << out << in << kCount << grid * 256); };
    EXPECT_GT(time(1), 10 * time(384));
    EXPECT_GT(time(8), 2 * time(384));
}

TEST_F(Timing, AStreamIsBoundByMemoryBandwidth) {
    double gbs = 2.0 * kCount * 4 / (ms("wide", kCount / 1024, 256, Arguments() << out << in) * 1e6);
    EXPECT_GT(gbs, 300);
    EXPECT_LT(gbs, 960);
}

TEST_F(Timing, BankConflictsCostTime) {
    double without = ms("banks", 192, 256, Arguments() << out << 1u),
           with = ms("banks", 192, 256, Arguments() << out << 32u);
    EXPECT_GT(with, 2 * without);
}

TEST_F(Timing, ArithmeticGrowsWithTheWorkAndALaunchIsNeverFree) {
    double none = ms("math", 96, 256, Arguments() << out << 0), some = ms("math", 96, 256, Arguments() << out << 4000),
           twice = ms("math", 96, 256, Arguments() << out << 8000);
    EXPECT_GE(none, 0.002);
    EXPECT_NEAR((twice - none) / (some - none), 2, 0.1);
}

TEST_F(Timing, TheSameLaunchHasTheSameTime) {
    LaunchStats one = stats("sum", 64, 256, Arguments() << out << in << kCount << 64 * 256u);
    LaunchStats two = stats("sum", 64, 256, Arguments() << out << in << kCount << 64 * 256u);
    EXPECT_EQ(one.modelled_cycles, two.modelled_cycles);
    EXPECT_EQ(one.wave_instructions, two.wave_instructions);
    EXPECT_EQ(one.waves, 64 * 8u);
}

TEST_F(Timing, UnknownModelsAreRefusedByName) {
    try {
        Gpu other(isa::Arch::gfx1100, "9999xtx");
        FAIL();
    } catch (const Exception& e) {
        EXPECT_NE(e.error().message.find("7900xtx, 7900xt, 7900gre"), std::string::npos) << e.error().message;
    }
    EXPECT_EQ(Gpu(isa::Arch::gfx1100, "w7900").model(), "w7900");
}

}  // namespace
}  // namespace strata::emu::harness
