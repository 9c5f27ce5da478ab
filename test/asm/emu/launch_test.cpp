#include <numeric>

#include "kernel_p.h"

namespace strata::emu::testing {
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

TEST_P(Launches, add_vectors_with_a_partial_last_block) {
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

INSTANTIATE_TEST_SUITE_P(Optimization, Launches,
                         ::testing::Values("-O0", "-O1", "-O3", "-O3 -mwavefrontsize64", "-O0 -mwavefrontsize64"));

}  // namespace
}  // namespace strata::emu::testing
