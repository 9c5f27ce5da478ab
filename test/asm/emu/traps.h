#pragma once
#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "strata/asm/emu/run_wave.h"
#include "strata/asm/llvm/assemble.h"

namespace strata::emu {

constexpr uint32_t kPlain = 0xf0, kDx10Clamp = 0x100, kIeee = 0x200, kFp16Ovfl = 1u << 23;
constexpr uint32_t kFlush32 = 0xc0, kFlush16And64 = 0x30, kUp32 = 1, kUp16And64 = 4;
constexpr uint32_t kOne = 0x3f800000, kNan = 0x7fc00000, kSignalingNan = 0x7f800001, kInfinity = 0x7f800000;

inline uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }

class Traps : public testing::TestWithParam<int> {
  protected:
    WaveRun wave;
    const int lanes = GetParam();

    void SetUp() override {
        if (!isa::llvm_available()) GTEST_SKIP() << "needs libLLVM 19 to assemble";
        wave.wave_size = lanes;
        wave.vgpr.resize(static_cast<size_t>(256 * lanes));
        wave.exec = full();
    }
    uint64_t full() const { return lanes == 32 ? 0xffffffffull : ~0ull; }
    std::string vcc() const { return lanes == 32 ? "vcc_lo" : "vcc"; }
    std::string mask(int sgpr) const {
        return lanes == 32 ? "s" + std::to_string(sgpr)
                           : "s[" + std::to_string(sgpr) + ":" + std::to_string(sgpr + 1) + "]";
    }
    uint32_t& v(int reg, int lane = 5) { return wave.vgpr[static_cast<size_t>(reg * lanes + lane)]; }
    void set(int reg, uint32_t x) {
        for (int lane = 0; lane < lanes; ++lane) v(reg, lane) = x;
    }
    void set64(int reg, double x) {
        set(reg, static_cast<uint32_t>(std::bit_cast<uint64_t>(x)));
        set(reg + 1, static_cast<uint32_t>(std::bit_cast<uint64_t>(x) >> 32));
    }
    uint64_t v64(int reg) { return v(reg) | uint64_t{v(reg + 1)} << 32; }
    void run(const std::string& text) {
        auto words = isa::assemble_instructions(text + "\ns_endpgm", isa::Arch::gfx1100, lanes);
        ASSERT_TRUE(words) << words.error().message;
        auto done =
            run_wave(isa::Arch::gfx1100, {reinterpret_cast<const uint8_t*>(words->data()), words->size() * 4}, wave);
        ASSERT_TRUE(done) << text << ": " << done.error().message;
    }
    /// The dword that one instruction with destination v8 leaves there, from 0xdeadbeef.
    uint32_t result(const std::string& text, uint32_t mode = kPlain) {
        set(8, 0xdeadbeef), set(9, 0xdeadbeef);
        wave.mode = mode;
        run(text);
        return v(8);
    }
};

}  // namespace strata::emu
