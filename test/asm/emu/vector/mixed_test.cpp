#include <bit>

#include "../one_wave.h"
#include "reference.h"

// Multiply-adds of singles whose result is a half: where the single nearest to the sum is a tie of halves, but the sum
// is not.
namespace strata::emu::harness {
namespace {

using reference::half_value;

struct Mixed {
    const char* text;
    int shift;  ///< of the result in v3
    bool to_zero;
};

class MixedSums : public OneWave, public ::testing::WithParamInterface<Mixed> {
  protected:
    MixedSums() : OneWave(isa::Arch::gfx1100, 32) {}
};

TEST_P(MixedSums, AreRoundedOnce) {
    const Code code = assembled(GetParam().text);
    const float tiny[] = {0x1p-120f, -0x1p-120f, 0};
    for (uint32_t first = 0; first < 0x7bff; first += 31)
        for (const float addend : tiny) {
            set_row(0, [](int) { return std::bit_cast<uint32_t>(1.0f); });
            set_row(4, [](int) { return 0x3c00u; });
            set_row(2, [&](int) { return std::bit_cast<uint32_t>(addend); });
            set_row(1, [&](int lane) {
                const uint32_t half = first + static_cast<uint32_t>(lane);
                return std::bit_cast<uint32_t>(static_cast<float>((half_value(half) + half_value(half + 1)) / 2));
            });
            set_row(3, [](int) { return 0x12345678u; });
            run(code);
            for (int lane = 0; lane < 32; ++lane) {
                const uint32_t half = first + static_cast<uint32_t>(lane);
                if (half >= 0x7bff) continue;
                const bool up = addend == 0 ? half & 1 : addend > 0;
                const uint32_t want = half + (up && !GetParam().to_zero ? 1 : 0),
                               rest = 0xffffu << (16 - GetParam().shift);
                ASSERT_EQ(v(3, lane), (0x12345678u & rest) | want << GetParam().shift)
                    << std::hex << "between " << half << " and the next one, and " << addend;
            }
        }
}
INSTANTIATE_TEST_SUITE_P(Instructions, MixedSums,
                         ::testing::Values(Mixed{"v_fma_mixlo_f16 v3, v0, v1, v2", 0, false},
                                           Mixed{"v_fma_mixhi_f16 v3, v0, v1, v2", 16, false},
                                           Mixed{"v_interp_p2_f16_f32 v3, v4, v1, v2 wait_exp:7", 0, false},
                                           Mixed{"v_interp_p2_rtz_f16_f32 v3, v4, v1, v2 op_sel:[0,0,0,1] wait_exp:7",
                                                 16, true}));

}  // namespace
}  // namespace strata::emu::harness
