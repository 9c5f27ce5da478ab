#include <optional>

#include "harness.h"

// Buffers without swizzle, whose lanes the emulator moves together: ranges that end among them, memory that ends before
// the range does. The rules: CDNA3 ISA 9.1 and RDNA3 ISA 9.1, "Range Checking".
namespace strata::emu::harness {
namespace {

using isa::Arch;

struct Move {
    const char *rdna, *cdna;
    uint32_t bytes;
};
constexpr Move kLoads[] = {{"u8", "ubyte", 1},     {"d16_hi_b16", "short_d16_hi", 2},
                           {"b32", "dword", 4},    {"b64", "dwordx2", 8},
                           {"b96", "dwordx3", 12}, {"b128", "dwordx4", 16}};
constexpr Move kStores[] = {{"b8", "byte", 1},
                            {"d16_hi_b16", "short_d16_hi", 2},
                            {"b32", "dword", 4},
                            {"b96", "dwordx3", 12},
                            {"b128", "dwordx4", 16}};

/// How the lanes' offsets lie: side by side, apart, all the same, half of them far beyond everything.
constexpr int kPatterns = 4;
uint32_t offset_of(int pattern, int lane, uint32_t bytes) {
    const auto n = static_cast<uint32_t>(lane);
    if (pattern == 0) return n * bytes;
    if (pattern == 1) return n * 37 % 64 * bytes + n % 4;
    if (pattern == 2) return 3 * bytes;
    return n % 3 == 1 ? 0x80000000u : n * bytes;
}

class LinearBuffers : public ::testing::TestWithParam<WaveShape> {
  protected:
    static constexpr uint32_t kImm = 8, kSoffset = 32, kStart = kImm + kSoffset;
    /// Every pattern has its offsets in v[20 + pattern] and its data in four registers from v[4 + 4 * pattern] on.
    MemoryWave prepared(uint32_t records, uint64_t exec, uint32_t bytes) {
        MemoryWave m(GetParam().arch, 4096, GetParam().lanes);
        m.wave.exec &= exec;
        m.resource(0, records, m.gfx9() ? 4u << 15 : 3u << 28 | 20u << 12);
        m.wave.sgpr[4] = kSoffset;
        for (int pattern = 0; pattern < kPatterns; ++pattern)
            m.set(20 + pattern, [&](int lane) { return offset_of(pattern, lane, bytes); });
        for (int v = 4; v < 20; ++v)
            m.set(v, [&](int lane) { return 0x9e3779b9u * static_cast<uint32_t>(lane * 16 + v); });
        return m;
    }
    /// Place in memory of `bytes` bytes at `at` of a lane's item; nothing out of range.
    static std::optional<uint64_t> place(MemoryWave& m, uint32_t records, int pattern, int lane, uint32_t at,
                                         uint32_t bytes) {
        const uint64_t offset = uint64_t{m.v(20 + pattern, lane)} + kStart + at;
        const uint32_t unchecked = m.gfx9() ? kSoffset : 0;  // CDNA3 ISA 9.1.5
        return offset + bytes <= records + unchecked ? std::optional(offset) : std::nullopt;
    }
    static std::string text(MemoryWave& m, const char* verb, const Move& move, int pattern) {
        const int first = 4 + 4 * pattern, last = first + static_cast<int>(move.bytes / 4) - 1;
        const std::string data = move.bytes <= 4 ? "v" + std::to_string(first)
                                                 : "v[" + std::to_string(first) + ":" + std::to_string(last) + "]";
        return std::string("buffer_") + verb + (m.gfx9() ? move.cdna : move.rdna) + " " + data + ", v" +
               std::to_string(20 + pattern) + ", s[8:11], s4 offen offset:" + std::to_string(kImm) + "\n";
    }
    static std::vector<uint32_t> ends(uint32_t bytes) {
        std::vector<uint32_t> all = {0, 5, kStart, kStart + bytes - 1, 4000};
        for (uint32_t cut : {0u, 1u, 3u, 4u, 7u, 12u}) all.push_back(kStart + 17 * bytes + cut);
        return all;
    }
    /// Another one each time.
    uint64_t next_mask() {
        constexpr uint64_t kMasks[] = {~0ull, 0xfffffffefffffffe, ~0ull, 0x00ff00f1'0f0f0ff0, 1ull << 7, 0};
        return kMasks[masks_++ % 6];
    }

  private:
    size_t masks_ = 0;
};

TEST_P(LinearBuffers, Load0FromTheEndOfTheRangeOn) {
    for (const Move& load : kLoads)
        for (const uint32_t records : ends(load.bytes)) {
            MemoryWave m = prepared(records, next_mask(), load.bytes);
            std::string code;
            std::vector<uint32_t> want;
            for (int pattern = 0; pattern < kPatterns; ++pattern) {
                code += text(m, "load_", load, pattern);
                for (uint32_t row = 0; row < 4; ++row)
                    for (int lane = 0; lane < m.lanes; ++lane) {
                        want.push_back(m.v(4 + 4 * pattern + static_cast<int>(row), lane));
                        if (!m.active(lane) || 4 * row >= load.bytes) continue;
                        const uint32_t bytes = std::min(load.bytes, 4u);
                        uint32_t data = 0;
                        if (const auto at = place(m, records, pattern, lane, 4 * row, bytes))
                            memcpy(&data, m.memory.data() + *at, bytes);
                        want.back() = bytes == 2 ? (want.back() & 0xffff) | data << 16 : data;
                    }
            }
            m.run(code);
            for (size_t i = 0; i < want.size(); ++i)
                ASSERT_EQ(m.wave.vgpr[static_cast<size_t>(4 * m.lanes) + i], want[i])
                    << load.rdna << " records " << records << " exec " << m.wave.exec << " v"
                    << 4 + i / static_cast<size_t>(m.lanes) << " lane " << i % static_cast<size_t>(m.lanes);
        }
}

TEST_P(LinearBuffers, StoreNothingFromTheEndOfTheRangeOn) {
    for (const Move& store : kStores)
        for (const uint32_t records : ends(store.bytes))
            for (int pattern = 0; pattern < kPatterns; ++pattern) {
                MemoryWave m = prepared(records, next_mask(), store.bytes);
                std::vector<uint8_t> want = m.memory;
                for (int lane = 0; lane < m.lanes; ++lane)  // of lanes at one place the last one wins
                    for (uint32_t at = 0; at < store.bytes && m.active(lane); at += 4) {
                        const uint32_t bytes = std::min(store.bytes, 4u);
                        uint32_t data = m.v(4 + 4 * pattern + static_cast<int>(at / 4), lane);
                        if (bytes == 2) data >>= 16;
                        if (const auto to = place(m, records, pattern, lane, at, bytes))
                            memcpy(&want[*to], &data, bytes);
                    }
                m.run(text(m, "store_", store, pattern));
                ASSERT_EQ(m.memory, want) << store.rdna << " records " << records << " pattern " << pattern;
            }
}

TEST_P(LinearBuffers, FaultWhereMemoryEndsBeforeTheRange) {
    for (const char* verb : {"load_", "store_"})
        for (const int pattern : {0, 1}) {
            MemoryWave m = prepared(1u << 20, pattern == 0 ? ~0ull : ~0ull << 5 & ~(1ull << 9), 16);
            const uint32_t end = 16 * 20 + 4;
            m.wave.memory[0].bytes = std::span(m.memory).first(kStart + end);
            int first = 0;
            while (!m.active(first) || m.v(20 + pattern, first) + 16 <= end) ++first;
            const auto result = m.attempt(text(m, verb, {"b128", "dwordx4", 16}, pattern));
            ASSERT_FALSE(result);
            const std::string who = "lane " + std::to_string(first) + " ";
            EXPECT_NE(result.error().message.find(who), std::string::npos) << who << result.error().message;
        }
}

/// 16 bytes an index lead past 4 GiB.
TEST_P(LinearBuffers, OfLargeIndicesDoNotWrap) {
    constexpr uint64_t kFar = 1ull << 40;
    MemoryWave m(GetParam().arch, 4096, GetParam().lanes);
    std::vector<uint8_t> wrong(4096, 0x77);  // where a wrapped offset would lead
    m.wave.memory[0].address = kFar;
    m.wave.memory.push_back({kFar - (1ull << 32), wrong});
    m.resource(16, ~0u, m.gfx9() ? 4u << 15 : 20u << 12, kFar - (1ull << 32));
    m.set(0, [](int lane) { return 0x10000000u + static_cast<uint32_t>(lane); });
    m.run(std::string("buffer_load_") + (m.gfx9() ? "dword" : "b32") + " v4, v0, s[8:11], s4 idxen");
    for (int lane = 0; lane < m.lanes; ++lane)
        ASSERT_EQ(m.v(4, lane), m.at<uint32_t>(16 * static_cast<size_t>(lane))) << lane;
}

INSTANTIATE_TEST_SUITE_P(Shapes, LinearBuffers, ::testing::ValuesIn(wave_shapes()), wave_shape_name);

}  // namespace
}  // namespace strata::emu::harness
