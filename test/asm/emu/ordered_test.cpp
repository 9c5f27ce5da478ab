#include <cmath>

#include "kernel_p.h"
#include "strata/core/support/settings.h"

namespace strata::emu::testing {
namespace {

const char* kKernels = R"(
KERNEL void add_in_order(float* sum, const float* in, uint n) {
    for (uint i = 0; i < n; ++i)
        if (TX == 0) __hip_atomic_fetch_add(sum, in[BX * n + i], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
KERNEL void tickets(uint* counter, uint* out) {
    uint ticket;
    if (TX == 0) {
        ticket = __hip_atomic_fetch_add(counter, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        out[BX] = ticket;
    }
}
)";

class Ordered : public ::testing::Test {
  protected:
    Gpu gpu{isa::Arch::gfx1100};
    std::shared_ptr<Module> module = gpu.load(compile_hip(kKernels, "-O2 -munsafe-fp-atomics")).value();

    void launch(const char* kernel, uint32_t groups, int threads, uint64_t seed, const Arguments& arguments) {
        Settings s = settings();
        s.emu_ordered = true;
        ScopedSettings scope(s);
        LaunchConfig c = config({groups, 1, 1}, {32, 1, 1});
        c.threads = threads;
        c.seed = seed;
        auto stats = gpu.launch(*module, kernel, c, arguments.bytes());
        ASSERT_TRUE(stats) << stats.error().message;
    }
};

TEST_F(Ordered, float_sums_are_those_of_workgroups_one_after_the_other) {
    const uint32_t groups = 300, n = 7;
    std::vector<float> in(groups * n);
    for (size_t i = 0; i < in.size(); ++i)
        in[i] = std::ldexp(1.0f + static_cast<float>(i * 7919 % 1000) / 1000, static_cast<int>(i * 31 % 40) - 20);
    float want = 0, backwards = 0;
    for (float x : in) want += x;
    for (size_t i = in.size(); i-- > 0;) backwards += in[i];
    ASSERT_NE(want, backwards);  // the order matters for these numbers
    Buffer<float> from(gpu, in);
    for (int threads : {1, 2, 4})
        for (uint64_t seed : {0, 5}) {
            Buffer<float> sum(gpu, std::vector<float>{0});
            launch("add_in_order", groups, threads, seed, Arguments() << sum << from << n);
            EXPECT_EQ(sum.values()[0], want) << threads << " threads, seed " << seed;
        }
}

TEST_F(Ordered, tickets_are_given_in_the_order_of_the_workgroups) {
    const uint32_t groups = 200;
    for (int threads : {1, 3}) {
        Buffer<uint32_t> counter(gpu, std::vector<uint32_t>{0}), out(gpu, groups);
        launch("tickets", groups, threads, 9, Arguments() << counter << out);
        std::vector<uint32_t> got = out.values();
        for (uint32_t i = 0; i < groups; ++i) ASSERT_EQ(got[i], i);
    }
}

}  // namespace
}  // namespace strata::emu::testing
