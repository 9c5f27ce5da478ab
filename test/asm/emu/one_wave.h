#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "strata/asm/emu/run_wave.h"
#include "strata/asm/llvm/assemble.h"

// One wave of any arch that runs a few lines of assembly.
namespace strata::emu::harness {

class OneWave : public ::testing::Test {
  protected:
    using Code = std::vector<uint32_t>;

    OneWave(isa::Arch arch_, int lanes_) : arch(arch_), lanes(lanes_) {
        wave.wave_size = lanes;
        wave.vgpr.resize(static_cast<size_t>(isa::info(arch).max_vgprs * lanes));
        wave.exec = lanes == 32 ? 0xffffffffull : ~0ull;
    }
    uint32_t& v(int reg, int lane) { return wave.vgpr[static_cast<size_t>(reg * lanes + lane)]; }
    uint64_t pair(size_t sgpr) const { return wave.sgpr[sgpr] | uint64_t{wave.sgpr[sgpr + 1]} << 32; }
    template <class Value>
    void set_row(int reg, Value value) {
        for (int lane = 0; lane < lanes; ++lane) v(reg, lane) = value(lane);
    }
    Code assembled(const std::string& text) {
        auto words = isa::assemble_instructions(text + "\ns_endpgm", arch, lanes);
        EXPECT_TRUE(words) << text << ": " << words.error().message;
        return words ? *words : Code{};
    }
    Result<void> attempt(const Code& code) {
        return run_wave(arch, {reinterpret_cast<const uint8_t*>(code.data()), code.size() * 4}, wave);
    }
    Result<void> attempt(const std::string& text) { return attempt(assembled(text)); }
    template <class Text>
    void run(const Text& text) {
        auto result = attempt(text);
        EXPECT_TRUE(result) << result.error().message;
    }

    isa::Arch arch;
    int lanes;
    WaveRun wave;
};

/// A wave of 32 or 64 lanes, gfx1100.
class Gfx11Wave : public OneWave, public ::testing::WithParamInterface<int> {
  protected:
    Gfx11Wave() : OneWave(isa::Arch::gfx1100, GetParam()) {}
    uint64_t full() const { return lanes == 32 ? 0xffffffffull : ~0ull; }
    void set_rows(int reg, auto value) {
        set_row(reg, [&](int lane) { return static_cast<uint32_t>(value(lane)); });
    }
};

}  // namespace strata::emu::harness
