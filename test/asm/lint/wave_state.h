#pragma once
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "strata/asm/emu/run_wave.h"
#include "strata/asm/isa/inst.h"
#include "strata/asm/lint/access.h"

// All registers and memory of a wave as one instruction finds and leaves them, by the numbers of lint::Registers.
namespace strata::lint::harness {

/// Splitmix: cheap numbers for many registers.
class Numbers {
  public:
    explicit Numbers(uint64_t seed) : state_(seed) {}
    uint64_t next() {
        uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        return z ^ z >> 31;
    }
    uint32_t next32() { return static_cast<uint32_t>(next() >> 16); }
    uint32_t below(uint32_t count) { return next32() % count; }
    /// A number that arithmetic tells from others: small integers, reals of near exponents, anything.
    uint32_t value() {
        const uint32_t bits = next32();
        switch (next32() & 3) {
            case 0: return bits & 63;
            case 1: return 0x3f803f80 ^ (bits & 0x81ff83ff);
            default: return bits;
        }
    }

  private:
    uint64_t state_;
};

constexpr uint64_t kMapped = 0x40000000;
constexpr uint16_t kScalars = 106;

struct WaveState {
    emu::WaveRun wave;
    std::vector<uint8_t> memory;

    size_t lanes() const { return static_cast<size_t>(wave.wave_size); }
    uint32_t& vector(uint16_t number, size_t lane) {
        return wave.vgpr[static_cast<size_t>(number - kVectors) * lanes() + lane];
    }
    bool active(size_t lane) const { return wave.exec >> lane & 1; }

    /// A register that is not a vector's; those that run_wave() does not give (trap registers, null) are 0.
    uint32_t scalar(uint16_t number) const {
        namespace code = isa::code;
        if (number < kScalars) return wave.sgpr[number];
        switch (number) {
            case code::vcc_lo: return static_cast<uint32_t>(wave.vcc);
            case code::vcc_hi: return static_cast<uint32_t>(wave.vcc >> 32);
            case code::exec_lo: return static_cast<uint32_t>(wave.exec);
            case code::exec_hi: return static_cast<uint32_t>(wave.exec >> 32);
            case code::m0: return wave.m0;
            case kScc: return wave.scc;
            default: return 0;
        }
    }
    void set_scalar(uint16_t number, uint32_t value) {
        namespace code = isa::code;
        auto half = [&](uint64_t& pair, bool high) {
            pair = high ? (pair & 0xffffffff) | uint64_t{value} << 32 : (pair & ~uint64_t{0xffffffff}) | value;
        };
        if (number < kScalars) wave.sgpr[number] = value;
        if (number == code::vcc_lo || (number == code::vcc_hi && lanes() == 64))  // the result has the mask only
            half(wave.vcc, number == code::vcc_hi);
        if (number == code::exec_lo || (number == code::exec_hi && lanes() == 64))
            half(wave.exec, number == code::exec_hi);
        if (number == code::m0) wave.m0 = value;
        if (number == kScc) wave.scc = value & 1;
    }

    Result<void> run(isa::Arch arch, const std::vector<uint32_t>& words) {
        wave.memory = {{kMapped, memory}};
        return emu::run_wave(arch, {reinterpret_cast<const uint8_t*>(words.data()), words.size() * 4}, wave);
    }
};

inline std::vector<uint16_t> scalar_numbers() {
    std::vector<uint16_t> all;
    for (uint16_t number = 0; number < kScalars; ++number) all.push_back(number);
    for (uint16_t number :
         {isa::code::vcc_lo, isa::code::vcc_hi, isa::code::exec_lo, isa::code::exec_hi, isa::code::m0})
        all.push_back(number);
    all.push_back(kScc);
    return all;
}

inline WaveState any_state(isa::Arch arch, int wave_size, uint64_t seed) {
    Numbers numbers(seed);
    WaveState state;
    state.wave.wave_size = wave_size;
    state.wave.vgpr.resize(static_cast<size_t>(isa::info(arch).max_vgprs * wave_size));
    for (uint32_t& v : state.wave.vgpr) v = numbers.value();
    for (uint16_t number : scalar_numbers()) state.set_scalar(number, numbers.value());
    state.wave.exec = (numbers.next() | 1ull << numbers.below(static_cast<uint32_t>(wave_size))) &
                      (wave_size == 64 ? ~0ull : 0xffffffffull);
    state.wave.scratch = 16384;
    state.wave.lds.resize(65536);
    state.memory.resize(32768);
    for (std::vector<uint8_t>* bytes : {&state.wave.lds, &state.memory})
        for (size_t at = 0; at < bytes->size(); at += 4) {
            const uint32_t value = numbers.value();
            memcpy(bytes->data() + at, &value, 4);
        }
    return state;
}

}  // namespace strata::lint::harness
