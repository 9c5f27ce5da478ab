#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "strata/asm/emu/run_wave.h"
#include "strata/asm/llvm/assemble.h"

// Memory instructions of any arch on one wave with memory mapped at kBase.
namespace strata::emu::harness {

constexpr uint64_t kBase = 0x100000;

/// An architecture and a wave size of it.
struct WaveShape {
    isa::Arch arch;
    int lanes;
};
inline std::vector<WaveShape> wave_shapes() {
    return {{isa::Arch::gfx1100, 32}, {isa::Arch::gfx1201, 64}, {isa::Arch::gfx942, 64}};
}
inline std::string wave_shape_name(const ::testing::TestParamInfo<WaveShape>& info) {
    return std::string(isa::info(info.param.arch).name) + "_wave" + std::to_string(info.param.lanes);
}

struct MemoryWave {
    explicit MemoryWave(isa::Arch arch_, size_t bytes = 4096, int lanes_ = 0)
        : arch(arch_), lanes(lanes_ ? lanes_ : isa::info(arch_).wave_size), memory(bytes) {
        wave.wave_size = lanes;
        wave.vgpr.resize(static_cast<size_t>(isa::info(arch).max_vgprs * lanes));
        wave.exec = lanes == 32 ? 0xffffffffull : ~0ull;
        wave.memory.push_back({kBase, memory});
        std::minstd_rand random(7);
        for (uint8_t& byte : memory) byte = static_cast<uint8_t>(random() >> 8);
    }
    uint32_t& v(int reg, int lane) { return wave.vgpr[static_cast<size_t>(reg * lanes + lane)]; }
    template <class Value>
    void set(int reg, Value value) {
        for (int lane = 0; lane < lanes; ++lane) v(reg, lane) = static_cast<uint32_t>(value(lane));
    }
    /// A pair of registers holds value(lane).
    template <class Value>
    void set64(int reg, Value value) {
        set(reg, [&](int lane) { return static_cast<uint32_t>(value(lane)); });
        set(reg + 1, [&](int lane) { return static_cast<uint32_t>(static_cast<uint64_t>(value(lane)) >> 32); });
    }
    uint64_t v64(int reg, int lane) { return v(reg, lane) | uint64_t{v(reg + 1, lane)} << 32; }
    template <class T>
    T at(size_t offset) const {
        T value;
        memcpy(&value, memory.data() + offset, sizeof value);
        return value;
    }
    template <class T>
    T local(size_t offset) const {
        T value;
        memcpy(&value, wave.lds.data() + offset, sizeof value);
        return value;
    }
    template <class T>
    void put(size_t offset, T value) {
        memcpy(memory.data() + offset, &value, sizeof value);
    }
    template <class T>
    void put_local(size_t offset, T value) {
        memcpy(wave.lds.data() + offset, &value, sizeof value);
    }
    /// A descriptor in s[8:11].
    void resource(uint32_t stride, uint32_t records, uint32_t word3, uint64_t base = kBase, uint32_t swizzle = 0) {
        wave.sgpr[8] = static_cast<uint32_t>(base);
        wave.sgpr[9] = static_cast<uint32_t>(base >> 32) | stride << 16 | swizzle << 30;
        wave.sgpr[10] = records;
        wave.sgpr[11] = word3;
    }
    bool active(int lane) const { return wave.exec >> lane & 1; }
    Result<void> attempt(const std::string& text) {
        auto words = isa::assemble_instructions(text + "\ns_endpgm", arch, lanes);
        EXPECT_TRUE(words) << text << ": " << words.error().message;
        if (!words) return std::move(words.error());
        return run_wave(arch, {reinterpret_cast<const uint8_t*>(words->data()), words->size() * 4}, wave);
    }
    void run(const std::string& text) {
        auto result = attempt(text);
        EXPECT_TRUE(result) << isa::info(arch).name << ": " << text << ": " << result.error().message;
    }
    bool gfx9() const { return arch == isa::Arch::gfx942 || arch == isa::Arch::gfx90a; }

    isa::Arch arch;
    int lanes;
    std::vector<uint8_t> memory;
    WaveRun wave;
};

constexpr isa::Arch kArchs[] = {isa::Arch::gfx1100, isa::Arch::gfx1201, isa::Arch::gfx942, isa::Arch::gfx90a};

}  // namespace strata::emu::harness
