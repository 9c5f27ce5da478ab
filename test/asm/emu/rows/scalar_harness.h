#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "strata/asm/emu/run_wave.h"
#include "strata/asm/isa/inst.h"

// One wave's scalar state, instructions built from rows, and runs of them.
namespace strata::emu::harness {

/// Registers that scalar instructions see. `s` is indexed by operand code: 106 is VCC, 125 M0, 126 EXEC.
struct ScalarState {
    std::array<uint32_t, 128> s{};
    bool scc = false;
    uint32_t mode = 0xf0;
    uint64_t pair(size_t at) const { return s[at] | uint64_t{s[at + 1]} << 32; }
    void set_pair(size_t at, uint64_t value) {
        s[at] = static_cast<uint32_t>(value);
        s[at + 1] = static_cast<uint32_t>(value >> 32);
    }
};

class ScalarRun {
  public:
    ScalarRun(isa::Arch arch, int lanes) : arch_(arch), lanes_(lanes) {}
    isa::Arch arch() const { return arch_; }
    isa::Family family() const { return isa::info(arch_).family; }
    int lanes() const { return lanes_; }
    bool cdna() const { return family() == isa::Family::cdna2 || family() == isa::Family::cdna3; }
    /// SGPRs that nothing else uses (CDNA has FLAT_SCRATCH and XNACK_MASK from 102).
    int registers() const { return cdna() ? 102 : 106; }

    isa::Inst make(const isa::Row& row) const {
        isa::Inst inst;
        inst.row = &row;
        inst.encoding = row.format;
        return inst;
    }
    isa::Inst make(std::string_view mnemonic) const {
        const isa::Row* row = isa::find_row(family(), mnemonic);
        EXPECT_NE(row, nullptr) << mnemonic;
        return make(*row);
    }
    std::vector<uint32_t> words(const std::vector<isa::Inst>& code) const {
        std::vector<uint32_t> all;
        for (const isa::Inst& inst : code) {
            auto bytes = isa::encode(arch_, inst);
            EXPECT_TRUE(bytes) << inst.row->mnemonic << ": " << (bytes ? "" : bytes.error().message);
            if (bytes) all.insert(all.end(), bytes->words.begin(), bytes->words.begin() + bytes->count);
        }
        return all;
    }
    /// Runs the instructions and s_endpgm; `state` becomes the state at the end, `pc` the place of the last
    /// instruction.
    Result<void> run(const std::vector<uint32_t>& code, ScalarState& state) {
        WaveRun wave;
        wave.wave_size = lanes_;
        std::copy_n(state.s.begin(), wave.sgpr.size(), wave.sgpr.begin());
        wave.vcc = state.pair(106), wave.exec = state.pair(126);
        wave.m0 = state.s[125], wave.scc = state.scc, wave.mode = state.mode;
        auto done = run_wave(arch_, {reinterpret_cast<const uint8_t*>(code.data()), code.size() * 4}, wave);
        std::copy_n(wave.sgpr.begin(), wave.sgpr.size(), state.s.begin());
        state.set_pair(106, wave.vcc), state.set_pair(126, wave.exec);
        state.s[125] = wave.m0, state.scc = wave.scc, state.mode = wave.mode;
        pc = wave.pc;
        return done;
    }
    Result<void> run(std::vector<isa::Inst> code, ScalarState& state) {
        code.push_back(make("s_endpgm"));
        return run(words(code), state);
    }
    /// Names the first register that differs, empty when none does.
    std::string difference(const ScalarState& got, const ScalarState& want) const {
        auto differs = [&](size_t i) { return got.s[i] != want.s[i]; };
        auto say = [&](const std::string& name, uint32_t a, uint32_t b) {
            char text[80];
            snprintf(text, sizeof text, "%s is 0x%08x, not 0x%08x", name.c_str(), a, b);
            return std::string(text);
        };
        for (size_t i = 0; i < static_cast<size_t>(registers()); ++i)
            if (differs(i)) return say("s" + std::to_string(i), got.s[i], want.s[i]);
        const size_t wide = lanes_ == 64 ? 2 : 1;  // in wave32 the high halves are not part of the result
        for (size_t i = 0; i < wide; ++i) {
            if (differs(106 + i)) return say("vcc", got.s[106 + i], want.s[106 + i]);
            if (differs(126 + i)) return say("exec", got.s[126 + i], want.s[126 + i]);
        }
        if (differs(125)) return say("m0", got.s[125], want.s[125]);
        if (got.scc != want.scc) return say("scc", got.scc, want.scc);
        return {};
    }

    uint64_t pc = 0;

  private:
    isa::Arch arch_;
    int lanes_;
};

/// Numbers that meet the limits of integers, shifts, halves and floats, and random ones.
class ScalarValues {
  public:
    explicit ScalarValues(uint64_t seed) : random_(seed) {}
    uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }
    bool one_in(uint32_t n) { return below(n) == 0; }
    uint32_t any32() {
        static constexpr uint32_t kExtremes[] = {
            0,          1,          2,          ~0u,        0x7fffffff, 0x80000000, 0x80000001, 0xffff,     0x10000,
            0xffff0000, 31,         32,         33,         63,         64,         0x00080004, 0x00200000, 0x001f001f,
            0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0xffc12345, 0x00000001, 0x007fffff,
            0x00800000, 0x80800000, 0x7f7fffff, 0x3f000000, 0x40200000, 0xc0200000, 0x3effffff, 0x4f000000, 0xcf000000,
            0x4f800000, 0x477fe000, 0x477ff000, 0x33000000, 0x33000001, 0x387fc000, 0x3c00,     0xbc00,     0x7c00,
            0xfc00,     0x7c01,     0x7e12,     0x8001,     0x03ff,     0x0400,     0x7bff,     0x8000,     0x3e00};
        const uint32_t kind = below(8);
        if (kind < 4) return kExtremes[below(std::size(kExtremes))];
        if (kind == 4) return random32() >> below(32);
        if (kind == 5) return 0x3c003c00u ^ (random32() & 0x8fff8fffu);  // halves near 1
        if (kind == 6) return 0x3f800000u ^ (random32() & 0x80ffffffu);  // floats near 1
        return random32();
    }
    uint64_t any64() {
        const uint64_t low = any32();
        switch (below(4)) {
            case 0: return low;
            case 1: return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(low)));
            default: return low | uint64_t{any32()} << 32;
        }
    }
    ScalarState state(int registers) {
        ScalarState all;
        for (size_t i = 0; i < static_cast<size_t>(registers); ++i) all.s[i] = any32();
        for (size_t i : {106u, 107u, 125u, 126u, 127u}) all.s[i] = any32();
        all.scc = below(2);
        return all;
    }

  private:
    uint32_t random32() { return static_cast<uint32_t>(random_() >> 16); }
    std::mt19937_64 random_;
};

}  // namespace strata::emu::harness
