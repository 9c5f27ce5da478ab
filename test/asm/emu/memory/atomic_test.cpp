#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "harness.h"

// Atomics of all address spaces against their definitions in the ISA documents.
namespace strata::emu::harness {
namespace {

using isa::Arch;

/// How an arch asks for the old value.
std::string returning(Arch arch) {
    if (arch == Arch::gfx1201) return " th:TH_ATOMIC_RETURN";
    return arch == Arch::gfx942 ? " sc0" : " glc";
}

struct Integer {
    const char *rdna, *cdna, *local;  ///< after global_atomic_ and ds_
    std::function<uint64_t(uint64_t old, uint64_t data, int bits)> result;
};
int64_t extended(uint64_t x, int bits) { return static_cast<int64_t>(x << (64 - bits)) >> (64 - bits); }

const Integer kIntegers[] = {
    {"add_u", "add", "add_rtn_u", [](uint64_t o, uint64_t d, int) { return o + d; }},
    {"sub_u", "sub", "sub_rtn_u", [](uint64_t o, uint64_t d, int) { return o - d; }},
    {"swap_b", "swap", nullptr, [](uint64_t, uint64_t d, int) { return d; }},
    {"min_i", "smin", "min_rtn_i",
     [](uint64_t o, uint64_t d, int b) { return extended(d, b) < extended(o, b) ? d : o; }},
    {"max_i", "smax", "max_rtn_i",
     [](uint64_t o, uint64_t d, int b) { return extended(d, b) > extended(o, b) ? d : o; }},
    {"min_u", "umin", "min_rtn_u", [](uint64_t o, uint64_t d, int) { return d < o ? d : o; }},
    {"max_u", "umax", "max_rtn_u", [](uint64_t o, uint64_t d, int) { return d > o ? d : o; }},
    {"and_b", "and", "and_rtn_b", [](uint64_t o, uint64_t d, int) { return o & d; }},
    {"or_b", "or", "or_rtn_b", [](uint64_t o, uint64_t d, int) { return o | d; }},
    {"xor_b", "xor", "xor_rtn_b", [](uint64_t o, uint64_t d, int) { return o ^ d; }},
    {"inc_u", "inc", "inc_rtn_u", [](uint64_t o, uint64_t d, int) { return o >= d ? 0 : o + 1; }},
    {"dec_u", "dec", "dec_rtn_u", [](uint64_t o, uint64_t d, int) { return o == 0 || o > d ? d : o - 1; }},
};

class Atomics : public ::testing::TestWithParam<Arch> {
  protected:
    Arch arch = GetParam();
    std::string name(const Integer& op, int bits) const {
        const bool gfx9 = arch == Arch::gfx942 || arch == Arch::gfx90a;
        return gfx9 ? op.cdna + std::string(bits == 64 ? "_x2" : "") : op.rdna + std::to_string(bits);
    }
    static uint64_t datum(int lane, int bits) {
        const uint64_t values[] = {0,     1, 0x7fffffffffffffff, 0x8000000000000000,
                                   ~0ull, 5, 0x7fffffff80000000, 0xffffffff};
        const uint64_t value = values[lane % 8];
        return bits == 64 ? value : value & 0xffffffff;
    }
};

template <class T>
void expect_sequence(MemoryWave& m, const Integer& op, const std::vector<uint8_t>& before,
                     const std::vector<uint8_t>& after, const std::string& what, bool returns) {
    constexpr int bits = sizeof(T) * 8;
    std::vector<T> cells(4);
    memcpy(cells.data(), before.data(), sizeof(T) * 4);
    for (int lane = 0; lane < m.lanes; ++lane) {  // ascending lanes, four of them at a time meet in one cell
        if (!m.active(lane)) continue;
        T& cell = cells[static_cast<size_t>(lane % 4)];
        const uint64_t old = bits == 64 ? m.v64(8, lane) : m.v(8, lane);
        if (returns) {
            ASSERT_EQ(old, cell) << what << " lane " << lane;
        }
        const uint64_t data = bits == 64 ? m.v64(4, lane) : m.v(4, lane);
        cell = static_cast<T>(op.result(cell, data, bits));
    }
    for (size_t i = 0; i < 4; ++i) {
        T now;
        memcpy(&now, after.data() + i * sizeof(T), sizeof(T));
        ASSERT_EQ(now, cells[i]) << what << " cell " << i;
    }
}

TEST_P(Atomics, OfIntegersReturnTheOldValueLaneByLane) {
    for (const Integer& op : kIntegers)
        for (int bits : {32, 64})
            for (const char* unit : {"global", "flat", "flat in LDS", "ds"}) {
                const std::string_view space = unit;
                if (space == "ds" && !op.local) continue;
                MemoryWave m(arch);
                const bool local = space == "ds" || space == "flat in LDS";
                m.wave.lds.assign(256, 0x5a);
                m.wave.exec &= 0xfffffff7fffffff7ull;
                const uint64_t base = space == "flat in LDS" ? 1ull << 48 : kBase;
                m.set64(0, [&](int lane) { return base + static_cast<uint64_t>(lane % 4 * bits / 8); });
                if (space == "ds") m.set(0, [&](int lane) { return lane % 4 * bits / 8; });
                m.set64(4, [&](int lane) { return datum(lane, bits); });
                const std::vector<uint8_t> before = local ? m.wave.lds : m.memory;
                const std::string wide = bits == 64 ? "v[8:9]" : "v8", data = bits == 64 ? "v[4:5]" : "v4";
                std::string text;
                if (space == "ds")
                    text = std::string("ds_") + op.local + std::to_string(bits) + " " + wide + ", v0, " + data;
                else
                    text = std::string(space.substr(0, space.find(' '))) + "_atomic_" + name(op, bits) + " " + wide +
                           ", v[0:1], " + data + (space == "global" ? ", off" : "") + returning(arch);
                m.run(text);
                if (bits == 32) expect_sequence<uint32_t>(m, op, before, local ? m.wave.lds : m.memory, text, true);
                if (bits == 64) expect_sequence<uint64_t>(m, op, before, local ? m.wave.lds : m.memory, text, true);
            }
}

TEST_P(Atomics, InPrivateMemoryAreEachLanesOwn) {
    for (int bits : {32, 64}) {
        MemoryWave m(arch);
        m.wave.scratch = 64;
        m.set64(0, [&](int) { return 0x20000ull << 32 | 16; });
        m.set64(4, [&](int lane) { return 0x1'0000'0001ull * static_cast<uint64_t>(lane + 1); });
        const std::string data = bits == 64 ? "v[4:5]" : "v4", out = bits == 64 ? "v[8:9]" : "v8";
        const std::string add = name(kIntegers[0], bits);
        std::string text = "flat_atomic_" + name(kIntegers[2], bits) + " v[0:1], " + data + "\n";
        for (int i = 0; i < 2; ++i)
            text += "flat_atomic_" + add + " " + out + ", v[0:1], " + data + returning(arch) + "\n";
        m.run(text);
        for (int lane = 0; lane < m.lanes; ++lane) {
            EXPECT_EQ(m.v(8, lane), 2u * static_cast<uint32_t>(lane + 1));
            if (bits == 64) {
                EXPECT_EQ(m.v(9, lane), 2u * static_cast<uint32_t>(lane + 1));
            }
        }
    }
}

TEST_P(Atomics, CompareAndSwapKnowTheirOperandOrder) {
    const bool gfx9 = arch == Arch::gfx942 || arch == Arch::gfx90a;
    MemoryWave m(arch);
    m.wave.lds.assign(512, 0);
    m.set(0, [](int lane) { return lane * 4; });
    m.set64(2, [](int lane) { return kBase + static_cast<uint64_t>(lane) * 4; });
    m.set(4, [](int lane) { return 1000 + lane; });              // new value
    m.set(5, [](int lane) { return lane % 2 ? lane : 12345; });  // what must be there
    for (uint32_t lane = 0; lane < 64; ++lane) m.put(4 * lane, lane), m.put_local(4 * lane, lane);
    m.run(std::string(gfx9 ? "ds_cmpst_rtn_b32 v8, v0, v5, v4\n" : "ds_cmpstore_rtn_b32 v8, v0, v4, v5\n") +
          "global_atomic_cmpswap" + (gfx9 ? "" : "_b32") + " v9, v[2:3], v[4:5], off" + returning(arch));
    for (int lane = 0; lane < m.lanes; ++lane) {
        const auto number = static_cast<uint32_t>(lane), want = lane % 2 ? 1000 + number : number;
        EXPECT_EQ(m.v(8, lane), number);
        EXPECT_EQ(m.v(9, lane), number);
        EXPECT_EQ(m.local<uint32_t>(4 * number), want);
        EXPECT_EQ(m.at<uint32_t>(4 * number), want);
    }
}

uint32_t bits_of(float x) { return std::bit_cast<uint32_t>(x); }

TEST_P(Atomics, OfFloatAdditionsFollowTheDenormalRulesOfTheirUnit) {
    const float tiny = 0x1p-140f, inf = std::numeric_limits<float>::infinity();
    const float pairs[][2] = {{1, 2},      {tiny, tiny}, {0x1p-126f, -0x1.8p-126f}, {1, 0x1p-24f}, {1, 0x1.8p-24f},
                              {inf, -inf}, {inf, 1},     {std::nanf("1"), 1}};
    const bool caches_flush = arch == Arch::gfx1100 || arch == Arch::gfx90a;
    for (uint32_t mode : {0xf0u, 0xc0u}) {
        MemoryWave m(arch);
        m.wave.mode = mode;
        m.wave.lds.assign(256, 0);
        for (size_t i = 0; i < 8; ++i) m.put(4 * i, pairs[i][0]), m.put_local(4 * i, pairs[i][0]);
        m.wave.exec = 0xff;
        m.set(0, [](int lane) { return lane * 4; });
        m.set64(2, [](int lane) { return kBase + static_cast<uint64_t>(lane) * 4; });
        m.set(4, [&](int lane) { return bits_of(pairs[lane % 8][1]); });
        m.run("ds_add_rtn_f32 v8, v0, v4\nglobal_atomic_add_f32 v[2:3], v4, off");
        auto model = [](float a, float b, bool flush) {
            auto cut = [flush](float x) {
                return flush && std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
            };
            return cut(cut(a) + cut(b));
        };
        for (size_t i = 0; i < 8; ++i) {
            const auto local = model(pairs[i][0], pairs[i][1], mode == 0xc0);
            const auto global = model(pairs[i][0], pairs[i][1], caches_flush);
            EXPECT_EQ(m.v(8, static_cast<int>(i)), bits_of(pairs[i][0]));
            if (std::isnan(local)) {
                EXPECT_TRUE(std::isnan(m.local<float>(4 * i)) && std::isnan(m.at<float>(4 * i)));
                continue;
            }
            EXPECT_EQ(m.local<uint32_t>(4 * i), bits_of(local)) << i << " mode " << mode;
            EXPECT_EQ(m.at<uint32_t>(4 * i), bits_of(global)) << i;
        }
    }
}

TEST_P(Atomics, OfFloatMinimaPreferNumbersAndOrderZeros) {
    if (arch == Arch::gfx942 || arch == Arch::gfx90a) return;  // have the 64-bit ones only
    const float nan = std::nanf("1"), inf = std::numeric_limits<float>::infinity();
    struct Case {
        float old, data, low, high;
    };
    const Case cases[] = {{1, 2, 1, 2},
                          {nan, 2, 2, 2},
                          {2, nan, 2, 2},
                          {-0.0f, 0.0f, -0.0f, 0.0f},
                          {0.0f, -0.0f, -0.0f, 0.0f},
                          {-inf, inf, -inf, inf},
                          {0x1p-140f, 0, 0, 0x1p-140f},
                          {3, -5, -5, 3}};
    MemoryWave m(arch);
    m.wave.lds.assign(256, 0);
    m.wave.exec = 0xff;
    m.set(0, [](int lane) { return lane * 4; });
    m.set64(2, [](int lane) { return kBase + static_cast<uint64_t>(lane) * 4; });
    m.set(4, [&](int lane) { return bits_of(cases[lane % 8].data); });
    for (size_t i = 0; i < 8; ++i) m.put(4 * i, cases[i].old), m.put_local(4 * i, cases[i].old);
    const std::string num = arch == Arch::gfx1201 ? "_num_" : "_";
    m.run("ds_min" + num + "f32 v0, v4\nglobal_atomic_max" + num + "f32 v[2:3], v4, off");
    for (size_t i = 0; i < 8; ++i) {
        EXPECT_EQ(m.local<uint32_t>(4 * i), bits_of(cases[i].low)) << i;
        EXPECT_EQ(m.at<uint32_t>(4 * i), bits_of(cases[i].high)) << i;
    }
}

std::string arch_name(const ::testing::TestParamInfo<Arch>& info) { return std::string(isa::info(info.param).name); }
INSTANTIATE_TEST_SUITE_P(Archs, Atomics, ::testing::ValuesIn(kArchs), arch_name);

/// A float of a unit that keeps denormals of operands (bit 0 of `kept`) and of results (bit 1), or makes them zeros.
template <class T>
T as_kept(T x, uint32_t kept, uint32_t bit) {
    return std::fpclassify(x) == FP_SUBNORMAL && !(kept & bit) ? std::copysign(T{0}, x) : x;
}
/// Local memory after an operation of one lane on `memory` with the sources v[2:3] and v[4:5].
template <class T>
T local_result(Arch arch, const std::string& text, uint32_t kept, T memory, T first, T second) {
    MemoryWave m(arch);
    m.wave.lds.resize(64);
    m.wave.exec = 1;
    m.wave.mode = (m.wave.mode & ~0xf0u) | kept << (sizeof(T) == 8 ? 6 : 4);
    m.put_local(0, memory);
    m.v(0, 0) = 0;
    for (const auto& [reg, value] : {std::pair{2, first}, std::pair{4, second}}) {
        uint32_t words[2] = {};
        memcpy(words, &value, sizeof value);
        m.v(reg, 0) = words[0], m.v(reg + 1, 0) = words[1];
    }
    m.run(text);
    return m.local<T>(0);
}
template <class T>
void expect_local_floats_as_mode_says(Arch arch) {
    const bool wide = sizeof(T) == 8, rdna4 = arch == Arch::gfx1201;
    const std::string a = wide ? "v[2:3]" : "v2", b = wide ? "v[4:5]" : "v4", to = wide ? " v[6:7], v0, " : " v6, v0, ",
                      suffix = std::string(rdna4 ? "_num_rtn_" : "_rtn_") + (wide ? "f64" : "f32") + to;
    const T tiny = std::numeric_limits<T>::denorm_min(), least = std::numeric_limits<T>::min();
    const T values[] = {0, -T{0}, tiny, tiny - least, -least, 1};
    const auto same = [](T p, T q) { return p == q && std::signbit(p) == std::signbit(q); };
    for (uint32_t kept = 0; kept < 4; ++kept)
        for (const T memory : values)
            for (const T data : values) {
                SCOPED_TRACE(::testing::Message() << memory << " " << data << " denormals " << kept);
                const T x = as_kept(memory, kept, 1), y = as_kept(data, kept, 1);
                const bool below = x < y || (x == y && std::signbit(x));
                const T low = as_kept(below ? x : y, kept, 2), high = as_kept(below ? y : x, kept, 2);
                EXPECT_TRUE(same(local_result(arch, "ds_min" + suffix + a, kept, memory, data, T{0}), low));
                EXPECT_TRUE(same(local_result(arch, "ds_max" + suffix + a, kept, memory, data, T{0}), high));
                if (rdna4) continue;  // has no exchange of floats
                const T stored = x == y ? T{5} : memory;
                const bool data_first = arch == Arch::gfx1100;
                const std::string exchange = (data_first ? "ds_cmpstore" : "ds_cmpst") + suffix + a + ", " + b;
                EXPECT_TRUE(
                    same(local_result(arch, exchange, kept, memory, data_first ? T{5} : data, data_first ? data : T{5}),
                         stored));
            }
}

/// CDNA3 ISA 9.2.2, RDNA3 and RDNA4 ISA 13.2.
TEST_P(Atomics, OfFloatsInLocalMemoryCompareDenormalsAsModeSays) {
    expect_local_floats_as_mode_says<float>(arch);
    expect_local_floats_as_mode_says<double>(arch);
}

TEST(Atomic, DoublesAndPackedHalvesAddOnCdna3) {
    MemoryWave m(Arch::gfx942);
    m.wave.lds.assign(1024, 0);
    m.wave.exec = 0xf;
    const double values[] = {1.5, 0x1p-1074, -1e308, 3};
    for (size_t i = 0; i < 4; ++i) m.put(8 * i, values[i]), m.put_local(8 * i, values[i]);
    // Packed: (1, 2^-24) + (2^-11, 2^-24) as halves; (1, -2) + (2^-8, 2) as brains
    for (size_t i = 0; i < 4; ++i) m.put_local(512 + 4 * i, 0x00013c00u), m.put_local(640 + 4 * i, 0xc0003f80u);
    m.set(0, [](int lane) { return lane * 8; });
    m.set(1, [](int lane) { return lane * 4; });
    m.set64(2, [](int lane) { return kBase + static_cast<uint64_t>(lane) * 8; });
    m.set64(4, [&](int lane) { return std::bit_cast<uint64_t>(values[lane % 4]); });
    m.set(6, [](int) { return 0x00011000; });
    m.set(7, [](int) { return 0x40003b80; });
    m.run(
        "ds_add_rtn_f64 v[8:9], v0, v[4:5]\nglobal_atomic_add_f64 v[2:3], v[4:5], off\nds_pk_add_rtn_f16 v10, v1, v6 "
        "offset:512\nds_pk_add_bf16 v1, v7 offset:640\nglobal_atomic_max_f64 v[2:3], v[4:5], off offset:-0");
    for (size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(m.v64(8, static_cast<int>(i)), std::bit_cast<uint64_t>(values[i]));
        EXPECT_EQ(m.local<double>(8 * i), values[i] + values[i]);
        EXPECT_EQ(m.at<double>(8 * i), std::max(values[i] + values[i], values[i]));
        EXPECT_EQ(m.v(10, static_cast<int>(i)), 0x00013c00u);
        EXPECT_EQ(m.local<uint32_t>(512 + 4 * i), 0x00023c00u);  // a tie goes to the even 1
        EXPECT_EQ(m.local<uint32_t>(640 + 4 * i), 0x00003f80u);  // 1 + 2^-8 is a tie as well; -2 + 2 = 0
    }
}

TEST(Atomic, SubtractionsOfRdna4ClampOrDoNothing) {
    MemoryWave m(Arch::gfx1201);
    m.wave.lds.assign(256, 0);
    for (uint32_t i = 0; i < 32; ++i) m.put_local(4 * i, i), m.put(4 * i, i);
    m.set(0, [](int lane) { return lane * 4; });
    m.set64(2, [](int lane) { return kBase + static_cast<uint64_t>(lane) * 4; });
    m.set(4, [](int) { return 10; });
    m.run("ds_sub_clamp_rtn_u32 v8, v0, v4\nglobal_atomic_cond_sub_u32 v9, v[2:3], v4, off th:TH_ATOMIC_RETURN");
    for (uint32_t i = 0; i < 32; ++i) {
        EXPECT_EQ(m.v(8, static_cast<int>(i)), i);
        EXPECT_EQ(m.v(9, static_cast<int>(i)), i);
        EXPECT_EQ(m.local<uint32_t>(4 * i), i < 10 ? 0 : i - 10);
        EXPECT_EQ(m.at<uint32_t>(4 * i), i < 10 ? i : i - 10);
    }
}

TEST(Atomic, MisalignedOnesAreFaults) {
    MemoryWave m(Arch::gfx1100);
    m.set64(0, [](int) { return kBase + 2; });
    auto result = m.attempt("global_atomic_add_u32 v[0:1], v2, off");
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message.find("not aligned to 4"), std::string::npos) << result.error().message;
}

}  // namespace
}  // namespace strata::emu::harness
