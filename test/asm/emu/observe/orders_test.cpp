#include <cmath>
#include <numeric>

#include "../kernel.h"

namespace strata::emu::harness {
namespace {

// Which of two kernels is faster, where documents or measurements of real cards say so: above each test is its source.

constexpr const char* kSource = R"(
    typedef float f4 __attribute__((ext_vector_type(4)));
    // A tile of 32 x 32 is written by rows and read by columns, many times.
    template <int ROW> __device__ inline void columns(float* o) {
        __shared__ float t[32 * ROW]; const uint x = TX % 32, y = TX / 32; float s = TX;
        for (int i = 0; i < 64; ++i) {
            for (uint k = y; k < 32; k += NX / 32) t[k * ROW + x] = s;
            sync();
            for (uint k = y; k < 32; k += NX / 32) s += t[x * ROW + k];
            sync();
        }
        o[BX * NX + TX] = s;
    }
    KERNEL void unpadded(float* o) { columns<32>(o); }
    KERNEL void padded(float* o) { columns<33>(o); }
    KERNEL void lds_stride(float* o, uint stride) {
        __shared__ float t[4096]; for (uint k = TX; k < 4096; k += NX) t[k] = k; sync();
        float s = 0; for (int i = 0; i < 256; ++i) s += t[(TX * stride + i) & 4095];
        o[BX * NX + TX] = s;
    }
    KERNEL void lds_narrow(float* o) {
        __shared__ volatile float t[4096]; for (uint k = TX; k < 4096; k += NX) t[k] = k; sync();
        float s = 0; for (int i = 0; i < 512; ++i) s += t[(TX + i * 32) & 4095];
        o[BX * NX + TX] = s;
    }
    KERNEL void lds_wide(float* o) {
        __shared__ f4 t[1024]; for (uint k = TX; k < 1024; k += NX) t[k] = k; sync();
        f4 s = 0; for (int i = 0; i < 128; ++i) s += t[(TX + i * 32) & 1023];
        o[BX * NX + TX] = s[0] + s[1] + s[2] + s[3];
    }
    KERNEL void narrow(float* o, const float* a) { float s = 0; for (int i = 0; i < 64; ++i) s += a[(BX * 64 + i) * NX + TX]; o[BX * NX + TX] = s; }
    KERNEL void wide(float* o, const f4* a) { f4 s = 0; for (int i = 0; i < 16; ++i) s += a[(BX * 16 + i) * NX + TX]; o[BX * NX + TX] = s[0] + s[1] + s[2] + s[3]; }
    KERNEL void strided(float* o, const float* a, uint stride) { uint i = BX * NX + TX; o[i] = a[(i * stride) & ((1 << 22) - 1)]; }
    // Pieces of 256 floats go through local memory; with `ahead` the next one is on its way meanwhile.
    template <bool AHEAD> __device__ inline void staged(float* o, const float* a, int steps) {
        __shared__ float t[256]; const float* from = a + BX * 256 * steps + TX; float s = 0, next = AHEAD ? from[0] : 0;
        for (int i = 0; i < steps; ++i) {
            t[TX] = AHEAD ? next : from[i * 256];
            sync();
            if (AHEAD) next = from[(i + 1 < steps ? i + 1 : i) * 256];
            for (int k = 0; k < 64; ++k) s = s * 0.5f + t[(TX + k) & 255];
            sync();
        }
        o[BX * NX + TX] = s;
    }
    KERNEL void in_turns(float* o, const float* a, int steps) { staged<false>(o, a, steps); }
    KERNEL void ahead(float* o, const float* a, int steps) { staged<true>(o, a, steps); }
    // Loads that wait for one another: nothing but other waves hides them.
    #define CHAIN uint i = BX * NX + TX; for (int k = 0; k < 16; ++k) i = ((i >> 8) * 17 + (uint)a[i & ((1 << 22) - 1)]) * 256 + TX; o[(BX * NX + TX) & ((1 << 22) - 1)] = i;
    KERNEL void chain(float* o, const float* a) { CHAIN }
    KERNEL void chain96(float* o, const float* a) { asm volatile("" ::: "v95"); CHAIN }
    KERNEL void chain120(float* o, const float* a) { asm volatile("" ::: "v119"); CHAIN }
    KERNEL void chain192(float* o, const float* a) { asm volatile("" ::: "v191"); CHAIN }
    KERNEL void chain256(float* o, const float* a) { asm volatile("" ::: "v255"); CHAIN }
    KERNEL void count(uint* o, uint stride, uint of_block) { for (int i = 0; i < 8; ++i) __hip_atomic_fetch_add(&o[((TX + i * NX) * stride + BX * of_block) & ((1 << 20) - 1)], 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
    KERNEL void passes(float* o, const f4* a, uint count, int times) {
        f4 s = 0;
        for (int p = 0; p < times; ++p) { asm volatile("" : "+v"(a)); for (uint i = (BX + p * 1531) % 3072 * NX + TX; i < count; i += 3072 * 256) s += a[i]; }
        o[BX * NX + TX] = s[0] + s[1] + s[2] + s[3];
    }
)";
constexpr const char* kProducts = R"(
    typedef float f8 __attribute__((ext_vector_type(8)));
    typedef _Float16 h8 __attribute__((ext_vector_type(8))); typedef _Float16 h16 __attribute__((ext_vector_type(16)));
    // 4096 multiply-adds of 16 x 16 x 16 either way, again and again.
    KERNEL void by_lanes(float* o, int n) {
        float s[8] = {}, a = TX, b = o[TX];
        for (int i = 0; i < n; ++i) { for (int k = 0; k < 128; ++k) s[k & 7] = __builtin_fmaf(s[k & 7], a, b); }
        for (int k = 0; k < 8; ++k) o[BX * NX + TX] += s[k];
    }
    KERNEL void by_matrix(float* o, int n) {
        f8 s = {};
    #ifdef __gfx1100__
        h16 a = (_Float16)TX, b = (_Float16)2;
        for (int i = 0; i < n; ++i) s = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, s);
    #else
        h8 a = (_Float16)TX, b = (_Float16)2;
        for (int i = 0; i < n; ++i) s = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, s);
    #endif
        for (int k = 0; k < 8; ++k) o[BX * NX + TX] += s[k];
    }
)";

class Orders : public ::testing::Test {
  protected:
    Gpu gpu{isa::Arch::gfx1100};  // a 7900 XTX: 48 WGPs
    static constexpr uint32_t kCount = 1 << 22;
    Buffer<float> in{gpu, kCount}, out{gpu, kCount};
    std::shared_ptr<Module> module = gpu.load(compile_hip(kSource)).value();

    LaunchProfile profile(const char* kernel, uint32_t grid, uint32_t block, const Arguments& arguments,
                          uint32_t lds = 0) {
        LaunchConfig shape = config({grid, 1, 1}, {block, 1, 1});
        shape.dynamic_lds = lds;
        shape.sampled = shape.profiled = true;
        return *gpu.launch(*module, kernel, shape, arguments.bytes()).value().profile;
    }
    /// Without that of the launch itself.
    double cycles(const char* kernel, uint32_t grid, uint32_t block, const Arguments& arguments, uint32_t lds = 0) {
        const Estimate estimate = profile(kernel, grid, block, arguments, lds).estimate;
        return estimate.cycles - estimate.of(Bound::launch);
    }
};

// RDNA3 ISA document, 12 (Data Share): 32 banks of dwords serve a wave. A row of padding is the remedy of the "LDS
// Utilization Optimization" of github.com/seb-v/fp32_sgemm_amd (25.6 to 33.5 TFLOP/s on a 7900 XTX).
TEST_F(Orders, PaddingOfATileThatIsReadByColumnsPays) {
    const double plain = cycles("unpadded", 192, 256, Arguments() << out),
                 padded = cycles("padded", 192, 256, Arguments() << out);
    EXPECT_GT(plain, 4 * padded);
    EXPECT_GT(profile("unpadded", 192, 256, Arguments() << out).local_conflicts, 0);
    EXPECT_EQ(profile("padded", 192, 256, Arguments() << out).local_conflicts, 0);
    EXPECT_EQ(profile("unpadded", 192, 256, Arguments() << out).estimate.bound(), Bound::local);
}

// The same chapter: lanes with dwords in one bank take turns, as many as the stride shares factors with the 32 banks.
TEST_F(Orders, BankConflictsGrowWithThePowerOfTwoInTheStride) {
    double before = 0;
    for (uint32_t stride : {1u, 2u, 4u, 8u, 16u, 32u}) {
        const double now = cycles("lds_stride", 192, 256, Arguments() << out << stride);
        EXPECT_GE(now, before) << stride;
        EXPECT_NEAR(cycles("lds_stride", 192, 256, Arguments() << out << stride * 3), now, 0.02 * now) << stride * 3;
        if (stride >= 8) EXPECT_GT(now, 1.5 * before) << stride;
        before = now;
    }
}

// GPUOpen, "RDNA Performance Guide", memory: wide loads fetch more with each instruction.
// github.com/seb-v/fp32_sgemm_amd reads LDS with ds_load_b128 for that.
TEST_F(Orders, WideAccessesAreFasterThanNarrowOnesForTheSameBytes) {
    EXPECT_LT(cycles("lds_wide", 192, 256, Arguments() << out), cycles("lds_narrow", 192, 256, Arguments() << out));
    EXPECT_LE(cycles("wide", 256, 256, Arguments() << out << in), cycles("narrow", 256, 256, Arguments() << out << in));
    EXPECT_LT(cycles("wide", 16, 64, Arguments() << out << in), cycles("narrow", 16, 64, Arguments() << out << in))
        << "few waves have few loads under way";
}

// ROCm documentation, "HIP performance guidelines", coalesced access: a wave's loads are as many transactions as it
// touches lines.
TEST_F(Orders, AccessGetsSlowerWithTheStrideUntilEveryLaneHasALineOfItsOwn) {
    double before = 0;
    for (uint32_t stride : {1u, 2u, 4u, 8u, 16u, 32u}) {
        const double now = cycles("strided", 2048, 256, Arguments() << out << in << stride);
        EXPECT_GT(now, before) << stride;
        before = now;
    }
    EXPECT_GT(before, 4 * cycles("strided", 2048, 256, Arguments() << out << in << 1u));
}

// github.com/seb-v/fp32_sgemm_amd, kernel 4 against kernel 3 (5.38 to 6.03 ms on a 7900 XTX). Loads of the next tile
// are issued before this one is used.
TEST_F(Orders, LoadsAheadPayWhereLatencyIsTheBound) {
    const Arguments few = Arguments() << out << in << 64;
    const LaunchProfile in_turns = profile("in_turns", 48, 256, few);
    EXPECT_EQ(in_turns.estimate.bound(), Bound::latency);
    EXPECT_LT(1.2 * cycles("ahead", 48, 256, few), cycles("in_turns", 48, 256, few));
}

// GPUOpen, "Occupancy explained through the AMD RDNA architecture". 1536 registers a SIMD in granules of 24 give 16,
// 12, 8 and 6 waves of 96, 120, 192 and 256. Waves that wait for memory need others beside them.
TEST_F(Orders, OccupancyFallsInStepsWithTheRegistersAndLatencyShows) {
    double before = 0, waves = 16;
    for (const auto& [kernel, most] :
         {std::pair("chain", 16), {"chain96", 16}, {"chain120", 12}, {"chain192", 8}, {"chain256", 5}}) {
        const LaunchProfile now = profile(kernel, 4096, 256, Arguments() << out << in);
        EXPECT_LE(now.residency.waves_per_simd, most) << kernel;
        EXPECT_LE(now.residency.waves_per_simd, waves) << kernel;
        const double latency = now.estimate.of(Bound::latency);
        EXPECT_GE(latency, before) << kernel;
        before = latency, waves = now.residency.waves_per_simd;
    }
    EXPECT_EQ(profile("chain256", 4096, 256, Arguments() << out << in).residency.limit, Limit::vgprs);
    EXPECT_GT(before, 1.9 * profile("chain", 4096, 256, Arguments() << out << in).estimate.of(Bound::latency));
}

// The same article: 128 KiB of LDS a WGP are shared by the workgroups on it.
TEST_F(Orders, OccupancyFallsInStepsWithLocalMemory) {
    const Arguments arguments = Arguments() << out << in;
    const auto time = [&](uint32_t kib) { return cycles("chain", 4096, 256, arguments, kib << 10); };
    EXPECT_EQ(time(17), time(18)) << "seven workgroups of 8 waves either way";
    EXPECT_GT(time(33), 1.2 * time(32));
    EXPECT_GT(time(64), 1.4 * time(32));
    EXPECT_EQ(profile("chain", 4096, 256, arguments, 64 << 10).residency.limit, Limit::lds);
    EXPECT_EQ(profile("chain", 4096, 256, arguments).residency.limit, Limit::none);
    EXPECT_EQ(profile("chain", 8, 256, arguments).residency.limit, Limit::grid);
}

// AMD, "RDNA 3" and "RDNA 4" ISA documents, matrix products. They have 512 and 1024 operations of halves a clock and
// CU, against 256 of floats at the most.
TEST_F(Orders, MatrixInstructionsBeatTheSameWorkInMultiplyAdds) {
    for (isa::Arch arch : {isa::Arch::gfx1100, isa::Arch::gfx1201}) {
        Gpu other(arch);
        Buffer<float> sums(other, 192 * 256);
        const auto loaded = other.load(compile_hip(kProducts, "-O3", isa::info(arch).name)).value();
        const auto time = [&](const char* kernel) {
            const auto bytes = Arguments() << sums << 256;
            return other.launch(*loaded, kernel, config({192, 1, 1}, {256, 1, 1}), bytes.bytes())
                .value()
                .modelled_cycles;
        };
        EXPECT_GT(time("by_lanes"), 1.5 * static_cast<double>(time("by_matrix"))) << isa::info(arch).name;
    }
}

// GPUOpen, "RDNA Performance Guide", atomics: updates of one address are done one after the other at the L2.
TEST_F(Orders, AtomicsOnOneAddressAreSlowerThanSpreadOnes) {
    Buffer<uint32_t> counters(gpu, 1 << 20);
    const auto time = [&](uint32_t stride, uint32_t of_block) {
        return cycles("count", 384, 256, Arguments() << counters << stride << of_block);
    };
    const double one = time(0, 0), one_a_block = time(0, 256), spread = time(1, 0);
    EXPECT_GT(one, 10 * spread);
    EXPECT_GT(one, 4 * one_a_block) << "blocks with an address each do not wait for one another";
}

// ROCm documentation, "MI300X workload optimization", wave quantization: a last workgroup more than fits at once takes
// as long as another round of all.
TEST_F(Orders, OneWorkgroupMoreThanFitsTakesAnotherRound) {
    const Arguments arguments = Arguments() << out << in;
    const auto fits = static_cast<uint32_t>(profile("chain", 4096, 256, arguments).residency.groups_at_once);
    ASSERT_EQ(fits, 48u * 8);
    const auto latency = [&](uint32_t groups) {
        return profile("chain", groups, 256, arguments).estimate.of(Bound::latency);
    };
    EXPECT_NEAR(latency(fits), latency(fits - 47), 0.05 * latency(fits));
    EXPECT_GT(latency(fits + 1), 1.8 * latency(fits));
    EXPECT_NEAR(latency(2 * fits), latency(fits + 1), 0.05 * latency(2 * fits));
}

// chipsandcheese.com, "Microbenchmarking AMD's RDNA 3 Graphics Architecture": beyond the 6 MiB of L2 the 96 MiB of
// Infinity Cache give several times DRAM's bandwidth.
TEST_F(Orders, WhatFitsTheInfinityCacheIsReadFasterTheSecondTime) {
    const auto again = [&](uint64_t mib) {
        const DeviceAddress memory = gpu.allocate(mib << 20).value();
        const auto bytes = [&](int times) {
            return Arguments() << out << memory << static_cast<uint32_t>(mib << 16) << times;
        };
        const double once = cycles("passes", 3072, 256, bytes(1)), twice = cycles("passes", 3072, 256, bytes(2));
        gpu.free(memory).value();
        return (twice - once) / once;
    };
    EXPECT_LT(again(64), 0.6);
    EXPECT_LT(again(4), again(64));
    EXPECT_GT(again(768), 0.85);
}

// github.com/te42kyfo/gpu-benches, gpu-stream/mi210.txt: two blocks of 64, 256 and 1024 a CU read 182, 608 and 1345
// GB/s.
TEST(OrdersOfCdna, AStreamNeedsWavesToReachTheBandwidth) {
    Gpu card(isa::Arch::gfx90a, "mi210");
    constexpr uint32_t kDoubles = 1 << 23;
    const DeviceAddress memory = card.allocate(kDoubles * 8ull).value(), out = card.allocate(64).value();
    const auto module =
        card.load(compile_hip("KERNEL void read(double* o, const double* a) { if (a[BX * NX + TX] == 123) o[0] = 1; }",
                              "-O3", "gfx90a"))
            .value();
    const auto gbs = [&](uint32_t block, uint32_t lds) {
        LaunchConfig shape = config({kDoubles / block, 1, 1}, {block, 1, 1});
        shape.dynamic_lds = lds;
        shape.sampled = true;
        return kDoubles * 8e-6 /
               card.launch(*module, "read", shape, (Arguments() << out << memory).bytes()).value().modelled_ms;
    };
    const double few = gbs(64, 32768), some = gbs(256, 32768), many = gbs(1024, 32768);
    EXPECT_GT(some, 2.5 * few);
    EXPECT_GT(many, 1.3 * some);
    EXPECT_LT(few, 2 * 182);
    EXPECT_GT(few, 182 / 2.0);
}

// LLVM AMDGPUUsage, GFX9: a wave takes scalar registers in granules of 16 of the 800 of its SIMD.
TEST(OrdersOfCdna, ScalarRegistersKeepWavesFromASimd) {
    Gpu card(isa::Arch::gfx942);
    Buffer<float> out(card, 64);
    const auto at_once = [&](const std::string& used) {
        const auto module =
            card.load(compile_hip("KERNEL void k(float* o) { asm volatile(\"\" ::: \"" + used + "\"); o[TX] = 1; }",
                                  "-O3", "gfx942"))
                .value();
        LaunchConfig shape = config({1 << 16, 1, 1}, {64, 1, 1});
        shape.sampled = shape.profiled = true;
        return card.launch(*module, "k", shape, (Arguments() << out).bytes()).value().profile->residency;
    };
    EXPECT_EQ(at_once("s50").waves_per_simd, 8);
    EXPECT_EQ(at_once("s50").limit, Limit::none);
    EXPECT_EQ(at_once("s95").waves_per_simd, 7);
    EXPECT_EQ(at_once("s95").limit, Limit::sgprs);
}

}  // namespace
}  // namespace strata::emu::harness
