#include "../kernel.h"
#include "harness.h"

// Global wave sync between the waves of a workgroup (RDNA3 ISA 12, CDNA3 ISA 11: "GWS").
namespace strata::emu::harness {
namespace {

class GlobalSync : public ::testing::TestWithParam<isa::Arch> {};
INSTANTIATE_TEST_SUITE_P(Archs, GlobalSync, ::testing::Values(isa::Arch::gfx1100, isa::Arch::gfx942, isa::Arch::gfx90a),
                         [](const auto& param) { return std::string(isa::info(param.param).name); });

TEST_P(GlobalSync, ABulkReleaseLetsAsManyWavesPassAsTheFirstActiveLaneSays) {
    for (int passes : {3, 4}) {
        MemoryWave m(GetParam());
        m.set(0, [](int lane) { return lane == 5 ? 3 : 100; });
        m.wave.exec = 0xe0;
        m.wave.m0 = 2u << 16;  // added to the offset
        m.wave.max_instructions = 1000;
        std::string text = "ds_gws_sema_br v0 offset:1 gds";
        for (int i = 0; i < passes; ++i) text += "\nds_gws_sema_p offset:1 gds";
        EXPECT_EQ(static_cast<bool>(m.attempt(text)), passes == 3);
    }
}

// Wave 0 lets the waiting ones pass until all have signalled that they did.
TEST_P(GlobalSync, ReleasingAllLetsEveryWaitingWavePass) {
    Gpu gpu(GetParam());
    const std::string source = R"hip(KERNEL void sync_all(uint* out) {
        const uint wave = TX / WAVE;
        if (wave) {
            asm volatile("ds_gws_sema_p offset:7 gds\n s_waitcnt lgkmcnt(0)" ::: "memory");
            if (TX % WAVE == 0) __atomic_fetch_add(out, 1u, __ATOMIC_RELAXED);
        } else {
            while (__atomic_load_n(out, __ATOMIC_RELAXED) != 3)
                asm volatile("ds_gws_sema_release_all offset:7 gds\n s_waitcnt lgkmcnt(0)" ::: "memory");
        }
        if (TX % WAVE == 0) out[1 + wave] = 10 + wave;
    })hip";
    const auto wave_size = static_cast<uint32_t>(isa::info(GetParam()).wave_size);
    const auto code = compile_hip(source, "-O2 -DWAVE=" + std::to_string(wave_size), isa::info(GetParam()).name);
    Buffer<uint32_t> out(gpu, 5);
    auto module = gpu.load(code);
    ASSERT_TRUE(module) << module.error().message;
    auto done =
        gpu.launch(**module, "sync_all", config({1, 1, 1}, {4 * wave_size, 1, 1}), (Arguments() << out).bytes());
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(out.values(), (std::vector<uint32_t>{3, 10, 11, 12, 13}));
}

}  // namespace
}  // namespace strata::emu::harness
