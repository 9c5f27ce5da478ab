#include <fmt/format.h>
#include <sys/mman.h>

#include "../kernel.h"
#include "strata/asm/llvm/assemble.h"
#include "strata/core/support/settings.h"

namespace strata::emu::harness {
namespace {

class Faults : public ::testing::Test {
  protected:
    Gpu gpu{isa::Arch::gfx1100};

    std::shared_ptr<Module> load(const std::string& source, const std::string& options = "-O3") {
        auto module = gpu.load(compile_hip(source, options));
        EXPECT_TRUE(module) << module.error().message;
        return module ? *module : nullptr;
    }
    Error error(const Module& module, const char* kernel, const LaunchConfig& config, const Arguments& arguments) {
        auto stats = gpu.launch(module, kernel, config, arguments.bytes());
        EXPECT_FALSE(stats) << "the launch succeeded";
        return stats ? Error{} : stats.error();
    }
    void expect(const Error& error, ErrorKind kind, std::initializer_list<std::string> parts) {
        EXPECT_EQ(error.kind, kind) << error.message;
        for (const std::string& part : parts)
            EXPECT_NE(error.message.find(part), std::string::npos) << part << "\n" << error.message;
    }
};

constexpr const char* kPoke = "KERNEL void poke(int* p, long i, int* unused) { p[i + TX] = 7; }";
constexpr const char* kPeek = "KERNEL void peek(int* p, long i, int* out) { out[TX] = p[i + TX]; }";

TEST_F(Faults, AStorePastTheEndNamesEverythingAndSparesTheNeighbour) {
    auto module = load(kPoke);
    Buffer<int> a(gpu, 64, "weights"), b(gpu, std::vector<int>(64, 5), "other");
    Error e = error(*module, "poke", config({3, 1, 1}, {32, 1, 1}), Arguments() << a << int64_t{40} << b);
    expect(e, ErrorKind::MemoryFault,
           {"kernel 'poke'", "code offset 0x", "global_store_b32", "workgroup (0, 0, 0)", "wave 0",
            "lane 24 writes 4 bytes", "'weights' (256 bytes", "0 bytes past the end",
            fmt::format("{:#x}", a.address() + 256)});
    EXPECT_EQ(b.values(), std::vector<int>(64, 5));
    // The device goes on.
    Buffer<int> c(gpu, 64);
    auto stats =
        gpu.launch(*module, "poke", config({1, 1, 1}, {32, 1, 1}), (Arguments() << c << int64_t{0} << b).bytes());
    EXPECT_TRUE(stats);
    EXPECT_EQ(c.values()[31], 7);
}

TEST_F(Faults, ALoadBeforeTheStart) {
    auto module = load(kPeek);
    Buffer<int> a(gpu, 64, "input"), out(gpu, 64, "output");
    expect(error(*module, "peek", config({1, 1, 1}, {64, 1, 1}), Arguments() << a << int64_t{-1} << out),
           ErrorKind::MemoryFault, {"lane 0 reads 4 bytes", "4 bytes before allocation 'input'"});
}

TEST_F(Faults, LocalMemoryThatNobodyGaveNamesWhoGivesIt) {
    auto module = load(
        "extern __shared__ int more[];\n"
        "KERNEL void grow(int* p) { more[TX * 8] = p[TX]; sync(); p[TX] = more[(TX ^ 1) * 8]; }\n"
        "KERNEL void both(int* p) { __shared__ int own[8]; own[TX % 8] = p[TX]; more[TX * 8] = p[TX]; sync();"
        "p[TX] = more[(TX ^ 1) * 8] + own[(TX + 1) % 8]; }");
    Buffer<int> a(gpu, 64);
    LaunchConfig launch = config({1, 1, 1}, {32, 1, 1});
    launch.check = Check::report;
    expect(error(*module, "grow", launch, Arguments() << a), ErrorKind::MemoryFault,
           {"of local memory (LDS), of which the workgroup has 0 bytes: 0 that the kernel declares and none that the "
            "launch gave (lds= in Python, sharedMemBytes in HIP)"});
    launch.dynamic_lds = 64;
    expect(error(*module, "both", launch, Arguments() << a), ErrorKind::MemoryFault,
           {"of which the workgroup has 96 bytes: 32 that the kernel declares and 64 that the launch gave"});
    launch.dynamic_lds = 1024;
    EXPECT_TRUE(gpu.launch(*module, "grow", launch, (Arguments() << a).bytes()));
}

TEST_F(Faults, ANullPointerAndAWildOne) {
    auto module = load(kPeek);
    Buffer<int> out(gpu, 64, "output");
    expect(error(*module, "peek", config({1, 1, 1}, {32, 1, 1}), Arguments() << uint64_t{0} << int64_t{0} << out),
           ErrorKind::MemoryFault, {"reads 4 bytes at 0x0"});
    expect(error(*module, "peek", config({1, 1, 1}, {32, 1, 1}), Arguments() << ~uint64_t{3} << int64_t{0} << out),
           ErrorKind::MemoryFault, {"lane 0 reads"});
}

TEST_F(Faults, MemoryUsedAfterFree) {
    auto module = load(kPeek);
    Buffer<int> out(gpu, 64, "output");
    DeviceAddress gone = gpu.allocate(256, "temporary").value();
    gpu.free(gone).value();
    expect(error(*module, "peek", config({1, 1, 1}, {32, 1, 1}), Arguments() << gone << int64_t{0} << out),
           ErrorKind::MemoryFault, {"freed allocation 'temporary'"});
    EXPECT_FALSE(gpu.free(gone));
}

TEST_F(Faults, CodeAndArgumentsAreReadOnly) {
    auto module = load(R"(
        KERNEL void where(const int** out) { out[0] = (const int*)__builtin_amdgcn_s_getpc(); out[1] = (const int*)__builtin_amdgcn_kernarg_segment_ptr(); }
        KERNEL void poke(int* p) { p[TX] = 7; })");
    Buffer<uint64_t> out(gpu, 3);
    ASSERT_TRUE(gpu.launch(*module, "where", config({1, 1, 1}, {1, 1, 1}), (Arguments() << out).bytes()));
    expect(error(*module, "poke", config({1, 1, 1}, {2, 1, 1}), Arguments() << out.values()[0]), ErrorKind::MemoryFault,
           {"lane 0 writes", "read-only", "code of module of"});
    expect(error(*module, "poke", config({1, 1, 1}, {2, 1, 1}), Arguments() << out.values()[1]), ErrorKind::MemoryFault,
           {"read-only", "kernel arguments"});
}

TEST_F(Faults, LocalAndPrivateMemoryHaveBounds) {
    auto module = load(
        R"(KERNEL void local(int* out, int i) { __shared__ int t[16]; t[i + TX] = TX; sync(); out[TX] = t[TX & 15]; }
        KERNEL void stack(int* out, int i) { volatile int a[64]; for (int k = 0; k < 64; ++k) a[k] = k * TX; a[i] = 3; out[TX] = a[(TX + i) & 63]; })");
    Buffer<int> out(gpu, 64);
    expect(error(*module, "local", config({1, 1, 1}, {32, 1, 1}), Arguments() << out << 0), ErrorKind::MemoryFault,
           {"ds_store_b32", "lane 16 writes 4 bytes at byte 64 of local memory", "64 bytes"});
    expect(
        error(*module, "stack", config({1, 1, 1}, {32, 1, 1}), Arguments() << out << 100000), ErrorKind::MemoryFault,
        {"flat_store_b32", "lane 0 writes 4 bytes at byte 4000", "private memory (scratch)", "a lane has 272 bytes"});
}

TEST_F(Faults, AnAbortingKernelAndAMisalignedAtomic) {
    auto module = load(R"(KERNEL void stop(int* p) { if (p[TX] == 0) __builtin_trap(); }
        KERNEL void add(char* p) { __hip_atomic_fetch_add((int*)(p + 2), 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); })");
    Buffer<int> p(gpu, 64);
    expect(error(*module, "stop", config({1, 1, 1}, {32, 1, 1}), Arguments() << p), ErrorKind::MemoryFault,
           {"stopped itself", "s_trap"});
    expect(error(*module, "add", config({1, 1, 1}, {1, 1, 1}), Arguments() << p), ErrorKind::MemoryFault,
           {"not aligned to 4"});
}

TEST_F(Faults, AnEndlessLoopIsStopped) {
    auto module = load("KERNEL void spin(volatile int* p) { while (p[0] == 0) {} p[1] = 1; }");
    Buffer<int> p(gpu, 2);
    LaunchConfig c = config({4, 1, 1}, {32, 1, 1});
    c.max_instructions = 100000;
    expect(error(*module, "spin", c, Arguments() << p), ErrorKind::Launch,
           {"kernel 'spin'", "s_cbranch", "endless loop?", "instructions"});
}

TEST_F(Faults, WorkgroupsMayWaitForEachOther) {
    auto module = load(
        R"(KERNEL void chain(volatile int* p) { if (TX == 0) { while (p[BX + 1] == 0) {} p[BX] = p[BX + 1] + 1; } })");
    std::vector<int> start(65);
    start[64] = 1;
    Buffer<int> p(gpu, start);
    LaunchConfig c = config({64, 1, 1}, {32, 1, 1});
    auto stats = gpu.launch(*module, "chain", c, (Arguments() << p).bytes());
    ASSERT_TRUE(stats) << stats.error().message;
    EXPECT_EQ(p.values()[0], 65);
}

TEST_F(Faults, LaunchesOutOfLimits) {
    auto module = load(R"(KERNEL void k(int* p, int n) { __shared__ int t[1024]; t[TX] = n; sync(); p[TX] = t[0]; }
        KERNEL __launch_bounds__(64) void small(int* p) { p[TX] = 0; })");
    Buffer<int> p(gpu, 1024);
    Arguments good = Arguments() << p << 1;
    auto with = [&](std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block, uint32_t lds = 0) {
        LaunchConfig c = config(grid, block);
        c.dynamic_lds = lds;
        return error(*module, "k", c, good);
    };
    expect(with({0, 1, 1}, {32, 1, 1}), ErrorKind::Launch, {"'k'", "grid.x is 0"});
    expect(with({1, 1, 1}, {32, 0, 1}), ErrorKind::Launch, {"block.y is 0"});
    expect(with({1, 70000, 1}, {32, 1, 1}), ErrorKind::Launch, {"grid.y is 70000", "65535"});
    expect(with({1, 1, 1}, {64, 32, 1}), ErrorKind::Launch, {"2048 work-items", "1024"});
    expect(with({1, 1, 1}, {2000, 1, 1}), ErrorKind::Launch, {"block.x is 2000", "1024"});
    expect(with({1, 1, 1}, {32, 1, 1}, 65536), ErrorKind::Launch, {"69632 bytes of local memory", "65536"});
    expect(error(*module, "small", config({1, 1, 1}, {128, 1, 1}), Arguments() << p), ErrorKind::Launch,
           {"128 work-items", "at most 64"});
    expect(error(*module, "k", config({1, 1, 1}, {32, 1, 1}), Arguments() << p), ErrorKind::Launch,
           {"takes 12 bytes", "8 bytes were given"});
    expect(error(*module, "k", config({1, 1, 1}, {32, 1, 1}), Arguments() << p << 1 << p), ErrorKind::Launch,
           {"takes 12 bytes", "24 bytes"});
    expect(error(*module, "missing", config({1, 1, 1}, {32, 1, 1}), good), ErrorKind::Launch, {"'missing'", "k"});
}

TEST_F(Faults, TooManyRegistersForTheBlock) {
    std::string text = R"(
.text
.globl big
.p2align 8
.type big,@function
big:
  v_mov_b32 v250, 1
  s_endpgm
.Lend:
.size big, .Lend-big
.rodata
.p2align 6
.amdhsa_kernel big
  .amdhsa_next_free_vgpr 251
  .amdhsa_next_free_sgpr 16
  .amdhsa_wavefront_size32 1
.end_amdhsa_kernel
.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: big
    .symbol: big.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .sgpr_count: 16
    .vgpr_count: 251
    .max_flat_workgroup_size: 1024
.end_amdgpu_metadata
)";
    auto code = isa::assemble(text, isa::Arch::gfx1100);
    ASSERT_TRUE(code) << code.error().message;
    auto module = gpu.load(*code);
    ASSERT_TRUE(module) << module.error().message;
    expect(error(**module, "big", config({1, 1, 1}, {1024, 1, 1}), Arguments()), ErrorKind::Launch,
           {"1024 work-items", "32 waves of 264 vector registers", "at most 640"});
    EXPECT_TRUE(gpu.launch(**module, "big", config({1, 1, 1}, {640, 1, 1}), {}));
}

TEST_F(Faults, AnInstructionWithoutAHandlerIsRefusedAtLoad) {
    std::string text = R"(
.text
.globl odd
.p2align 8
.type odd,@function
odd:
  v_mov_b32 v0, 1
  ds_store_addtid_b32 v0 gds
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel odd
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_wavefront_size32 1
.end_amdhsa_kernel
.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: odd
    .symbol: odd.kd
    .kernarg_segment_size: 0
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 32
    .sgpr_count: 16
    .vgpr_count: 8
    .max_flat_workgroup_size: 1024
.end_amdgpu_metadata
)";
    auto code = isa::assemble(text, isa::Arch::gfx1100);
    ASSERT_TRUE(code) << code.error().message;
    auto module = gpu.load(*code);
    ASSERT_FALSE(module);
    expect(module.error(), ErrorKind::Unsupported, {"kernel 'odd'", "ds_store_addtid_b32", "offset 0x4"});
}

TEST_F(Faults, AGridThatCannotEndIsRefusedAndALaunchHasABudgetOfItsOwn) {
    auto empty = load("KERNEL void nothing() {}");
    expect(error(*empty, "nothing", config({2147483647, 65535, 65535}, {1, 1, 1}), Arguments()), ErrorKind::Launch,
           {"kernel 'nothing'", "(2147483647, 65535, 65535)", "cannot end", "STRATA_EMU_LAUNCH_BUDGET"});
    for (const int threads : {1, 2}) {  // where nobody says another, a wave's for each thread
        LaunchConfig largest = config({2147483647, 1, 1}, {1, 1, 1});
        largest.threads = threads;
        expect(error(*empty, "nothing", largest, Arguments()), ErrorKind::Launch,
               {"cannot end", std::to_string(static_cast<uint64_t>(threads) << 33) + " instructions"});
        largest.max_instructions = 1ull << 40;
        largest.grid = {1000, 1, 1};
        EXPECT_TRUE(gpu.launch(*empty, "nothing", largest, {}));
    }
    Settings limited = settings();
    limited.emu_launch_budget = 1'000'000;
    ScopedSettings scope(limited);
    EXPECT_TRUE(gpu.launch(*empty, "nothing", config({1000, 1, 1}, {1, 1, 1}), {}));
    auto counts = load("KERNEL void counts() { for (int i = 0; i < 10000; ++i) __builtin_amdgcn_s_sleep(0); }");
    for (int threads : {1, 2}) {
        LaunchConfig many = config({200, 1, 1}, {64, 1, 1});
        many.threads = threads;
        expect(error(*counts, "counts", many, Arguments()), ErrorKind::Launch,
               {"kernel 'counts'", "the launch ran 1000000 instructions", "emu_launch_budget"});
        many.grid = {4, 1, 1};
        EXPECT_TRUE(gpu.launch(*counts, "counts", many, {}));
    }
}

TEST_F(Faults, AnEndlessLaunchRunsItsBudgetOverAllItsWavesWhateverTheGrid) {
    auto module = load(
        "KERNEL void forever(unsigned* turns) { for (;;) __hip_atomic_fetch_add(turns + TX, 1u, "
        "__ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }");
    constexpr uint64_t kBudget = 2'000'000;
    Settings limited = settings();
    limited.emu_launch_budget = kBudget;
    ScopedSettings scope(limited);
    for (const unsigned side : {1, 64})
        for (const unsigned waves : {1, 4}) {
            Buffer<unsigned> turns(gpu, 256);
            LaunchConfig many = config({side, side, 1}, {32 * waves, 1, 1});
            many.threads = 2;
            expect(error(*module, "forever", many, Arguments() << turns), ErrorKind::Launch, {"2000000 instructions"});
            uint64_t of_waves = 0;
            for (unsigned wave = 0; wave < waves; ++wave) of_waves += turns.values()[32 * wave];
            EXPECT_GT(of_waves, 0u);
            EXPECT_LT(of_waves, kBudget) << "a turn of the loop is two instructions at least";
        }
}

TEST_F(Faults, MemoryOfTheHostThatGoesAwayIsAFaultOfWhoUsesIt) {
    auto module = load("KERNEL void add(int* out, const int* x) { out[TX] = x[TX] + 1; }");
    constexpr size_t kPage = 4096;
    const DeviceAddress own = gpu.allocate(64 * 4, "own").value();
    for (const int left : {PROT_NONE, PROT_READ}) {
        void* const host = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(host, MAP_FAILED);
        const auto at = reinterpret_cast<DeviceAddress>(host);
        gpu.map_host(host, kPage).value();
        EXPECT_TRUE(gpu.launch(*module, "add", config({1, 1, 1}, {64, 1, 1}), (Arguments() << at << own).bytes()));
        gpu.map_host(host, kPage, false).value();
        expect(error(*module, "add", config({1, 1, 1}, {64, 1, 1}), Arguments() << at << own), ErrorKind::MemoryFault,
               {"kernel 'add'", "writes 4 bytes", "read-only"});
        gpu.map_host(host, kPage, true).value();
        ASSERT_EQ(mprotect(host, kPage, left), 0);
        expect(error(*module, "add", config({1, 1, 1}, {64, 1, 1}), Arguments() << at << own), ErrorKind::MemoryFault,
               {"kernel 'add'", "memory of the host", "not there any more"});
        int value = 0;
        EXPECT_EQ(bool(gpu.read(&value, at, 4)), left == PROT_READ);
        EXPECT_FALSE(gpu.write(at, &value, 4));
        EXPECT_FALSE(gpu.fill(at, 1, 4));
        EXPECT_FALSE(gpu.copy(at, own, 4));
        gpu.unmap_host(host).value();
        munmap(host, kPage);
        EXPECT_TRUE(gpu.launch(*module, "add", config({1, 1, 1}, {64, 1, 1}), (Arguments() << own << own).bytes()));
    }
    gpu.free(own).value();
}

TEST_F(Faults, WhatALaunchMayOnlyReadIsReadOnlyForThatLaunch) {
    auto module = load("KERNEL void add(int* out, const int* x) { out[TX] = x[TX] + 1; }");
    const DeviceAddress own = gpu.allocate(64 * 4, "own").value();
    LaunchConfig asked = config({1, 1, 1}, {64, 1, 1});
    asked.read_only = {own};
    expect(error(*module, "add", asked, Arguments() << own << own), ErrorKind::MemoryFault,
           {"'own'", "read-only", "take const away"});
    asked.written = {own + 128};
    EXPECT_TRUE(gpu.launch(*module, "add", asked, (Arguments() << own << own).bytes())) << "a part is written";
    EXPECT_TRUE(gpu.launch(*module, "add", config({1, 1, 1}, {64, 1, 1}), (Arguments() << own << own).bytes()));
    gpu.free(own).value();
}

TEST_F(Faults, HostAccessesAreCheckedToo) {
    DeviceAddress a = gpu.allocate(16, "little").value();
    int values[8] = {};
    auto read = gpu.read(values, a, 20);
    ASSERT_FALSE(read);
    expect(read.error(), ErrorKind::Usage, {"'little'", "4 bytes too many"});
    EXPECT_FALSE(gpu.write(a + 16, values, 1));
    EXPECT_TRUE(gpu.write(a, values, 16));
    EXPECT_EQ(gpu.allocated_bytes(), 16u);
    gpu.free(a).value();
    EXPECT_EQ(gpu.allocated_bytes(), 0u);
    EXPECT_FALSE(gpu.allocate(size_t{1} << 50));
    DeviceAddress empty = gpu.allocate(0).value();
    EXPECT_TRUE(gpu.free(empty));
}

}  // namespace
}  // namespace strata::emu::harness
