#include <cmath>
#include <numeric>

#include "../kernel.h"

namespace strata::emu::harness {
namespace {

class Launches : public ::testing::TestWithParam<const char*> {
  protected:
    Gpu gpu{isa::Arch::gfx1100};

    LaunchStats run(const std::string& source, const char* kernel, const LaunchConfig& config,
                    const Arguments& arguments) {
        std::vector<uint8_t> code = compile_hip(source, GetParam());
        auto module = gpu.load(code);
        EXPECT_TRUE(module) << module.error().message;
        auto stats = gpu.launch(**module, kernel, config, arguments.bytes());
        EXPECT_TRUE(stats) << stats.error().message;
        return stats ? *stats : LaunchStats{};
    }
};

TEST_P(Launches, AddVectorsWithAPartialLastBlock) {
    const uint32_t n = 1000;
    std::vector<float> a(n), b(n);
    std::iota(a.begin(), a.end(), 1.0f);
    std::iota(b.begin(), b.end(), -300.5f);
    Buffer<float> da(gpu, a), db(gpu, b), dc(gpu, std::vector<float>(n, -1));
    run(R"(KERNEL void add(float* c, const float* a, const float* b, uint n) {
             uint i = BX * NX + TX; if (i < n) c[i] = a[i] + b[i]; })",
        "add", config({4, 1, 1}, {256, 1, 1}), Arguments() << dc << da << db << n);
    std::vector<float> c = dc.values();
    for (uint32_t i = 0; i < n; ++i) ASSERT_EQ(c[i], a[i] + b[i]) << i;
}

TEST_P(Launches, IdsAndHiddenArgumentsInThreeDimensions) {
    Buffer<uint32_t> out(gpu, size_t{5 * 3 * 2} * (4 * 3 * 7));
    run(R"(KERNEL void ids(uint* out) {
             uint gx = __builtin_amdgcn_grid_size_x() / NX, gy = __builtin_amdgcn_grid_size_y() / NY;
             uint block = BX + gx * (BY + gy * BZ), item = TX + NX * (TY + NY * TZ);
             out[block * NX * NY * NZ + item] = BX | BY << 4 | BZ << 8 | TX << 12 | TY << 16 | TZ << 20 | NZ << 24; })",
        "ids", config({5, 3, 2}, {4, 3, 7}), Arguments() << out);
    std::vector<uint32_t> values = out.values();
    size_t i = 0;
    for (uint32_t bz = 0; bz < 2; ++bz)
        for (uint32_t by = 0; by < 3; ++by)
            for (uint32_t bx = 0; bx < 5; ++bx)
                for (uint32_t z = 0; z < 7; ++z)
                    for (uint32_t y = 0; y < 3; ++y)
                        for (uint32_t x = 0; x < 4; ++x, ++i)
                            ASSERT_EQ(values[i], bx | by << 4 | bz << 8 | x << 12 | y << 16 | z << 20 | 7u << 24) << i;
}

TEST_P(Launches, ReductionInLocalMemoryWithBarriers) {
    const uint32_t blocks = 7, n = 100;
    std::vector<int> a(blocks * n);
    for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<int>(i * 7919 % 1000) - 400;
    Buffer<int> da(gpu, a), sums(gpu, blocks);
    run(R"(KERNEL void reduce(int* out, const int* in) {
             __shared__ int part[128];
             part[TX] = TX < 100 ? in[BX * 100 + TX] : 0;
             sync();
             for (uint s = 64; s > 0; s >>= 1) { if (TX < s) part[TX] += part[TX + s]; sync(); }
             if (TX == 0) out[BX] = part[0]; })",
        "reduce", config({blocks, 1, 1}, {128, 1, 1}), Arguments() << sums << da);
    for (uint32_t b = 0; b < blocks; ++b)
        EXPECT_EQ(sums.values()[b], std::accumulate(a.begin() + b * n, a.begin() + (b + 1) * n, 0)) << b;
}

TEST_P(Launches, DynamicLocalMemory) {
    Buffer<float> out(gpu, 256);
    LaunchConfig c = config({1, 1, 1}, {256, 1, 1});
    c.dynamic_lds = 1024;
    run(R"(extern __shared__ float t[];
           KERNEL void mirror(float* out) { t[TX] = TX * 0.5f; sync(); out[TX] = t[255 - TX]; })",
        "mirror", c, Arguments() << out);
    for (size_t i = 0; i < 256; ++i) ASSERT_EQ(out.values()[i], static_cast<float>(255 - i) * 0.5f);
}

TEST_P(Launches, AtomicsOfManyWorkgroups) {
    Buffer<uint32_t> counts(gpu, 8);
    Buffer<uint64_t> wide(gpu, 2);
    Buffer<float> sum(gpu, 1);
    run(R"(KERNEL void count(uint* c, ulong* w, float* f) {
             uint i = BX * NX + TX;
             __hip_atomic_fetch_add(c + (i & 3), 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
             __hip_atomic_fetch_max(c + 4, i, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
             __hip_atomic_fetch_xor(c + 5, i, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
             __hip_atomic_fetch_add(w, (ulong)i << 20, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
             __hip_atomic_fetch_add(f, 0.25f, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
             uint old = __hip_atomic_load(c + 6, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
             while (!__hip_atomic_compare_exchange_strong(c + 6, &old, old + 3, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) {}
           })",
        "count", config({16, 1, 1}, {96, 1, 1}), Arguments() << counts << wide << sum);
    const uint32_t n = 16 * 96;
    uint32_t all_xor = 0;
    uint64_t all_sum = 0;
    for (uint32_t i = 0; i < n; ++i) all_xor ^= i, all_sum += uint64_t{i} << 20;
    EXPECT_EQ(counts.values(), (std::vector<uint32_t>{n / 4, n / 4, n / 4, n / 4, n - 1, all_xor, 3 * n, 0}));
    EXPECT_EQ(wide.values()[0], all_sum);
    EXPECT_EQ(sum.values()[0], 0.25f * n);
}

TEST_P(Launches, PrivateArraysAndFunctionCalls) {
    Buffer<int> out(gpu, 200);
    run(R"(__device__ __attribute__((noinline)) int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
           KERNEL void work(int* out) {
             uint i = BX * NX + TX;
             int a[24];
             for (int k = 0; k < 24; ++k) a[k] = (k * 17 + i) % 31;
             for (int k = 1; k < 24; ++k) a[(k * 5) % 24] += a[a[k] % 24];
             int s = 0;
             for (int k = 0; k < 24; ++k) s = s * 3 + a[k];
             out[i] = s + fibonacci(i % 9); })",
        "work", config({2, 1, 1}, {100, 1, 1}), Arguments() << out);
    std::vector<int> values = out.values();
    for (int i = 0; i < 200; ++i) {
        int a[24];
        for (int k = 0; k < 24; ++k) a[k] = (k * 17 + i) % 31;
        for (int k = 1; k < 24; ++k) a[(k * 5) % 24] += a[a[k] % 24];
        unsigned s = 0;
        for (int value : a) s = s * 3 + static_cast<unsigned>(value);
        int f[10] = {0, 1};
        for (int k = 2; k < 10; ++k) f[k] = f[k - 1] + f[k - 2];
        ASSERT_EQ(values[static_cast<size_t>(i)], static_cast<int>(s) + f[i % 9]) << i;
    }
}

TEST_P(Launches, WideIntegersAndDoubles) {
    Buffer<uint64_t> out(gpu, 64 * 4);
    Buffer<double> reals(gpu, 64);
    run(R"(KERNEL void wide(ulong* out, double* d) {
             ulong x = 0x123456789abcdefull * (TX + 3);
             out[TX * 4] = x * x; out[TX * 4 + 1] = x / (TX + 7); out[TX * 4 + 2] = x >> (TX & 63); out[TX * 4 + 3] = (ulong)((long)x % 1000003);
             d[TX] = __builtin_fma((double)TX, 1.5, 1.0 / (TX + 1)); })",
        "wide", config({1, 1, 1}, {64, 1, 1}), Arguments() << out << reals);
    std::vector<uint64_t> values = out.values();
    for (uint64_t i = 0; i < 64; ++i) {
        uint64_t x = 0x123456789abcdefull * (i + 3);
        ASSERT_EQ(values[i * 4], x * x);
        ASSERT_EQ(values[i * 4 + 1], x / (i + 7));
        ASSERT_EQ(values[i * 4 + 2], x >> (i & 63));
        ASSERT_EQ(values[i * 4 + 3], static_cast<uint64_t>(static_cast<int64_t>(x) % 1000003));
        ASSERT_EQ(reals.values()[i], std::fma(static_cast<double>(i), 1.5, 1.0 / (static_cast<double>(i) + 1)));
    }
}

TEST_P(Launches, BytesAndHalves) {
    std::vector<int8_t> bytes(96);
    std::vector<uint16_t> halves(96);
    for (size_t i = 0; i < 96; ++i) bytes[i] = static_cast<int8_t>(i * 37), halves[i] = static_cast<uint16_t>(i * 2741);
    Buffer<int8_t> db(gpu, bytes);
    Buffer<uint16_t> dh(gpu, halves);
    Buffer<int> out(gpu, 96);
    Buffer<uint8_t> narrow(gpu, 96 * 3);
    Buffer<uint16_t> swapped(gpu, 96);
    run(R"(KERNEL void mix(int* out, uchar* narrow, ushort* swapped, const signed char* b, const ushort* h) {
             out[TX] = b[TX] * 3 + (short)h[TX] + h[95 - TX];
             for (int k = 0; k < 3; ++k) narrow[TX * 3 + k] = (uchar)(h[TX] >> (4 * k));
             swapped[TX ^ 1] = h[TX] >> 8 | h[TX] << 8; })",
        "mix", config({1, 1, 1}, {96, 1, 1}), Arguments() << out << narrow << swapped << db << dh);
    for (size_t i = 0; i < 96; ++i) {
        ASSERT_EQ(out.values()[i], bytes[i] * 3 + static_cast<int16_t>(halves[i]) + halves[95 - i]) << i;
        for (size_t k = 0; k < 3; ++k)
            ASSERT_EQ(narrow.values()[i * 3 + k], static_cast<uint8_t>(halves[i] >> (4 * k)));
        ASSERT_EQ(swapped.values()[i ^ 1], static_cast<uint16_t>(halves[i] >> 8 | halves[i] << 8));
    }
}

TEST_P(Launches, VectorsOfFourAndGathers) {
    std::vector<float> a(4 * 256);
    std::vector<uint32_t> order(256);
    for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i) * 0.125f;
    for (uint32_t i = 0; i < 256; ++i) order[i] = i * 77 % 256;
    Buffer<float> da(gpu, a), out(gpu, a.size());
    Buffer<uint32_t> dorder(gpu, order);
    run(R"(typedef float f4 __attribute__((ext_vector_type(4)));
           KERNEL void permute(f4* out, const f4* a, const uint* order) {
             f4 straight = a[TX], picked = a[order[TX]]; out[order[TX]] = straight * 2.0f + picked.wzyx; })",
        "permute", config({1, 1, 1}, {256, 1, 1}), Arguments() << out << da << dorder);
    std::vector<float> values = out.values();
    for (uint32_t i = 0; i < 256; ++i)
        for (uint32_t k = 0; k < 4; ++k)
            ASSERT_EQ(values[order[i] * 4 + k], a[i * 4 + k] * 2.0f + a[order[i] * 4 + 3 - k]) << i << ' ' << k;
}

TEST_P(Launches, DeviceVariablesAndConstants) {
    std::vector<uint8_t> code = compile_hip(R"(__device__ int counter = 40; __constant__ int table[4] = {3, 1, 4, 1};
        KERNEL void bump(int* out) { if (TX == 0) counter += 2; out[TX] = table[TX & 3]; })",
                                            GetParam());
    auto module = gpu.load(code);
    ASSERT_TRUE(module) << module.error().message;
    Buffer<int> out(gpu, 8);
    Arguments arguments;
    arguments << out;
    ASSERT_TRUE(gpu.launch(**module, "bump", config({1, 1, 1}, {8, 1, 1}), arguments.bytes()));
    EXPECT_EQ(out.values(), (std::vector<int>{3, 1, 4, 1, 3, 1, 4, 1}));
    size_t size = 0;
    auto address = (*module)->symbol("counter", &size);
    ASSERT_TRUE(address) << address.error().message;
    int counter = 0;
    ASSERT_EQ(size, 4u);
    ASSERT_TRUE(gpu.read(&counter, *address, 4));
    EXPECT_EQ(counter, 42);
}

TEST_P(Launches, ResultsDoNotDependOnThreadsOrSeed) {
    std::vector<uint8_t> code = compile_hip(R"(KERNEL void blur(float* out, const float* in) {
        __shared__ float t[66]; uint i = BX * 64 + TX; t[TX + 1] = in[i];
        if (TX == 0) t[0] = i ? in[i - 1] : 0; if (TX == 63) t[65] = i + 1 < 64 * 40 ? in[i + 1] : 0;
        sync(); out[i] = t[TX] * 0.25f + t[TX + 1] * 0.5f + t[TX + 2] * 0.25f; })",
                                            GetParam());
    auto module = gpu.load(code);
    ASSERT_TRUE(module) << module.error().message;
    std::vector<float> in(64 * 40);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 97);
    Buffer<float> din(gpu, in);
    std::vector<float> first;
    uint64_t cycles = 0, instructions = 0;
    for (int threads : {1, 2, 3}) {
        for (uint64_t seed : {uint64_t{0}, uint64_t{5}, uint64_t{77}}) {
            Buffer<float> out(gpu, in.size());
            LaunchConfig c = config({40, 1, 1}, {64, 1, 1});
            c.threads = threads;
            c.seed = seed;
            Arguments arguments;
            arguments << out << din;
            auto stats = gpu.launch(**module, "blur", c, arguments.bytes());
            ASSERT_TRUE(stats) << stats.error().message;
            if (first.empty())
                first = out.values(), cycles = stats->modelled_cycles, instructions = stats->wave_instructions;
            EXPECT_EQ(out.values(), first);
            EXPECT_EQ(stats->modelled_cycles, cycles);
            EXPECT_EQ(stats->wave_instructions, instructions);
        }
    }
    EXPECT_GT(cycles, 0u);
}

INSTANTIATE_TEST_SUITE_P(Optimization, Launches,
                         ::testing::Values("-O0", "-O1", "-O3", "-O3 -mwavefrontsize64", "-O0 -mwavefrontsize64"));

}  // namespace
}  // namespace strata::emu::harness
