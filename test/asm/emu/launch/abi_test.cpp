#include <numeric>

#include "../kernel.h"
#include "strata/asm/emu/launch/abi.h"
#include "strata/core/support/settings.h"

namespace strata::emu::harness {
namespace {

// Registers and arguments of clang's kernels at their start, on every arch.
const char* kKernels = R"(
KERNEL void ids(uint* out) {
    uint gx = __builtin_amdgcn_grid_size_x() / NX, gy = __builtin_amdgcn_grid_size_y() / NY;
    uint block = BX + gx * (BY + gy * BZ), item = TX + NX * (TY + NY * TZ);
    out[block * NX * NY * NZ + item] = BX | BY << 4 | BZ << 8 | TX << 12 | TY << 16 | TZ << 20 | NZ << 24;
}
KERNEL void private_array(uint* out, const uint* in, uint n) {
    volatile uint local[48];
    for (uint i = 0; i < 48; ++i) local[i] = in[i] * (TX + 1);
    uint sum = 0;
    for (uint i = 0; i < n; ++i) sum = sum * 3 + local[(in[i] + BX) % 48];
    out[BX * NX + TX] = sum;
}
KERNEL void reduce(uint* out, const uint* in) {
    __shared__ uint part[256];
    part[TX] = in[BX * NX + TX];
    sync();
    for (uint step = 128; step > 0; step /= 2) {
        if (TX < step && TX + step < NX) part[TX] += part[TX + step];
        sync();
    }
    if (TX == 0) out[BX] = part[0];
}
__device__ __attribute__((noinline)) uint third(volatile uint* p, uint i) { return p[i] + p[0]; }
__device__ __attribute__((noinline)) uint depth(uint n) { return n < 2 ? n : depth(n - 1) + depth(n - 2); }
KERNEL void calls(uint* out, const uint* in) {
    volatile uint local[4] = {in[0], in[1], TX, BX};
    out[BX * NX + TX] = third(local, TX % 4) * 1000 + depth(TX % 8);
}
KERNEL void generic(uint* out, uint* in) {
    __shared__ uint shared[64];
    uint mine = TX * 7;
    shared[TX] = TX * 11;
    sync();
    volatile uint* p = TX % 3 == 0 ? (volatile uint*)&shared[TX] : TX % 3 == 1 ? (volatile uint*)&mine : (volatile uint*)&in[TX];
    *p += 1;
    out[TX] = *p;
}
KERNEL void arguments(uint* out, uchar a, ushort b, uint c, ulong d, float e) {
    out[TX] = a + b * 2 + c * 3 + (uint)(d >> 32) * 5 + (uint)d * 7 + (uint)e * 11;
}
)";

class LaunchAbi : public ::testing::TestWithParam<isa::Arch> {
  protected:
    Gpu gpu{GetParam()};

    void run(const char* kernel, const LaunchConfig& c, const Arguments& arguments,
             const std::string& options = "-O2") {
        auto module = gpu.load(compile_hip(kKernels, options, isa::info(GetParam()).name));
        ASSERT_TRUE(module) << module.error().message;
        auto stats = gpu.launch(**module, kernel, c, arguments.bytes());
        ASSERT_TRUE(stats) << stats.error().message;
    }
};

TEST_P(LaunchAbi, IdsInThreeDimensions) {
    Buffer<uint32_t> out(gpu, size_t{5 * 3 * 2} * (4 * 3 * 7));
    run("ids", config({5, 3, 2}, {4, 3, 7}), Arguments() << out);
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

TEST_P(LaunchAbi, PrivateMemoryBelongsToEachWorkItem) {
    const uint32_t blocks = 3, items = 100, n = 70;
    std::vector<uint32_t> in(n);
    for (uint32_t i = 0; i < n; ++i) in[i] = i * 2654435761u >> 20;
    Buffer<uint32_t> from(gpu, in), out(gpu, blocks * items);
    for (const char* options : {"-O0", "-O2"}) {
        run("private_array", config({blocks, 1, 1}, {items, 1, 1}), Arguments() << out << from << n, options);
        std::vector<uint32_t> got = out.values();
        for (uint32_t block = 0; block < blocks; ++block)
            for (uint32_t item = 0; item < items; ++item) {
                uint32_t sum = 0;
                for (uint32_t i = 0; i < n; ++i) sum = sum * 3 + in[(in[i] + block) % 48] * (item + 1);
                ASSERT_EQ(got[block * items + item], sum) << block << " " << item;
            }
    }
}

TEST_P(LaunchAbi, BarriersOrderLocalMemoryAcrossWaves) {
    const uint32_t blocks = 5, items = 200;
    std::vector<uint32_t> in(blocks * items);
    std::iota(in.begin(), in.end(), 17u);
    Buffer<uint32_t> from(gpu, in), out(gpu, blocks);
    run("reduce", config({blocks, 1, 1}, {items, 1, 1}), Arguments() << out << from);
    std::vector<uint32_t> got = out.values();
    for (uint32_t block = 0; block < blocks; ++block)
        EXPECT_EQ(got[block], std::accumulate(in.begin() + block * items, in.begin() + (block + 1) * items, 0u));
}

TEST_P(LaunchAbi, FunctionsAreCalledWithAStack) {
    const std::vector<uint32_t> in = {5, 6};
    Buffer<uint32_t> from(gpu, in), out(gpu, 2 * 64);
    run("calls", config({2, 1, 1}, {64, 1, 1}), Arguments() << out << from);
    const uint32_t fibonacci[] = {0, 1, 1, 2, 3, 5, 8, 13};
    std::vector<uint32_t> got = out.values();
    for (uint32_t block = 0; block < 2; ++block)
        for (uint32_t item = 0; item < 64; ++item) {
            const uint32_t local[] = {5, 6, item, block};
            ASSERT_EQ(got[block * 64 + item], (local[item % 4] + 5) * 1000 + fibonacci[item % 8]) << item;
        }
}

TEST_P(LaunchAbi, GenericPointersReachAllThreeMemories) {
    std::vector<uint32_t> in(64);
    std::iota(in.begin(), in.end(), 1000u);
    Buffer<uint32_t> from(gpu, in), out(gpu, 64);
    run("generic", config({1, 1, 1}, {64, 1, 1}), Arguments() << out << from);
    std::vector<uint32_t> got = out.values();
    for (uint32_t i = 0; i < 64; ++i) ASSERT_EQ(got[i], 1 + (i % 3 == 0 ? i * 11 : i % 3 == 1 ? i * 7 : 1000 + i)) << i;
}

TEST_P(LaunchAbi, ArgumentsAreLoadedOrPreloaded) {
    const isa::Family family = isa::info(GetParam()).family;
    Buffer<uint32_t> out(gpu, 64);
    const Arguments given = Arguments() << out << uint8_t{200} << uint16_t{50000} << 7u << 0x1234500000007ull << 12.0f;
    const uint32_t want = 200 + 50000 * 2 + 7 * 3 + 0x12345 * 5 + 7 * 7 + 12 * 11;
    run("arguments", config({1, 1, 1}, {64, 1, 1}), given);
    EXPECT_EQ(out.values()[63], want);
    if (family != isa::Family::cdna3 && family != isa::Family::cdna2) return;
    gpu.fill(out.address(), 0, 256).value();
    run("arguments", config({1, 1, 1}, {64, 1, 1}), given, "-O2 -mllvm -amdgpu-kernarg-preload-count=8");
    EXPECT_EQ(out.values()[63], want);
}

INSTANTIATE_TEST_SUITE_P(Archs, LaunchAbi,
                         ::testing::Values(isa::Arch::gfx1100, isa::Arch::gfx1201, isa::Arch::gfx942,
                                           isa::Arch::gfx90a),
                         [](const auto& arch) { return std::string(isa::info(arch.param).name); });

// The order of the initial SGPRs (AMDGPUUsage, "Initial Kernel Execution State").

isa::KernelDescriptor descriptor(uint16_t properties, uint32_t rsrc2, uint16_t preload = 0) {
    isa::KernelDescriptor d;
    d.properties = properties;
    d.rsrc2 = rsrc2;
    d.kernarg_preload = preload;
    return d;
}

constexpr uint64_t kPacket = 0x1122334455667788, kKernarg = 0x99aabbccddeeff00;
std::vector<uint8_t> bytes_of(std::initializer_list<uint32_t> words) {
    std::vector<uint8_t> bytes(words.size() * 4);
    memcpy(bytes.data(), std::data(words), bytes.size());
    return bytes;
}

TEST(InitialScalars, Gfx90aHasEveryKindInOrderAndTheWaveOffsetLast) {
    Plan plan;
    plan.scratch = 48;
    // All seven enable bits; 19 user SGPRs with the preloaded two; ids x and z; scratch.
    pack_scalars(plan, descriptor(0x7f, 1 | 19u << 1 | 1u << 7 | 1u << 9, 2 | 1 << 7), isa::info(isa::Arch::gfx90a),
                 kPacket, kKernarg, bytes_of({10, 11, 12, 13}));
    const auto& s = plan.scalars;
    EXPECT_EQ(s[0], 0u);  // base of the scratch window, swizzled
    EXPECT_EQ(s[1], 0x80008000u);
    EXPECT_EQ(s[3], 0x00e00000u);
    EXPECT_EQ(s[4], 0x55667788u);
    EXPECT_EQ(s[5], 0x11223344u);
    EXPECT_EQ(s[6] | s[7], 0u);
    EXPECT_EQ(s[8], 0xddeeff00u);
    EXPECT_EQ(s[9], 0x99aabbccu);
    EXPECT_EQ(s[10] | s[11], 0u);
    EXPECT_EQ(s[13], 0x8000u);  // flat scratch
    EXPECT_EQ(s[14], 48u);
    EXPECT_EQ(s[15], 11u);  // preloaded from dword 1 on
    EXPECT_EQ(s[16], 12u);
    EXPECT_EQ(plan.id_codes, (std::array<int, 3>{19, -1, 20}));
    EXPECT_EQ(s[21], 0u);
    EXPECT_EQ(entry_offset(descriptor(0, 0, 2), isa::info(isa::Arch::gfx90a)), 256u);
}

TEST(InitialScalars, Gfx942AndGfx11PackWithoutGapsAndGfx12KeepsIdsInTtmps) {
    Plan cdna3;
    pack_scalars(cdna3, descriptor(0x8, 2u << 1 | 7u << 7), isa::info(isa::Arch::gfx942), kPacket, kKernarg, {});
    EXPECT_EQ(cdna3.scalars[0], 0xddeeff00u);
    EXPECT_EQ(cdna3.id_codes, (std::array<int, 3>{2, 3, 4}));
    EXPECT_EQ(cdna3.scalars[103], 0x8000u);
    Plan rdna3;
    pack_scalars(rdna3, descriptor(0xa, 15u << 1 | 3u << 7), isa::info(isa::Arch::gfx1100), kPacket, kKernarg, {});
    EXPECT_EQ(rdna3.scalars[0], 0x55667788u);
    EXPECT_EQ(rdna3.scalars[2], 0xddeeff00u);
    EXPECT_EQ(rdna3.id_codes, (std::array<int, 3>{15, 16, -1}));  // after the count of user SGPRs
    Plan rdna4;
    pack_scalars(rdna4, descriptor(0x8, 2u << 1 | 7u << 7), isa::info(isa::Arch::gfx1201), kPacket, kKernarg, {});
    EXPECT_TRUE(rdna4.ids_in_ttmp);
    EXPECT_EQ(rdna4.id_codes, (std::array<int, 3>{-1, -1, -1}));
    EXPECT_EQ(entry_offset(descriptor(0, 0, 2), isa::info(isa::Arch::gfx1201)), 0u);
}

TEST(EmulatorSettings, TheBudgetStopsAnEndlessLoopAndIsNamed) {
    Gpu gpu(isa::Arch::gfx1100);
    Settings s = settings();
    s.emu_budget = 5000;
    ScopedSettings scope(s);
    auto module = gpu.load(compile_hip("KERNEL void forever(volatile uint* p) { while (p[0] == 0) {} }"));
    ASSERT_TRUE(module) << module.error().message;
    Buffer<uint32_t> zero(gpu, 1);
    auto stats = gpu.launch(**module, "forever", config({1, 1, 1}, {32, 1, 1}), (Arguments() << zero).bytes());
    ASSERT_FALSE(stats);
    EXPECT_EQ(stats.error().kind, ErrorKind::Launch);
    EXPECT_NE(stats.error().message.find("STRATA_EMU_BUDGET"), std::string::npos) << stats.error().message;
}

TEST(EmulatorSettings, WithoutChecksLocalMemoryOutOfRangeReadsZero) {
    Gpu gpu(isa::Arch::gfx1100);
    auto module =
        gpu.load(compile_hip("KERNEL void far(uint* out, uint at) { __shared__ uint part[64]; part[TX] = 5; sync(); "
                             "out[TX] = part[at + TX]; }"));
    ASSERT_TRUE(module) << module.error().message;
    Buffer<uint32_t> out(gpu, std::vector<uint32_t>(32, 9));
    const Arguments arguments = Arguments() << out << 40u;
    const LaunchConfig c = config({1, 1, 1}, {32, 1, 1});
    EXPECT_FALSE(gpu.launch(**module, "far", c, arguments.bytes()));
    Settings s = settings();
    s.emu_check = false;
    ScopedSettings scope(s);
    auto stats = gpu.launch(**module, "far", c, arguments.bytes());
    ASSERT_TRUE(stats) << stats.error().message;
    EXPECT_EQ(out.values()[31], 0u);
}

}  // namespace
}  // namespace strata::emu::harness
