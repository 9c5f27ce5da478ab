#include <numeric>

#include "../kernel.h"

// Rows of memory loaded side by side from one address register.
namespace strata::emu::harness {
namespace {

/// Eight loads, `step` bytes from one to the next, and the wait for them.
std::string eight_loads(int step) {
    std::string text;
    for (int i = 0; i < 8; ++i)
        text += "global_load_b32 %" + std::to_string(i) + ", %8, %9 offset:" + std::to_string(i * step) + "\\n";
    return "float a, b, c, d, e, f, g, h; asm volatile(\"" + text +
           "s_waitcnt vmcnt(0)\" : \"=&v\"(a), \"=&v\"(b), \"=&v\"(c), \"=&v\"(d), \"=&v\"(e), \"=&v\"(f), \"=&v\"(g), "
           "\"=&v\"(h) : \"v\"(at), \"s\"(in));";
}

/// Each of two waves loads four times; which wave's turn it was, in the order of the turns.
std::vector<uint32_t> turns(int step) {
    Gpu gpu(isa::Arch::gfx1100);
    Buffer<float> in(gpu, 4096);
    Buffer<uint32_t> order(gpu, 8);
    auto module = gpu.load(compile_hip(R"(
        KERNEL __launch_bounds__(64) void walk(uint* order, const float* in) {
            __shared__ uint ticket;
            if (TX == 0) ticket = 0;
            sync();
            for (int turn = 0; turn < 4; ++turn) {
                uint at = TX % 32 * 4;
                )" + eight_loads(step) +
                                       R"(
                if (TX % 32 == 0) order[__atomic_fetch_add(&ticket, 1, __ATOMIC_RELAXED)] = TX / 32;
            }
        })"));
    EXPECT_TRUE(module) << module.error().message;
    LaunchConfig c = config({1, 1, 1}, {64, 1, 1});
    c.timed = false;  // measured workgroups wait as hardware does
    auto stats = gpu.launch(**module, "walk", c, (Arguments() << order << in).bytes());
    EXPECT_TRUE(stats) << stats.error().message;
    return order.values();
}

TEST(MemoryGroup, AWaveThatReadsSideBySideGoesOnAndOthersTakeTurns) {
    EXPECT_EQ(turns(128), (std::vector<uint32_t>{0, 0, 0, 0, 1, 1, 1, 1}));
    EXPECT_EQ(turns(256), (std::vector<uint32_t>{0, 1, 0, 1, 0, 1, 0, 1}));
}

TEST(MemoryGroup, LoadsTogetherGiveWhatLoadsAloneGive) {
    Gpu gpu(isa::Arch::gfx1100);
    std::vector<float> values(8 * 32);
    std::iota(values.begin(), values.end(), 1.0f);
    Buffer<float> in(gpu, values), out(gpu, values.size());
    auto module = gpu.load(compile_hip(R"(
        KERNEL __launch_bounds__(32) void copy(float* out, const float* in) {
            uint at = TX * 4;
            )" + eight_loads(128) + R"(
            const float all[8] = {a, b, c, d, e, f, g, h};
            for (int i = 0; i < 8; ++i) out[32 * i + TX] = all[i];
        })"));
    EXPECT_TRUE(module) << module.error().message;
    ASSERT_TRUE(gpu.launch(**module, "copy", config({1, 1, 1}, {32, 1, 1}), (Arguments() << out << in).bytes()));
    EXPECT_EQ(out.values(), values);

    // The sixth of the loads is the first that leaves the allocation.
    Buffer<float> small(gpu, 5 * 32);
    auto stats = gpu.launch(**module, "copy", config({1, 1, 1}, {32, 1, 1}), (Arguments() << out << small).bytes());
    ASSERT_FALSE(stats);
    EXPECT_NE(stats.error().message.find("offset:640"), std::string::npos) << stats.error().message;
}

}  // namespace
}  // namespace strata::emu::harness
