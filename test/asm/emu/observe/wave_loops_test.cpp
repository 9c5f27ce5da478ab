#include "../kernel.h"

namespace strata::emu::harness {
namespace {

// Modelled time of loops: as many times that of a turn as there are turns, and what stands around them by itself.
class LoopTiming : public ::testing::Test {
  protected:
    Gpu gpu{isa::Arch::gfx1100};
    static constexpr uint32_t kGroups = 48, kBlock = 128;  // a wave a SIMD: no others hide what one waits for
    Buffer<float> in{gpu, 1 << 20}, out{gpu, kGroups* kBlock};
    std::shared_ptr<Module> module = gpu.load(compile_hip(R"(
        #define TURNS _Pragma("nounroll")
        #define ADDS(n) asm volatile(".rept " #n "\n v_add_f32 %0, %0, %0\n .endr" : "+v"(x))
        #define ROOTS(n) asm volatile(".rept " #n "\n v_rsq_f32 %0, %0\n .endr" : "+v"(x))
        #define START float x = TX
        #define END o[BX * NX + TX] = x
        KERNEL void in_a_row(float* o, const float*, int n, int m) { START; TURNS for (int i = 0; i < n; ++i) ADDS(20); ROOTS(1); TURNS for (int i = 0; i < m; ++i) ROOTS(20); END; }
        KERNEL void nested(float* o, const float*, int n, int m) { START; TURNS for (int i = 0; i < n; ++i) { ROOTS(10); TURNS for (int k = 0; k < m; ++k) ADDS(20); } END; }
        KERNEL void triangle(float* o, const float*, int n, int m) { START; TURNS for (int i = 0; i < n; ++i) { ROOTS(10); TURNS for (int k = 0; k < m * i; ++k) ADDS(20); } END; }
        KERNEL void followed(float* o, const float*, int n, int m) { START; TURNS for (int i = 0; i < n; ++i) ADDS(20); if (m) ROOTS(2000); END; }
        KERNEL void straight(float* o, const float*, int n, int m) { START; ADDS(12000); if (m) ROOTS(4000); END; }
        KERNEL void reads(float* o, const float* a, int n, int m) { START; TURNS for (int i = 0; i < n; ++i) x += a[(BX * 977 + i * NX + TX) & 0xfffff]; if (m) ROOTS(2000); END; }
        KERNEL void shares(float* o, const float* a, int n, int m) { __shared__ float t[128]; START;
            TURNS for (int i = 0; i < n; ++i) { t[TX] = x; sync(); x += t[(TX + 64) & 127] + a[(BX * 977 + i * NX + TX) & 0xfffff]; sync(); } if (m) ROOTS(2000); END; }
    )"))
                                         .value();

    LaunchConfig shape() const { return config({kGroups, 1, 1}, {kBlock, 1, 1}); }
    double cycles(const char* kernel, int n, int m, const LaunchConfig& launch) {
        const Arguments arguments = Arguments() << out << in << n << m;
        return static_cast<double>(gpu.launch(*module, kernel, launch, arguments.bytes()).value().modelled_cycles);
    }
    double cycles(const char* kernel, int n, int m) {
        LaunchConfig launch = shape();
        launch.sampled = true;
        return cycles(kernel, n, m, launch);
    }
    /// The cycles that `m` adds after loops of `n` turns.
    double added(const char* kernel, int n) { return cycles(kernel, n, 1) - cycles(kernel, n, 0); }
};

TEST_F(LoopTiming, WhatStandsBehindALoopCountsOnceHoweverLongItRan) {
    for (const char* kernel : {"followed", "reads", "shares"}) {
        const double some = added(kernel, 4);
        EXPECT_GT(some, 1000) << kernel;
        for (int n : {400, 4000}) EXPECT_NEAR(added(kernel, n), some, some * 0.05 + 50) << kernel << ' ' << n;
    }
}

TEST_F(LoopTiming, LoopsInARowTakeWhatEachTakesByItself) {
    const double none = cycles("in_a_row", 0, 0), first = cycles("in_a_row", 3000, 0) - none,
                 second = cycles("in_a_row", 0, 3000) - none;
    EXPECT_NEAR(second / first, 2, 0.3) << "of a wave by itself a root takes twice what an addition takes";
    EXPECT_NEAR(cycles("in_a_row", 3000, 3000) - none, first + second, 0.02 * (first + second));
}

TEST_F(LoopTiming, ALoopInALoopCountsByTheTurnsOfBoth) {
    const double none = cycles("nested", 0, 100), one = cycles("nested", 200, 100) - none;
    EXPECT_NEAR(cycles("nested", 400, 100) - none, 2 * one, 0.02 * one);
    const double shorter = cycles("nested", 200, 50), longer = cycles("nested", 200, 150);
    EXPECT_NEAR(longer - shorter, 2 * (cycles("nested", 200, 100) - shorter), 0.02 * one);
    // 128 * 127 / 2 turns, four at a time, as 64 * 508 are.
    EXPECT_NEAR(cycles("triangle", 128, 4), cycles("nested", 128, 254), 0.03 * cycles("nested", 128, 254));
}

TEST_F(LoopTiming, LongStraightCodeIsMeasuredToItsEnd) {
    const double roots = 2 * added("followed", 0);
    EXPECT_NEAR(added("straight", 0), roots, 0.03 * roots);
}

TEST_F(LoopTiming, MoreTurnsNeverTakeLess) {
    for (const char* kernel : {"followed", "reads", "shares", "in_a_row", "nested", "triangle"}) {
        double before = 0;
        for (int n : {0, 1, 2, 3, 4, 6, 9, 14, 20, 40, 90, 200}) {
            const double now = cycles(kernel, n, 3);
            EXPECT_GE(now, before) << kernel << ' ' << n;
            before = now;
        }
    }
}

TEST_F(LoopTiming, WhoElseLooksOnAndWhatIsLeftOutChangesNothing) {
    for (const char* kernel : {"followed", "reads", "shares", "in_a_row", "nested", "triangle"}) {
        const double plain = cycles(kernel, 60, 3);
        LaunchConfig other = shape();
        EXPECT_EQ(cycles(kernel, 60, 3, other), plain) << kernel;
        other.counted = true;
        EXPECT_EQ(cycles(kernel, 60, 3, other), plain) << kernel;
        other = shape();
        other.check = Check::report;
        EXPECT_EQ(cycles(kernel, 60, 3, other), plain) << kernel;
        other = shape();
        other.threads = 1;
        EXPECT_EQ(cycles(kernel, 60, 3, other), plain) << kernel;
    }
}

}  // namespace
}  // namespace strata::emu::harness
