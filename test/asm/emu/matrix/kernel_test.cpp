#include <cmath>

#include "../kernel.h"

// A product of two half-precision matrices by each family's matrix instructions, compiled by clang. Tiles are loaded
// and stored as the ISA documents lay them out.
namespace strata::emu {
namespace {

using namespace harness;

constexpr int kSize = 64;

const char* kProduct = R"(
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef _Float16 half8 __attribute__((ext_vector_type(8)));
typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));
typedef float float16 __attribute__((ext_vector_type(16)));
enum { N = 64 };
KERNEL __launch_bounds__(64) void product(float* c, const _Float16* a, const _Float16* bt) {
    int lane = TX;
#if defined(__gfx1100__)
    const _Float16 *x = a + (16 * BY + lane % 16) * N, *y = bt + (16 * BX + lane % 16) * N;
    float8 sum = {};
    for (int k = 0; k < N; k += 16)
        sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(*(const half16*)(x + k), *(const half16*)(y + k), sum);
    for (int r = 0; r < 8; ++r) c[(16 * BY + 2 * r + lane / 16) * N + 16 * BX + lane % 16] = sum[r];
#elif defined(__gfx1201__)
    const _Float16 *x = a + (16 * BY + lane % 16) * N + 4 * (lane / 16), *y = bt + (16 * BX + lane % 16) * N + 4 * (lane / 16);
    float8 sum = {};
    for (int k = 0; k < N; k += 16) {
        half8 u = __builtin_shufflevector(*(const half4*)(x + k), *(const half4*)(x + k + 8), 0, 1, 2, 3, 4, 5, 6, 7);
        half8 v = __builtin_shufflevector(*(const half4*)(y + k), *(const half4*)(y + k + 8), 0, 1, 2, 3, 4, 5, 6, 7);
        sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(u, v, sum);
    }
    for (int r = 0; r < 8; ++r) c[(16 * BY + 8 * (lane / 16) + r) * N + 16 * BX + lane % 16] = sum[r];
#else
    const _Float16 *x = a + (32 * BY + lane % 32) * N + 4 * (lane / 32), *y = bt + (32 * BX + lane % 32) * N + 4 * (lane / 32);
    float16 sum = {};
    for (int k = 0; k < N; k += 8)
        sum = __builtin_amdgcn_mfma_f32_32x32x8f16(*(const half4*)(x + k), *(const half4*)(y + k), sum, 0, 0, 0);
    for (int r = 0; r < 16; ++r) c[(32 * BY + 8 * (r / 4) + 4 * (lane / 32) + r % 4) * N + 32 * BX + lane % 32] = sum[r];
#endif
}
)";

class MatrixKernel : public ::testing::TestWithParam<isa::Arch> {};

TEST_P(MatrixKernel, MultipliesHalves) {
    const isa::ArchInfo& arch = isa::info(GetParam());
    Gpu gpu(GetParam());
    auto module = gpu.load(compile_hip(kProduct, "-O3", arch.name));
    ASSERT_TRUE(module) << module.error().message;
    // Quarters: every product and sum is exact.
    std::vector<uint16_t> a(kSize * kSize), b(a.size());
    std::vector<double> a_value(a.size()), b_value(a.size());
    auto fill = [](std::vector<uint16_t>& bits, std::vector<double>& values, unsigned step) {
        for (size_t i = 0; i < bits.size(); ++i) {
            const int quarters = static_cast<int>(i * step % 61) - 30;
            values[i] = quarters / 4.0;
            const auto half = static_cast<_Float16>(values[i]);
            memcpy(&bits[i], &half, sizeof half);
        }
    };
    fill(a, a_value, 7);
    fill(b, b_value, 11);
    Buffer<uint16_t> in_a(gpu, a), in_b(gpu, b);
    Buffer<float> out(gpu, static_cast<size_t>(kSize * kSize));
    const uint32_t lanes = static_cast<uint32_t>(arch.wave_size), tiles = lanes == 64 ? 2 : 4;
    auto stats = gpu.launch(**module, "product", config({tiles, tiles, 1}, {lanes, 1, 1}),
                            (Arguments() << out << in_a << in_b).bytes());
    ASSERT_TRUE(stats) << stats.error().message;
    // gfx1100 loses a unit of the sum's 26th binary digit with every product of another sign (vector/dot.h).
    const double off = GetParam() == isa::Arch::gfx1100 ? kSize * 0x1p-16 : 0;
    const std::vector<float> c = out.values();
    for (size_t i = 0; i < kSize; ++i)
        for (size_t j = 0; j < kSize; ++j) {
            double sum = 0;
            for (size_t k = 0; k < kSize; ++k) sum += a_value[i * kSize + k] * b_value[j * kSize + k];
            ASSERT_NEAR(c[i * kSize + j], sum, off) << i << ", " << j;
        }
}

std::string arch_name(const ::testing::TestParamInfo<isa::Arch>& info) {
    return std::string(isa::info(info.param).name);
}
INSTANTIATE_TEST_SUITE_P(Archs, MatrixKernel,
                         ::testing::Values(isa::Arch::gfx1100, isa::Arch::gfx1201, isa::Arch::gfx942,
                                           isa::Arch::gfx90a),
                         arch_name);

}  // namespace
}  // namespace strata::emu
