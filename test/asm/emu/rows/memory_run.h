#pragma once
#include "memory_model.h"
#include "scalar_harness.h"

// A wave with registers, memory, local and private memory whose expected state a model changes beside it.
namespace strata::emu::harness {

class MemoryRun {
  public:
    static constexpr int kRows = 40, kAddress = 0, kData = 4, kSecond = 8, kResult = 16, kZero = 20, kSpare = 24;
    static constexpr uint64_t kMapped = 0x40000000;
    static constexpr size_t kBytes = 4096, kLocal = 4096;

    MemoryRun(isa::Arch arch, uint64_t seed)
        : scalars(arch, isa::info(arch).wave_size), values(seed), memory(kBytes), local(kLocal) {
        wave.wave_size = lanes();
        wave.vgpr.resize(static_cast<size_t>(kRows * lanes()));
        for (uint32_t& v : wave.vgpr) v = values.any32();
        for (int lane = 0; lane < lanes(); ++lane) v(kZero, lane) = 0;
        for (uint32_t& s : wave.sgpr) s = values.any32();
        fill(memory), fill(local);
        const uint64_t all = lanes() == 32 ? 0xffffffffull : ~0ull;
        const uint64_t random = values.any64() * 0x9e3779b97f4a7c15ull;
        // Wave-wide most times; some lanes, one, none.
        const uint64_t masks[] = {all, all, random, 1ull << values.below(static_cast<uint32_t>(lanes())), 0};
        wave.exec = masks[values.below(16) ? values.below(4) : 4] & all;
    }
    int lanes() const { return isa::info(scalars.arch()).wave_size; }
    bool active(int lane) const { return wave.exec >> lane & 1; }
    uint32_t& v(int row, int lane) { return wave.vgpr[static_cast<size_t>(row * lanes() + lane)]; }
    void set64(int row, int lane, uint64_t value) {
        v(row, lane) = static_cast<uint32_t>(value), v(row + 1, lane) = static_cast<uint32_t>(value >> 32);
    }
    void set_pair(size_t at, uint64_t value) {
        wave.sgpr[at] = static_cast<uint32_t>(value), wave.sgpr[at + 1] = static_cast<uint32_t>(value >> 32);
    }
    /// Memory and data of atomics. Floats have near exponents, so that sums are exact enough to be the same everywhere.
    /// Compared ones include some quiet NaN.
    void make_numbers(char type, int bytes, bool compared = false) {
        if (std::string_view("fhn").find(type) == std::string_view::npos) return;
        auto number = [&](uint32_t r, bool top) -> uint32_t {
            if (type == 'h') return 0x3c003c00u ^ (r & 0x8fff8fffu);
            if (type == 'n') return 0x3f803f80u ^ (r & 0x83ff83ffu);
            if (compared && type == 'f' && r >> 16 & 1 && r >> 18 & 1 && r >> 20 & 1)
                return bytes == 4 ? 0x7fc00000u : top ? 0x7ff80000u : r;
            if (bytes == 8) return top ? 0x3ff00000u ^ (r & 0x807fffffu) : r;
            return 0x3f800000u ^ (r & 0x83ffffffu);
        };
        for (std::vector<uint8_t>* all : {&memory, &local})
            for (size_t at = 0; at < all->size(); at += 4) {
                const uint32_t value = number(values.any32() * 2654435761u, at & 4);
                memcpy(all->data() + at, &value, 4);
            }
        for (int row = kData; row < kResult; ++row)
            for (int lane = 0; lane < lanes(); ++lane) v(row, lane) = number(v(row, lane) * 2654435761u, row & 1);
    }
    /// Offsets of the lanes' accesses of `size` bytes below `limit`: side by side, apart, backward, equal or anywhere.
    std::vector<uint32_t> offsets(uint32_t size, uint32_t align, uint32_t limit) {
        const uint32_t pattern = values.below(6);
        std::vector<uint32_t> all(static_cast<size_t>(lanes()));
        const uint32_t step = size < align ? align : size;
        const uint32_t start = values.below(8) * align;
        for (uint32_t lane = 0; lane < all.size(); ++lane) {
            uint32_t at = start + lane * step;
            if (pattern == 1) at = start + lane * step * 2;
            if (pattern == 2) at = start + (static_cast<uint32_t>(all.size()) - 1 - lane) * step;
            if (pattern == 3) at = start;
            if (pattern >= 4) at = values.below((limit - size) / step + 1) * step;
            all[lane] = at % limit + size <= limit ? at % limit : start;
        }
        return all;
    }
    Lane lane_of(std::vector<uint32_t>& registers, int lane) {
        return [&registers, lane, this](int row) -> uint32_t& {
            return registers[static_cast<size_t>(row * lanes() + lane)];
        };
    }
    /// Runs `code`: wave.vgpr, memory and wave.lds become what it makes of them.
    void run(std::vector<isa::Inst> code, const std::string& what) {
        code.push_back(scalars.make("s_endpgm"));
        const auto words = scalars.words(code);
        wave.memory = {{kMapped, memory}};
        wave.lds = local;
        auto done = run_wave(scalars.arch(), {reinterpret_cast<const uint8_t*>(words.data()), words.size() * 4}, wave);
        ASSERT_TRUE(done) << what << ": " << done.error().message;
    }
    /// Runs `code` and compares registers, memory and local memory with what the model made of copies of them.
    void compare(std::vector<isa::Inst> code, const std::vector<uint32_t>& registers, const std::vector<uint8_t>& bytes,
                 const std::vector<uint8_t>& local_bytes, const std::string& what) {
        ASSERT_NO_FATAL_FAILURE(run(std::move(code), what));
        for (size_t i = 0; i < registers.size(); ++i)
            if (wave.vgpr[i] != registers[i])
                FAIL() << what << ": v" << i / static_cast<size_t>(lanes()) << " of lane "
                       << i % static_cast<size_t>(lanes()) << std::hex << " is 0x" << wave.vgpr[i] << ", not 0x"
                       << registers[i] << ", exec 0x" << wave.exec;
        same(memory, bytes, what + ": byte ");
        same(wave.lds, local_bytes, what + ": local byte ");
    }

    static void same(const std::vector<uint8_t>& got, const std::vector<uint8_t>& want, const std::string& what) {
        ASSERT_EQ(got.size(), want.size()) << what;
        const auto at = std::mismatch(got.begin(), got.end(), want.begin()).first - got.begin();
        ASSERT_EQ(static_cast<size_t>(at), got.size()) << what << at << " differs";
    }

    ScalarRun scalars;
    ScalarValues values;
    WaveRun wave;
    std::vector<uint8_t> memory, local;

  private:
    void fill(std::vector<uint8_t>& all) {
        for (size_t at = 0; at < all.size(); at += 4) {
            const uint32_t value = values.any32();
            memcpy(all.data() + at, &value, 4);
        }
    }
};

/// The model's state after the instruction.
struct Expected {
    std::vector<uint32_t> registers;
    std::vector<uint8_t> memory, local;
};

inline isa::Operand vector(int row, isa::Type type) { return {static_cast<uint16_t>(isa::code::vgpr0 + row), type}; }
inline isa::Operand scalar_pair(int number, isa::Type type) { return {static_cast<uint16_t>(number), type}; }

/// Half of the comparisons of compare-and-swap meet what is in memory.
inline void meet(MemoryRun& m, const Access& a, const std::vector<uint32_t>& at, const std::vector<uint8_t>& bytes,
                 int second) {
    if (a.op != "cmpswap") return;
    const int row = a.compare_first ? MemoryRun::kData : second;
    for (int lane = 0; lane < m.lanes(); ++lane) {
        if (m.values.below(2)) continue;
        uint64_t value = 0;
        memcpy(&value, bytes.data() + at[static_cast<size_t>(lane)], static_cast<size_t>(a.bytes));
        m.v(row, lane) = static_cast<uint32_t>(value);
        if (a.bytes == 8) m.v(row + 1, lane) = static_cast<uint32_t>(value >> 32);
    }
}

}  // namespace strata::emu::harness
