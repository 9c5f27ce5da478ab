#include <bit>

#include "harness.h"

// DS instructions, and loads that go to local memory.
namespace strata::emu::harness {
namespace {

using isa::Arch;

class Local : public ::testing::TestWithParam<Arch> {
  protected:
    Arch arch = GetParam();
    bool gfx9() const { return arch == Arch::gfx942 || arch == Arch::gfx90a; }
    MemoryWave prepared(size_t bytes = 4096) {
        MemoryWave m(arch);
        m.wave.lds.resize(bytes);
        std::minstd_rand random(3);
        for (uint8_t& byte : m.wave.lds) byte = static_cast<uint8_t>(random() >> 9);
        return m;
    }
};

TEST_P(Local, LoadsOfEveryWidthAndPatternAgreeWithTheBytes) {
    struct Load {
        const char *rdna, *cdna;
        int rows;
    };
    const Load loads[] = {{"b32", "b32", 1}, {"b64", "b64", 2}, {"b96", "b96", 3}, {"b128", "b128", 4}};
    const auto patterns = {
        +[](int lane) { return lane * 16; }, +[](int) { return 64; }, +[](int lane) { return lane / 16 * 48; },
        +[](int lane) { return (lane * 37 % 64) * 16; }, +[](int lane) { return 1024 - 16 * (lane % 16); },
        // of rows and columns of threads, and of all but one of them
        +[](int lane) { return lane / 8 * 80; }, +[](int lane) { return lane / 4 * 5 % 32 * 16; },
        +[](int lane) { return lane == 13 ? 32 : lane / 4 * 48; },
        +[](int lane) { return lane == 38 ? 16 : lane / 4 * 48; }, +[](int lane) { return lane % 8 * 32; },
        +[](int lane) { return lane % 16 * 16; }, +[](int lane) { return lane == 29 ? 0 : lane % 16 * 16; },
        +[](int lane) { return lane == 60 ? 0 : lane % 16 * 16; }};
    for (const Load& load : loads)
        for (auto pattern : patterns)
            for (uint64_t exec : {~0ull, 0x70f0f3355aac3ull}) {
                MemoryWave m = prepared(1056);
                m.wave.exec &= exec;
                m.set(0, pattern);
                for (int row = 0; row < 4; ++row) m.set(4 + row, [](int) { return 0xabababab; });
                const std::string to = load.rows == 1 ? "v4" : "v[4:" + std::to_string(3 + load.rows) + "]";
                m.run(std::string(gfx9() ? "ds_read_" : "ds_load_") + load.rdna + " " + to + ", v0 offset:16");
                for (int lane = 0; lane < m.lanes; ++lane)
                    for (int row = 0; row < 4; ++row) {
                        const bool loaded = row < load.rows && m.active(lane);
                        const auto at = static_cast<size_t>(pattern(lane) + 16 + 4 * row);
                        ASSERT_EQ(m.v(4 + row, lane), loaded ? m.local<uint32_t>(at) : 0xabababab)
                            << load.rdna << " lane " << lane << " row " << row;
                    }
            }
}

TEST_P(Local, TheLastBytesAreLoadedAndWhatLiesBehindReads0) {
    MemoryWave m = prepared(64);
    m.set(0, [](int lane) { return lane * 4; });
    m.run(gfx9() ? "ds_read_b96 v[4:6], v0\n ds_read_b96 v[8:10], v1 offset:52"
                 : "ds_load_b96 v[4:6], v0\n ds_load_b96 v[8:10], v1 offset:52");
    for (int lane = 0; lane < m.lanes; ++lane) {
        EXPECT_EQ(m.v(4, lane), lane <= 13 ? m.local<uint32_t>(4 * static_cast<size_t>(lane)) : 0u) << lane;
        EXPECT_EQ(m.v(6, lane), lane <= 13 ? m.local<uint32_t>(4 * static_cast<size_t>(lane) + 8) : 0u) << lane;
        EXPECT_EQ(m.v(10, lane), m.local<uint32_t>(60));
    }
}

TEST_P(Local, PartsOfRegistersAreLoadedAndStored) {
    MemoryWave m = prepared();
    m.put_local<uint32_t>(0, 0x8081f2f3);
    for (int row = 4; row < 12; ++row) m.set(row, [](int) { return 0x11112222; });
    const std::string load = gfx9() ? "ds_read_" : "ds_load_", store = gfx9() ? "ds_write_" : "ds_store_";
    m.run(load + "u8 v4, v0\n" + load + "i8 v5, v0 offset:3\n" + load + "i16 v6, v0 offset:2\n" + load +
          "u8_d16_hi v7, v0\n" + load + "i8_d16 v8, v0 offset:3\n" + load + "u16_d16_hi v9, v0\n" + store +
          "b8_d16_hi v0, v10 offset:8\n" + store + "b16 v0, v10 offset:16\n s_waitcnt lgkmcnt(0)");
    EXPECT_EQ(m.v(4, 3), 0xf3u);
    EXPECT_EQ(m.v(5, 3), 0xffffff80u);
    EXPECT_EQ(m.v(6, 3), 0xffff8081u);
    EXPECT_EQ(m.v(7, 3), 0x00f32222u);
    EXPECT_EQ(m.v(8, 3), 0x1111ff80u);
    EXPECT_EQ(m.v(9, 3), 0xf2f32222u);
    EXPECT_EQ(m.wave.lds[8], 0x11u);
    EXPECT_EQ(m.local<uint16_t>(16), 0x2222u);
}

TEST_P(Local, TwoAddressesCountElementsOr64OfThem) {
    MemoryWave m = prepared();
    m.set(0, [](int lane) { return lane * 8; });
    const std::string read = gfx9() ? "ds_read2" : "ds_load_2addr", st64 = gfx9() ? "st64" : "_stride64",
                      write = gfx9() ? "ds_write2" : "ds_store_2addr",
                      exchange = gfx9() ? "ds_wrxchg2_rtn_b32" : "ds_storexchg_2addr_rtn_b32";
    const std::vector<uint8_t> before = m.wave.lds;
    m.run(read + "_b32 v[4:5], v0 offset0:3 offset1:1\n" + read + st64 + "_b64 v[8:11], v0 offset0:1 offset1:2\n" +
          write + "_b64 v0, v[8:9], v[4:5] offset1:64\n" + exchange + " v[12:13], v0, v8, v9 offset0:4 offset1:3");
    auto was = [&](size_t offset) {
        uint32_t value;
        memcpy(&value, before.data() + offset, 4);
        return value;
    };
    for (int lane = 0; lane < m.lanes; ++lane) {
        const auto at = static_cast<size_t>(lane) * 8;
        EXPECT_EQ(m.v(4, lane), was(at + 12));
        EXPECT_EQ(m.v(5, lane), was(at + 4));
        EXPECT_EQ(m.v(9, lane), was(at + 516));
        EXPECT_EQ(m.v(10, lane), was(at + 1024));
        if (m.lanes == 32) {
            EXPECT_EQ(m.local<uint32_t>(at + 512), was(at + 12));
        }
    }
}

TEST_P(Local, LanesAreExchangedAsThePatternsSay) {
    MemoryWave m = prepared();
    const int lanes = m.lanes;
    m.wave.exec &= ~0x20ull;
    m.set(0, [&](int lane) { return (lane * 5 + 3) % lanes * 4; });
    m.set(1, [](int lane) { return 100 + lane; });
    for (int row = 4; row < 10; ++row) m.set(row, [](int) { return 7; });
    m.run(
        "ds_bpermute_b32 v4, v0, v1 offset:4\nds_permute_b32 v5, v0, v1\nds_swizzle_b32 v6, v1 "
        "offset:swizzle(QUAD_PERM,3,3,0,1)\nds_swizzle_b32 v7, v1 offset:swizzle(BITMASK_PERM,\"0pi1p\")\n"
        "ds_swizzle_b32 v8, v1 offset:0xc420\nds_swizzle_b32 v9, v1 offset:0xe01f");
    auto value = [&](int lane) { return m.active(lane) ? 100u + static_cast<uint32_t>(lane) : 0u; };
    for (int lane = 0; lane < lanes; ++lane) {
        if (!m.active(lane)) {
            EXPECT_EQ(m.v(4, lane), 7u);
            continue;
        }
        EXPECT_EQ(m.v(4, lane), value((lane * 5 + 4) % lanes));
        uint32_t sent = 0;
        for (int from = 0; from < lanes; ++from)
            if (m.active(from) && (from * 5 + 3) % lanes == lane) sent = value(from);
        EXPECT_EQ(m.v(5, lane), sent);
        EXPECT_EQ(m.v(6, lane), value((lane & ~3) | std::array{3, 3, 0, 1}[static_cast<size_t>(lane & 3)]));
        EXPECT_EQ(m.v(7, lane), value((lane & 32) | ((((lane & 31) & 0b01101) | 0b00010) ^ 0b00100)));
        EXPECT_EQ(m.v(8, lane), value((lane & 32) | ((lane - 1) & 31)));  // rotate by 1 to the right
        EXPECT_EQ(m.v(9, lane), value(lane));                             // FFT without a swizzle
    }
}

TEST_P(Local, CountersAndThreadAddressesComeFromM0) {
    MemoryWave m = prepared();
    m.wave.exec &= 0xff0ff;
    m.wave.m0 = 64;
    m.put_local<uint32_t>(72, 500);
    m.set(5, [](int lane) { return lane; });
    const std::vector<uint8_t> before = m.wave.lds;
    m.run(std::string("ds_append v4 offset:8\nds_consume v6 offset:8\n") +
          (gfx9() ? "ds_write_addtid_b32 v5 offset:128\nds_read_addtid_b32 v7 offset:256"
                  : "ds_store_addtid_b32 v5 offset:128\nds_load_addtid_b32 v7 offset:256"));
    for (int lane = 0; lane < 20; ++lane) {
        if (!m.active(lane)) continue;
        uint32_t old;
        memcpy(&old, before.data() + 320 + 4 * lane, 4);
        EXPECT_EQ(m.v(4, lane), 500u);
        EXPECT_EQ(m.v(6, lane), 516u);
        EXPECT_EQ(m.v(7, lane), old);
        EXPECT_EQ(m.local<uint32_t>(192 + 4 * static_cast<size_t>(lane)), static_cast<uint32_t>(lane));
    }
    EXPECT_EQ(m.local<uint32_t>(72), 500u);
}

TEST_P(Local, ConditionalExchangesLookAtTheTopBits) {
    MemoryWave m = prepared();
    m.wave.exec = 0xf;
    for (size_t i = 0; i < 8; ++i) m.put_local<uint32_t>(4 * i, 10 + static_cast<uint32_t>(i));
    m.set(0, [](int lane) { return lane * 8; });
    m.set64(4, [](int lane) {
        return 0x0000'0064'0000'00c8ull | (lane & 1 ? 1ull << 31 : 0) | (lane & 2 ? 1ull << 63 : 0);
    });
    m.run("ds_condxchg32_rtn_b64 v[8:9], v0, v[4:5]");
    for (uint32_t lane = 0; lane < 4; ++lane) {
        EXPECT_EQ(m.v64(8, static_cast<int>(lane)), (10 + 2 * lane) | uint64_t{11 + 2 * lane} << 32);
        EXPECT_EQ(m.local<uint32_t>(8 * lane), lane & 1 ? 200 : 10 + 2 * lane);
        EXPECT_EQ(m.local<uint32_t>(8 * lane + 4), lane & 2 ? 100 : 11 + 2 * lane);
    }
}

std::string arch_name(const ::testing::TestParamInfo<Arch>& info) { return std::string(isa::info(info.param).name); }
INSTANTIATE_TEST_SUITE_P(Archs, Local, ::testing::ValuesIn(kArchs), arch_name);

TEST(LocalLoads, GoToM0PlusFourBytesALane) {
    for (Arch arch : {Arch::gfx942, Arch::gfx90a}) {
        MemoryWave m(arch);
        m.wave.lds.assign(2048, 0xee);
        m.wave.m0 = 512;
        m.wave.exec = ~2ull;
        m.resource(0, 128, 4u << 15);
        m.set(0, [](int lane) { return lane * 4; });
        const std::string direct = arch == Arch::gfx942 ? "global_load_lds_sbyte v0, s[8:9] offset:1024"
                                                        : "global_load_sbyte v0, s[8:9] offset:1024 lds";
        m.run("buffer_load_dword v0, s[8:11], 0 offen offset:64 lds\n" + direct);
        for (int lane = 0; lane < 64; ++lane) {
            const size_t at = 4 * static_cast<size_t>(lane);
            uint32_t want = lane < 16 ? m.at<uint32_t>(64 + at) : 0,
                     byte = static_cast<uint32_t>(int32_t{m.at<int8_t>(1024 + at)});
            if (lane == 1) want = byte = 0xeeeeeeee;
            EXPECT_EQ(m.local<uint32_t>(512 + 64 + at), want) << lane;
            EXPECT_EQ(m.local<uint32_t>(512 + 1024 + at), byte) << lane;
        }
    }
    MemoryWave m(Arch::gfx1100);
    m.wave.lds.assign(512, 0);
    m.wave.m0 = 128;
    m.resource(0, 4096, 3u << 28 | 20u << 12);
    m.set(0, [](int lane) { return lane * 2; });
    m.run("buffer_load_lds_i16 v0, s[8:11], 0 offen");
    for (int lane = 0; lane < 32; ++lane)
        EXPECT_EQ(m.local<int32_t>(128 + 4 * static_cast<size_t>(lane)), m.at<int16_t>(2 * static_cast<size_t>(lane)));
}

TEST(GlobalShare, KeepsWhatDsInstructionsWithGdsWrite) {
    MemoryWave m(Arch::gfx1100);
    m.wave.m0 = 256u << 16 | 1024;  // base and size
    m.set(0, [](int lane) { return lane * 8; });
    m.set64(4, [](int lane) { return 0x100000001ull * static_cast<uint64_t>(lane); });
    m.set(8, [](int) { return 3; });
    m.run(
        "ds_store_b64 v0, v[4:5] gds\nds_add_rtn_u32 v9, v0, v8 offset:4 gds\nds_load_2addr_b32 v[10:11], v0 "
        "offset1:1 gds\nds_append v12 offset:512 gds\nds_append v13 offset:512 gds\nds_load_b32 v14, v0 offset:960 "
        "gds");
    for (int lane = 0; lane < 32; ++lane) {
        const auto number = static_cast<uint32_t>(lane);
        EXPECT_EQ(m.v(9, lane), number);
        EXPECT_EQ(m.v(10, lane), number);
        EXPECT_EQ(m.v(11, lane), number + 3);
        EXPECT_EQ(m.v(12, lane), 0u);
        EXPECT_EQ(m.v(13, lane), 32u);
        EXPECT_EQ(m.v(14, lane), 0u);  // past M0's size from lane 8 on
    }
}

TEST(GlobalShare, SemaphoresAndBarriersLetWavesPassOrWait) {
    MemoryWave m(Arch::gfx1100);
    m.set(0, [](int) { return 0; });
    m.run(
        "ds_gws_init v0 offset:1 gds\nds_gws_barrier v0 offset:1 gds\nds_gws_sema_v offset:2 gds\nds_gws_sema_p "
        "offset:2 gds\nv_mov_b32 v1, 5");
    EXPECT_EQ(m.v(1, 0), 5u);
    MemoryWave waits(Arch::gfx1100);
    waits.wave.max_instructions = 1000;
    auto result = waits.attempt("ds_gws_sema_p offset:2 gds");
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, ErrorKind::Launch);
}

TEST(Blocks, MoveTheRegistersWhoseBitIsSetInM0) {
    MemoryWave m(Arch::gfx1201, 8192 + 128);
    m.wave.m0 = 0x80000005;
    m.wave.scratch = 256;
    m.set64(0, [](int lane) { return kBase + static_cast<uint64_t>(lane) * 128; });
    m.set(2, [](int) { return 16; });
    for (int row = 8; row < 40; ++row) m.set(row, [&](int lane) { return row * 1000 + lane; });
    const std::vector<uint8_t> before = m.memory;
    m.run(
        "scratch_store_block v2, v[8:39], off offset:4\nglobal_store_block v[0:1], v[8:39], off offset:4096\n"
        "global_load_block v[8:39], v[0:1], off\nscratch_load_block "
        "v[48:79], v2, off offset:4");
    for (int lane = 0; lane < 32; ++lane)
        for (int i = 0; i < 32; ++i) {
            const bool moved = i == 0 || i == 2 || i == 31;
            const auto own = static_cast<uint32_t>((8 + i) * 1000 + lane);
            EXPECT_EQ(m.v(8 + i, lane),
                      moved ? m.at<uint32_t>(128 * static_cast<size_t>(lane) + 4 * static_cast<size_t>(i)) : own);
            EXPECT_EQ(m.v(48 + i, lane), moved ? own : 0u);
            const size_t stored = 4096 + 128 * static_cast<size_t>(lane) + 4 * static_cast<size_t>(i);
            uint32_t old;
            memcpy(&old, before.data() + stored, 4);
            EXPECT_EQ(m.at<uint32_t>(stored), moved ? own : old);
        }
}

}  // namespace
}  // namespace strata::emu::harness
