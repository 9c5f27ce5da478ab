#include <fmt/format.h>

#include <array>
#include <cstring>
#include <random>

#include "strict.h"

// Two waves that store to and load from the same bytes of local memory with no barrier between them.
namespace strata::emu::harness {
namespace {

constexpr uint32_t kBytes = 16;

struct LocalOp {
    bool store;
    uint32_t first, bytes;
    uint64_t value;  ///< that is stored
};

std::string text_of(const LocalOp& op) {
    if (!op.store)
        return fmt::format("ds_load_{}, v4 offset:{}\n",
                           op.bytes == 8   ? "b64 v[6:7]"
                           : op.bytes == 4 ? "b32 v6"
                           : op.bytes == 2 ? "u16 v6"
                                           : "u8 v6",
                           op.first);
    return fmt::format("v_mov_b32 v2, {:#x}\nv_mov_b32 v3, {:#x}\nds_store_b{} v4, {} offset:{}\n",
                       static_cast<uint32_t>(op.value), op.value >> 32, 8 * op.bytes, op.bytes == 8 ? "v[2:3]" : "v2",
                       op.first);
}

/// Each wave has a list of its own, which one of its lanes runs.
std::string text_of(const std::array<std::vector<LocalOp>, 2>& waves) {
    std::string text =
        "v_mov_b32 v4, 0\nv_readfirstlane_b32 s8, v0\ns_mov_b32 exec_lo, 1\ns_cmp_ge_u32 s8, 32\n"
        "s_cbranch_scc1 second\n";
    for (const LocalOp& op : waves[0]) text += text_of(op);
    text += "s_waitcnt lgkmcnt(0)\ns_endpgm\nsecond:\n";
    for (const LocalOp& op : waves[1]) text += text_of(op);
    return body(text + "s_waitcnt lgkmcnt(0)");
}

/// How many accesses of the second wave race with those of the first, byte by byte.
int64_t races_of(const std::array<std::vector<LocalOp>, 2>& waves) {
    struct Byte {
        bool written[2] = {}, read[2] = {};
        uint8_t value = 0xff;
    };
    std::array<Byte, kBytes> memory;
    int64_t found = 0;
    for (size_t wave = 0; wave < 2; ++wave)
        for (const LocalOp& op : waves[wave]) {
            bool races = false;
            for (uint32_t i = 0; i < op.bytes; ++i) {
                Byte& byte = memory[op.first + i];
                const auto value = static_cast<uint8_t>(op.value >> 8 * i);
                const bool other = wave == 1 && byte.written[0], differs = op.store && byte.value != value;
                const bool race = op.store ? (other && differs) || (wave == 1 && byte.read[0]) : other;
                races |= race;
                if (!op.store) {
                    byte.read[wave] = true;
                    continue;
                }
                if (race) byte.written[0] = false;
                byte.written[wave] = true;
                byte.value = value;
            }
            found += races;
        }
    return found;
}

std::vector<LocalOp> random_list(std::mt19937& random, uint32_t loads) {
    std::vector<LocalOp> list;
    for (uint32_t i = 1 + random() % 4; i > 0; --i) {
        const uint32_t bytes = 1u << random() % 4;
        const uint32_t first = random() % (kBytes / bytes) * bytes;
        // Bytes that encode their address, of which few differ from one store to another.
        uint64_t value = 0;
        for (uint32_t at = 0; at < bytes; ++at) value |= uint64_t{0x10 + first + at} << 8 * at;
        if (random() % 3 == 0) value ^= uint64_t{0x80} << 8 * (random() % bytes);
        list.push_back({random() % 8 >= loads, first, bytes, value});
    }
    return list;
}

TEST(LocalRaces, AreOfBytesThatDifferAndOfReadsAndWrites) {
    std::mt19937 random(41);
    int with = 0, without = 0;
    for (int i = 0; i < 300; ++i) {
        const uint32_t loads = i % 3;
        const std::array waves{random_list(random, loads), random_list(random, loads)};
        const std::string text = text_of(waves);
        const Ran ran = run(Arch::gfx1100, text, {.lds = kBytes, .block = 64});
        ASSERT_TRUE(ran.stats) << ran.stats.error().message;
        EXPECT_EQ(std::ranges::count(kinds(ran), Kind::lds_race), races_of(waves)) << text << words(ran);
        ++(races_of(waves) ? with : without);
        ASSERT_FALSE(HasFailure());
    }
    EXPECT_GT(with, 100);
    EXPECT_GT(without, 60);
}

TEST(LocalRaces, AreNamedWithTheByteAndBothValues) {
    const std::array<std::vector<LocalOp>, 2> waves{{{{true, 4, 4, 0x44332211}}, {{true, 4, 4, 0x44992211}}}};
    expect_one(
        run(Arch::gfx1100, text_of(waves), {.lds = kBytes, .block = 64}), Kind::lds_race,
        "byte 6 of local memory is written here (0x99) and was written by wave 0 (0x33) with no barrier between");
}

TEST(LocalRaces, WithSeveralWavesThatStoredEqualValuesSaySo) {
    const auto text = [](std::string_view last) {
        return body(
            fmt::format("v_mov_b32 v2, 7\nv_mov_b32 v4, 0\nv_readfirstlane_b32 s8, v0\ns_cmp_ge_u32 s8, 64\n"
                        "s_cbranch_scc1 last\nds_store_b32 v4, v2\ns_endpgm\nlast:\n{}\ns_waitcnt lgkmcnt(0)",
                        last));
    };
    const Sizes sizes{.lds = 64, .block = 96};
    expect_none(run(Arch::gfx1100, text("ds_store_b32 v4, v2"), sizes));
    expect_one(run(Arch::gfx1100, text("ds_load_b32 v5, v4"), sizes), Kind::lds_race,
               "byte 0 of local memory is read here and was written by several waves with no barrier between");
    expect_one(run(Arch::gfx1100, text("ds_store_b8 v4, v4 offset:2\nds_store_b8 v4, v2 offset:1"), sizes),
               Kind::lds_race, "byte 1 of local memory is written here (0x07) and was written by several waves (0x00)");
    expect_one(run(Arch::gfx1100, text("ds_add_u32 v4, v4"), sizes), Kind::lds_race, "by several waves");
}

// The upper half of a register is what these store.
TEST(LocalRaces, CompareWhatIsStored) {
    const auto text = [](std::string_view store) {
        return body(
            fmt::format("v_and_b32 v5, 32, v0\nv_mov_b32 v4, 0\nv_lshl_or_b32 v2, v5, 16, 0x7700\n"
                        "v_or_b32 v3, 0x770000, v5\n{}\ns_waitcnt lgkmcnt(0)",
                        store));
    };
    const Sizes sizes{.lds = 64, .block = 64};
    expect_none(run(Arch::gfx1100, text("ds_store_b16 v4, v2"), sizes));
    expect_none(run(Arch::gfx1100, text("ds_store_b16_d16_hi v4, v3"), sizes));
    expect_one(run(Arch::gfx1100, text("ds_store_b16_d16_hi v4, v2"), sizes), Kind::lds_race, "byte 0");
    expect_one(run(Arch::gfx1100, text("ds_store_b16 v4, v3"), sizes), Kind::lds_race, "byte 0");
    expect_one(run(Arch::gfx1100, text("ds_store_2addr_b32 v4, v4, v3 offset1:3"), sizes), Kind::lds_race, "byte 12");
}

}  // namespace
}  // namespace strata::emu::harness
