#include <algorithm>
#include <cmath>
#include <numeric>

#include "../kernel.h"
#include "strata/asm/emu/program/program.h"
#include "strata/asm/llvm/assemble.h"
#include "strata/core/support/settings.h"

// Same seed, same bits, whatever the number of threads.
namespace strata::emu::harness {
namespace {

const char* kKernels = R"(
#define GET(p) __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
#define ADD(p, x) __hip_atomic_fetch_add(p, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
KERNEL void sum(float* sum, const float* in, uint n) {
    for (uint i = 0; i < n; ++i)
        if (TX == 0) ADD(sum, in[BX * n + i]);
}
KERNEL void tickets(uint* counter, uint* out, uint n) {
    for (uint i = 0; i < n; ++i)
        if (TX == 0) out[BX * n + i] = ADD(counter, 1u);
}
KERNEL void last_one_wins(uint* out) {
    if (TX == 0) for (uint i = 0; i < 200; ++i) __hip_atomic_exchange(out, BX, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
KERNEL void wait_for_all(uint* arrived, uint* out) {
    if (TX != 0) return;
    out[BX] = ADD(arrived, 1u);
    while (GET(arrived) != __builtin_amdgcn_grid_size_x() / 32) {}
    out[BX] += 1000;
}
)";

class ProgramOrder : public ::testing::TestWithParam<isa::Arch> {
  protected:
    Gpu gpu{GetParam()};
    std::shared_ptr<Module> module =
        gpu.load(compile_hip(kKernels, "-O2 -munsafe-fp-atomics", isa::info(GetParam()).name)).value();

    void launch(const char* kernel, uint32_t groups, int threads, uint64_t seed, const Arguments& arguments) {
        LaunchConfig c = config({groups, 1, 1}, {32, 1, 1});
        c.threads = threads;
        c.seed = seed;
        auto stats = gpu.launch(*module, kernel, c, arguments.bytes());
        ASSERT_TRUE(stats) << stats.error().message;
    }
};

TEST_P(ProgramOrder, TicketsAreTheSameWhateverTheNumberOfThreads) {
    const uint32_t groups = 100, n = 50;
    for (uint64_t seed : {0, 5}) {
        std::vector<uint32_t> first;
        for (int threads : {1, 2, 4, 4, 2, 1}) {
            Buffer<uint32_t> counter(gpu, std::vector<uint32_t>{0}), out(gpu, groups * n);
            launch("tickets", groups, threads, seed, Arguments() << counter << out << n);
            std::vector<uint32_t> got = out.values();
            if (first.empty()) first = got;
            ASSERT_EQ(got, first) << threads << " threads, seed " << seed;
            std::ranges::sort(got);
            for (uint32_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], i);
        }
    }
}

TEST_P(ProgramOrder, TheLastExchangeIsTheSameWhateverTheNumberOfThreads) {
    std::vector<uint32_t> first;
    for (int threads : {1, 4, 2, 4}) {
        Buffer<uint32_t> out(gpu, 1);
        launch("last_one_wins", 60, threads, 3, Arguments() << out);
        if (first.empty()) first = out.values();
        EXPECT_EQ(out.values(), first) << threads << " threads";
    }
}

TEST_P(ProgramOrder, WorkgroupsOnOneThreadCanWaitForAllOthers) {
    const uint32_t groups = 33;  // one more than take turns from the start
    Buffer<uint32_t> arrived(gpu, std::vector<uint32_t>{0}), out(gpu, groups);
    launch("wait_for_all", groups, 2, 0, Arguments() << arrived << out);
    std::vector<uint32_t> got = out.values(), want(groups);
    std::iota(want.begin(), want.end(), 1000u);
    std::ranges::sort(got);
    EXPECT_EQ(got, want);
}

TEST_P(ProgramOrder, FloatSumsAreReproducibleInOrderedMode) {
    const uint32_t groups = 300, n = 7;
    std::vector<float> in(groups * n);
    for (size_t i = 0; i < in.size(); ++i)
        in[i] = std::ldexp(1.0f + static_cast<float>(i * 7919 % 1000) / 1000, static_cast<int>(i * 31 % 40) - 20);
    ASSERT_NE(std::accumulate(in.begin(), in.end(), 0.0f), std::accumulate(in.rbegin(), in.rend(), 0.0f));
    Settings s = settings();
    s.emu_ordered = true;
    ScopedSettings scope(s);
    Buffer<float> from(gpu, in);
    for (uint64_t seed : {0, 5}) {
        std::vector<float> first;
        for (int threads : {1, 2, 4, 2}) {
            Buffer<float> sum(gpu, std::vector<float>{0});
            launch("sum", groups, threads, seed, Arguments() << sum << from << n);
            if (first.empty()) first = sum.values();
            EXPECT_EQ(sum.values(), first) << threads << " threads, seed " << seed;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Archs, ProgramOrder, ::testing::Values(isa::Arch::gfx1100, isa::Arch::gfx942));

/// The order's effect on a program that starts with `text`.
Order order_of_text(const std::string& text, isa::Arch arch = isa::Arch::gfx1100) {
    const int lanes = isa::info(arch).wave_size;
    auto words = isa::assemble_instructions(text, arch, lanes);
    EXPECT_TRUE(words) << words.error().message;
    if (!words) return Order::free;
    Program program(arch, lanes, 64, 32, {reinterpret_cast<const uint8_t*>(words->data()), words->size() * 4}, 1 << 20);
    auto entry = program.entry(0);
    EXPECT_TRUE(entry) << entry.error().message;
    return program.order();
}

TEST(OrderOfProgram, DependsOnWhatAtomicsGiveBackAndWhetherTheyCommute) {
    struct Case {
        const char* text;
        Order order;
    };
    const Case rdna3[] = {{"v_add_f32 v0, v0, v1", Order::free},
                          {"global_atomic_add_u32 v0, v1, s[2:3]", Order::free},
                          {"global_atomic_or_b32 v0, v1, s[2:3]", Order::free},
                          {"flat_atomic_max_i64 v[0:1], v[2:3]", Order::free},
                          {"global_atomic_add_u32 v4, v0, v1, s[2:3] glc", Order::decides},
                          {"buffer_atomic_sub_u32 v4, v0, s[4:7], 0 offen glc", Order::decides},
                          {"global_atomic_swap_b32 v0, v1, s[2:3]", Order::decides},
                          {"global_atomic_cmpswap_b64 v0, v[2:5], s[2:3]", Order::decides},
                          {"global_atomic_inc_u32 v0, v1, s[2:3]", Order::decides},
                          {"global_atomic_add_f32 v0, v1, s[2:3]", Order::decides_floats},
                          {"global_atomic_add_f32 v4, v0, v1, s[2:3] glc", Order::decides_floats},
                          {"ds_add_rtn_u32 v0, v1, v2", Order::free},
                          {"ds_wrap_rtn_b32 v0, v1, v2, v3", Order::free},
                          {"ds_append v0", Order::free},
                          {"ds_append v0 gds", Order::decides}};
    for (const Case& c : rdna3) EXPECT_EQ(order_of_text(c.text + std::string("\ns_endpgm")), c.order) << c.text;
    const Case rdna4[] = {{"global_atomic_cond_sub_u32 v0, v1, s[2:3]", Order::decides},
                          {"global_atomic_pk_add_bf16 v0, v1, s[2:3]", Order::decides_floats},
                          {"global_atomic_sub_u32 v0, v1, s[2:3]", Order::free}};
    for (const Case& c : rdna4)
        EXPECT_EQ(order_of_text(c.text + std::string("\ns_endpgm"), isa::Arch::gfx1201), c.order) << c.text;
    const Case cdna3[] = {{"global_atomic_add_x2 v0, v[2:3], s[2:3]", Order::free},
                          {"global_atomic_umin v0, v1, s[2:3]", Order::free},
                          {"global_atomic_dec v0, v1, s[2:3]", Order::decides},
                          {"global_atomic_umax v4, v0, v1, s[2:3] sc0", Order::decides},
                          {"global_atomic_add_f64 v0, v[2:3], s[2:3]", Order::decides_floats}};
    for (const Case& c : cdna3)
        EXPECT_EQ(order_of_text(c.text + std::string("\ns_endpgm"), isa::Arch::gfx942), c.order) << c.text;
}

TEST(OrderOfProgram, LooksAtCodeOutOfSightOnlyIfTheProgramCanComeThere) {
    const std::string ticket = "global_atomic_add_u32 v4, v0, v1, s[2:3] glc\ns_setpc_b64 s[30:31]\n";
    const std::string call = "s_swappc_b64 s[30:31], s[4:5]\ns_endpgm\n";
    EXPECT_EQ(order_of_text("s_endpgm\n" + ticket), Order::free);
    EXPECT_EQ(order_of_text(call + ticket), Order::decides);
    EXPECT_EQ(order_of_text(call + "v_add_f32 v0, v0, v1\ns_setpc_b64 s[30:31]"), Order::free);
    EXPECT_EQ(order_of_text(call + "global_atomic_add_f32 v0, v1, s[2:3]\ns_setpc_b64 s[30:31]"),
              Order::decides_floats);
    EXPECT_EQ(order_of_text(call + ".long 0xd7000000\n" + ticket), Order::decides);  // half an instruction, then code
}

}  // namespace
}  // namespace strata::emu::harness
