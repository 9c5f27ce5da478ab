#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "../one_wave.h"

namespace strata::emu {
namespace {

class MemoryOps : public harness::Gfx11Wave {
  protected:
    std::vector<uint8_t> bytes = std::vector<uint8_t>(4096);
    static constexpr uint64_t kAt = 0x10000;

    void SetUp() override {
        harness::Gfx11Wave::SetUp();
        for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 131 + (i >> 8));
        wave.memory = {{kAt, bytes}};
        wave.sgpr[2] = kAt;
        wave.lds.resize(4096);
        wave.scratch = 256;
    }
    template <class T>
    T at(size_t offset) const {
        T value;
        memcpy(&value, bytes.data() + offset, sizeof value);
        return value;
    }
    /// v0 = byte offset of each lane; v[2:3] = its address.
    void addresses(auto offset) {
        set_rows(0, offset);
        set_rows(2, [&](int lane) { return static_cast<uint32_t>(kAt) + static_cast<uint32_t>(offset(lane)); });
    }
};

TEST_P(MemoryOps, LoadsOfEveryWidthAndAddressForm) {
    struct Case {
        const char* name;
        uint32_t (*value)(const uint8_t*);
        int rows, bytes;
    };
    auto word = [](const uint8_t* p) {
        uint32_t x;
        memcpy(&x, p, 4);
        return x;
    };
    const Case cases[] = {
        {"u8", [](const uint8_t* p) { return uint32_t{*p}; }, 1, 1},
        {"i8", [](const uint8_t* p) { return static_cast<uint32_t>(int32_t{static_cast<int8_t>(*p)}); }, 1, 1},
        {"u16", [](const uint8_t* p) { return uint32_t{p[0]} | uint32_t{p[1]} << 8; }, 1, 2},
        {"i16", [](const uint8_t* p) { return static_cast<uint32_t>(int32_t{static_cast<int16_t>(p[0] | p[1] << 8)}); },
         1, 2},
        {"b32", word, 1, 4},
        {"b64", word, 2, 8},
        {"b96", word, 3, 12},
        {"b128", word, 4, 16},
        {"d16_u8", [](const uint8_t* p) { return 0xaaaa0000u | *p; }, 1, 1},
        {"d16_hi_i8",
         [](const uint8_t* p) {
             return 0xaaaau | static_cast<uint32_t>(static_cast<uint16_t>(static_cast<int8_t>(*p))) << 16;
         },
         1, 1},
        {"d16_b16", [](const uint8_t* p) { return 0xaaaa0000u | p[0] | uint32_t{p[1]} << 8; }, 1, 2},
        {"d16_hi_b16", [](const uint8_t* p) { return 0xaaaau | (p[0] | uint32_t{p[1]} << 8) << 16; }, 1, 2},
    };
    using Offset = int (*)(int, int);
    const Offset patterns[] = {[](int lane, int size) { return lane * size; }, [](int, int) { return 64; },
                               [](int lane, int size) { return (lane * 37 % 61) * size; },
                               [](int lane, int size) { return lane * 16 / size * size; }};
    for (const Case& c : cases)
        for (const Offset pattern : patterns)
            for (uint64_t exec : {full(), full() & uint64_t{0x70f0f0f1f0f0f3}})
                for (const char* form : {"global_load_%, v0, s[2:3] offset:8", "global_load_%, v[2:3], off offset:8",
                                         "flat_load_%, v[2:3] offset:8"}) {
                    addresses([&](int lane) { return pattern(lane, c.bytes); });
                    for (int row = 8; row < 12; ++row) set_rows(row, [](int) { return 0xaaaaaaaau; });
                    wave.exec = exec;
                    std::string target = c.rows == 1 ? "v8" : "v[8:" + std::to_string(7 + c.rows) + "]", text = form;
                    text.replace(text.find('%'), 1, std::string(c.name) + " " + target);
                    run(text + "\ns_waitcnt vmcnt(0)");
                    for (int lane = 0; lane < lanes; ++lane)
                        for (int row = 0; row < c.rows; ++row) {
                            uint32_t want = exec >> lane & 1
                                                ? c.value(bytes.data() + 8 + pattern(lane, c.bytes) + 4 * row)
                                                : 0xaaaaaaaau;
                            ASSERT_EQ(v(8 + row, lane), want) << text << " lane " << lane << " row " << row;
                        }
                }
}

TEST_P(MemoryOps, StoresOfEveryWidth) {
    struct Case {
        const char* name;
        int rows, bytes, shift;
    };
    for (const Case& c : {Case{"b8", 1, 1, 0},
                          {"b16", 1, 2, 0},
                          {"b32", 1, 4, 0},
                          {"b64", 2, 8, 0},
                          {"b96", 3, 12, 0},
                          {"b128", 4, 16, 0},
                          {"d16_hi_b8", 1, 1, 16},
                          {"d16_hi_b16", 1, 2, 16}})
        for (bool permuted : {false, true})
            for (uint64_t exec : {full(), full() & uint64_t{0x123456789abcdef1}})
                for (const char* form :
                     {"global_store_% v0, $, s[2:3]", "global_store_% v[2:3], $, off", "flat_store_% v[2:3], $"}) {
                    auto place = [&](int lane) { return (permuted ? lane * 5 % lanes : lane) * c.bytes; };
                    addresses(place);
                    for (int row = 0; row < 4; ++row)
                        set_rows(8 + row,
                                 [&](int lane) { return 0x9e3779b9u * static_cast<uint32_t>(lane * 4 + row + 1); });
                    wave.exec = exec;
                    std::ranges::fill(bytes, uint8_t{0x55});
                    std::string text = form;
                    text.replace(text.find('%'), 1, c.name);
                    text.replace(text.find('$'), 1, c.rows == 1 ? "v8" : "v[8:" + std::to_string(7 + c.rows) + "]");
                    run(text);
                    std::vector<uint8_t> want(bytes.size(), 0x55);
                    for (int lane = 0; lane < lanes; ++lane)
                        if (exec >> lane & 1)
                            for (int i = 0; i < c.bytes; ++i)
                                want[static_cast<size_t>(place(lane) + i)] =
                                    static_cast<uint8_t>(v(8 + i / 4, lane) >> (c.shift + i % 4 * 8));
                    ASSERT_EQ(bytes, want) << text;
                }
}

TEST_P(MemoryOps, LocalMemoryLoadsStoresAndTwoAddresses) {
    set_rows(0, [](int lane) { return lane * 8; });
    set_rows(1, [&](int lane) { return (lanes - 1 - lane) * 8; });
    set_rows(4, [](int lane) { return lane * 1000 + 1; });
    set_rows(5, [](int lane) { return lane * 1000 + 2; });
    run("ds_store_b64 v0, v[4:5] offset:16\ns_waitcnt lgkmcnt(0)\nds_load_b64 v[6:7], v1 offset:16\nds_load_2addr_b32 "
        "v[8:9], v0 offset0:4 offset1:5\n"
        "ds_load_u16 v10, v0 offset:18\nds_store_2addr_stride64_b32 v0, v4, v5 offset0:4 offset1:8\nds_load_b32 v11, "
        "v0 offset:1024\nds_load_b32 v12, v0 offset:2048\n"
        "v_mov_b32 v13, 16\nds_load_b128 v[20:23], v13\nds_load_2addr_b32 v[0:1], v0 offset0:4 offset1:5");
    for (int lane = 0; lane < lanes; ++lane) {
        uint32_t low = static_cast<uint32_t>(lane * 1000 + 1),
                 mirrored = static_cast<uint32_t>((lanes - 1 - lane) * 1000 + 1);
        ASSERT_EQ(v(6, lane), mirrored);
        ASSERT_EQ(v(7, lane), mirrored + 1);
        ASSERT_EQ(v(8, lane), low);
        ASSERT_EQ(v(9, lane), low + 1);
        ASSERT_EQ(v(10, lane), low >> 16);
        ASSERT_EQ(v(11, lane), low);
        ASSERT_EQ(v(12, lane), low + 1);
        for (int i = 0; i < 4; ++i) ASSERT_EQ(v(20 + i, lane), static_cast<uint32_t>(i / 2 * 1000 + i % 2 + 1));
        ASSERT_EQ(v(0, lane), low);
        ASSERT_EQ(v(1, lane), low + 1);
    }
    // Out of range: loads give 0, stores do nothing.
    v(0, 3) = 100000;
    run("ds_load_b32 v30, v0");
    EXPECT_EQ(v(30, 3), 0u);
}

TEST_P(MemoryOps, LaneExchangesThroughTheDsUnit) {
    set_rows(0, [&](int lane) { return (lane * 3 + 1) * 4; });
    set_rows(1, [](int lane) { return lane + 100; });
    wave.exec = full() & ~uint64_t{4};
    set_rows(5, [](int) { return 9; });
    run("ds_bpermute_b32 v4, v0, v1\nds_permute_b32 v5, v0, v1\nds_swizzle_b32 v6, v1 offset:swizzle(BROADCAST,4,2)\n"
        "ds_swizzle_b32 v7, v1 offset:swizzle(SWAP,2)\nds_swizzle_b32 v8, v1 "
        "offset:swizzle(QUAD_PERM,3,2,1,0)\nds_swizzle_b32 v9, v1 offset:0xc020");
    for (int lane = 0; lane < lanes; ++lane) {
        if (lane == 2) {
            EXPECT_EQ(v(5, lane), 9u);
            continue;
        }
        auto source = [](int from) { return from == 2 ? 0u : static_cast<uint32_t>(from + 100); };
        auto there = [](int from) { return from / 32 * 32 + (from * 3 + 1) % 32; };  // of the lane's half
        ASSERT_EQ(v(4, lane), source(there(lane))) << lane;
        uint32_t sent = 0;
        for (int from = 0; from < lanes; ++from)
            if (from != 2 && there(from) == lane) sent = static_cast<uint32_t>(from + 100);
        ASSERT_EQ(v(5, lane), sent) << lane;
        ASSERT_EQ(v(6, lane), source(lane / 4 * 4 + 2)) << lane;
        ASSERT_EQ(v(7, lane), source(lane ^ 2)) << lane;
        ASSERT_EQ(v(8, lane), source(lane ^ 3)) << lane;
        ASSERT_EQ(v(9, lane), source((lane & 32) | ((lane + 1) & 31))) << lane;
    }
}

TEST_P(MemoryOps, AtomicsReturnTheOldValueAndGoInLaneOrder) {
    std::ranges::fill(bytes, uint8_t{0});
    set_rows(0, [](int) { return 16; });
    set_rows(1, [](int lane) { return lane + 1; });
    run("global_atomic_add_u32 v4, v0, v1, s[2:3] glc\nglobal_atomic_inc_u32 v0, v1, s[2:3] offset:4\nv_mov_b32 v6, "
        "1.0\nglobal_atomic_add_f32 v0, v6, s[2:3] offset:8\n"
        "v_mov_b32 v0, 0\nds_add_rtn_u32 v5, v0, v1\nds_max_u32 v0, v1 offset:64\nv_mov_b32 v7, 0\nv_mov_b32 v8, "
        "42\nds_cmpstore_rtn_b32 v9, v7, v8, v7 offset:64\n"
        "v_mov_b32 v11, 5\nv_mov_b32 v12, 0\nglobal_atomic_cmpswap_b32 v10, v0, v[11:12], s[2:3] offset:32 glc");
    uint32_t total = 0;
    for (int lane = 0; lane < lanes; ++lane) {
        ASSERT_EQ(v(4, lane), total);
        ASSERT_EQ(v(5, lane), total);
        ASSERT_EQ(v(9, lane), static_cast<uint32_t>(lanes));
        ASSERT_EQ(v(10, lane), lane == 0 ? 0u : 5u);
        total += static_cast<uint32_t>(lane + 1);
    }
    EXPECT_EQ(at<uint32_t>(16), total);
    EXPECT_EQ(at<float>(24), static_cast<float>(lanes));
    EXPECT_EQ(at<uint32_t>(32), 5u);
}

TEST_P(MemoryOps, ScratchIsPrivateToALaneAndFlatAddressesReachIt) {
    set_rows(1, [](int lane) { return lane * 7; });
    run("s_mov_b32 s8, 16\nscratch_store_b32 off, v1, s8 offset:4\nv_mov_b32 v0, 20\nscratch_load_b32 v4, v0, "
        "off\ns_mov_b64 s[10:11], src_private_base\n"
        "v_mov_b32 v2, 20\nv_mov_b32 v3, s11\nflat_load_b32 v5, v[2:3]\nscratch_store_b8 v0, v1, off "
        "offset:1\nscratch_load_b64 v[6:7], off, s8 offset:4\n"
        "ds_store_b32 v2, v1\ns_mov_b64 s[10:11], src_shared_base\nv_mov_b32 v3, s11\nflat_load_b32 v8, v[2:3]");
    for (int lane = 0; lane < lanes; ++lane) {
        uint32_t value = static_cast<uint32_t>(lane * 7);
        ASSERT_EQ(v(4, lane), value);
        ASSERT_EQ(v(5, lane), value);
        ASSERT_EQ(v(6, lane), (value & ~0xff00u) | (value & 0xff) << 8);
        ASSERT_EQ(v(7, lane), 0u);
        ASSERT_EQ(v(8, lane), static_cast<uint32_t>((lanes - 1) * 7));
    }
}

TEST_P(MemoryOps, BuffersCheckTheirRange) {
    wave.sgpr[4] = kAt;
    wave.sgpr[5] = 0;
    wave.sgpr[6] = 64;          // bytes
    wave.sgpr[7] = 0x31014000;  // raw range check
    set_rows(0, [](int lane) { return lane * 4; });
    set_rows(4, [](int) { return 7; });
    run("buffer_load_b32 v4, v0, s[4:7], 0 offen offset:4\nbuffer_load_u8 v5, off, s[4:7], 0 "
        "offset:9\ns_buffer_load_b32 s20, s[4:7], 0x3c\ns_buffer_load_b64 s[22:23], s[4:7], 0x3c");
    for (int lane = 0; lane < lanes; ++lane) {
        ASSERT_EQ(v(4, lane), lane < 15 ? at<uint32_t>(static_cast<size_t>(lane) * 4 + 4) : 0u) << lane;
        ASSERT_EQ(v(5, lane), bytes[9]);
    }
    EXPECT_EQ(wave.sgpr[20], at<uint32_t>(60));
    EXPECT_EQ(wave.sgpr[22], at<uint32_t>(60));
    EXPECT_EQ(wave.sgpr[23], 0u);
    run("v_mov_b32 v1, 9\nbuffer_store_b32 v1, v0, s[4:7], 0 offen");
    EXPECT_EQ(at<uint32_t>(60), 9u);
    EXPECT_NE(at<uint32_t>(64), 9u);
}

TEST_P(MemoryOps, ScalarLoadsAndFaults) {
    run("s_load_b32 s10, s[2:3], 0x10\ns_load_b128 s[12:15], s[2:3], 0x20\ns_mov_b32 s9, 64\ns_load_b64 s[16:17], "
        "s[2:3], s9 offset:0x8\ns_waitcnt lgkmcnt(0)");
    EXPECT_EQ(wave.sgpr[10], at<uint32_t>(0x10));
    EXPECT_EQ(wave.sgpr[15], at<uint32_t>(0x2c));
    EXPECT_EQ(wave.sgpr[17], at<uint32_t>(76));
    auto past = attempt("s_load_b64 s[16:17], s[2:3], 0xffc");
    ASSERT_FALSE(past);
    EXPECT_EQ(past.error().kind, ErrorKind::MemoryFault);
    EXPECT_NE(past.error().message.find("s_load_b64"), std::string::npos) << past.error().message;
    set_rows(0, [](int lane) { return lane == 5 ? 5000 : 0; });
    auto gather = attempt("global_load_b32 v4, v0, s[2:3]");
    ASSERT_FALSE(gather);
    EXPECT_NE(
        gather.error().message.find(
            "lane 5 reads 4 bytes at 0x11388: 904 bytes past the end of allocation 'memory' (4096 bytes at 0x10000)"),
        std::string::npos)
        << gather.error().message;
    // Masked lanes touch nothing.
    wave.exec = full() & ~uint64_t{32};
    run("global_load_b32 v4, v0, s[2:3]");
}

INSTANTIATE_TEST_SUITE_P(Lanes, MemoryOps, ::testing::Values(32, 64));

}  // namespace
}  // namespace strata::emu
