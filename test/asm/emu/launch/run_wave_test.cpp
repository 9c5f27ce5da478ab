#include "strata/asm/emu/run_wave.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "strata/asm/llvm/assemble.h"

namespace strata::emu {
namespace {

/// One wave that runs a few lines of assembly.
class OneWave : public ::testing::TestWithParam<int> {
  protected:
    WaveRun wave;
    int lanes = GetParam();

    void SetUp() override {
        wave.wave_size = lanes;
        wave.vgpr.resize(static_cast<size_t>(256 * lanes));
        wave.exec = full();
    }
    uint64_t full() const { return lanes == 32 ? 0xffffffffull : ~0ull; }
    uint32_t& v(int reg, int lane) { return wave.vgpr[static_cast<size_t>(reg * lanes + lane)]; }
    void set_rows(int reg, auto value) {
        for (int lane = 0; lane < lanes; ++lane) v(reg, lane) = static_cast<uint32_t>(value(lane));
    }
    Result<void> attempt(const std::string& text) {
        auto words = isa::assemble_instructions(text + "\ns_endpgm", isa::Arch::gfx1100, lanes);
        EXPECT_TRUE(words) << words.error().message;
        if (!words) return std::move(words.error());
        return run_wave(isa::Arch::gfx1100, {reinterpret_cast<const uint8_t*>(words->data()), words->size() * 4}, wave);
    }
    void run(const std::string& text) {
        auto result = attempt(text);
        EXPECT_TRUE(result) << text << ": " << result.error().message;
    }
};

TEST_P(OneWave, comes_back_with_its_state) {
    wave.sgpr[4] = 7;
    wave.m0 = 3;
    run("s_mov_b32 s5, 12\ns_add_i32 s4, s4, s5\nv_mov_b32 v9, s4\ns_cmp_eq_u32 s4, 19\ns_mov_b32 m0, 5\ns_mov_b64 "
        "vcc, -1");
    EXPECT_EQ(wave.sgpr[4], 19u);
    EXPECT_EQ(v(9, lanes - 1), 19u);
    EXPECT_TRUE(wave.scc);
    EXPECT_EQ(wave.m0, 5u);
    EXPECT_EQ(wave.vcc, full());
    EXPECT_EQ(wave.exec, full());
    EXPECT_EQ(wave.instructions, 7u);
    EXPECT_EQ(wave.pc, 24u);
}

TEST_P(OneWave, scalar_arithmetic_follows_the_document) {
    struct Case {
        const char* text;
        uint64_t a, b, result;
        int scc;  // -1: kept
        bool wide = false;
    };
    const Case cases[] = {
        {"s_add_u32", 0xffffffff, 1, 0, 1},
        {"s_add_u32", 2, 3, 5, 0},
        {"s_sub_u32", 2, 3, 0xffffffff, 1},
        {"s_sub_u32", 3, 2, 1, 0},
        {"s_add_i32", 0x7fffffff, 1, 0x80000000, 1},
        {"s_sub_i32", 0x80000000, 1, 0x7fffffff, 1},
        {"s_addc_u32", 0xffffffff, 0, 0, 1},
        {"s_subb_u32", 0, 0, 0xffffffff, 1},
        {"s_absdiff_i32", 3, 10, 7, 1},
        {"s_lshl_b32", 3, 33, 6, 1},
        {"s_lshr_b32", 8, 4, 0, 0},
        {"s_ashr_i32", 0x80000000, 31, 0xffffffff, 1},
        {"s_lshl3_add_u32", 0x20000000, 5, 5, 1},
        {"s_min_i32", 0xffffffff, 2, 0xffffffff, 1},
        {"s_max_u32", 0xffffffff, 2, 0xffffffff, 1},
        {"s_max_i32", 0xffffffff, 2, 2, 0},
        {"s_nand_b32", 0xf0, 0xff, 0xffffff0f, 1},
        {"s_and_not1_b32", 0xff, 0xf, 0xf0, 1},
        {"s_or_not1_b32", 0, 0xffffffff, 0, 0},
        {"s_xnor_b32", 5, 5, 0xffffffff, 1},
        {"s_bfe_u32", 0x12345678, 0x80004, 0x67, 1},
        {"s_bfe_i32", 0xf00, 0x40008, 0xffffffff, 1},
        {"s_bfm_b32", 4, 8, 0xf00, -1},
        {"s_mul_i32", 0x10001, 0x10001, 0x20001, -1},
        {"s_mul_hi_u32", 0xffffffff, 0xffffffff, 0xfffffffe, -1},
        {"s_mul_hi_i32", 0xffffffff, 2, 0xffffffff, -1},
        {"s_cselect_b32", 4, 5, 4, -1},
        {"s_pack_lh_b32_b16", 0x12345678, 0x9abcdef0, 0x9abc5678, -1},
        {"s_pack_hh_b32_b16", 0x12345678, 0x9abcdef0, 0x9abc1234, -1},
        {"s_lshl_b64", 1, 40, 1ull << 40, 1, true},
        {"s_ashr_i64", 1ull << 63, 63, ~0ull, 1, true},
        {"s_bfe_u64", 0xabcull << 40, 0xc0028, 0xabc, 1, true},
        {"s_and_b64", 0xff00ff00ff00ull, 0xffff0000ffffull, 0xff000000ff00ull, 1, true},
        {"s_not_b64", ~0ull, 0, 0, 0, true},
        {"s_brev_b32", 1, 0, 0x80000000, -1},
        {"s_ctz_i32_b32", 0, 0, 0xffffffff, -1},
        {"s_ctz_i32_b32", 48, 0, 4, -1},
        {"s_clz_i32_u32", 1, 0, 31, -1},
        {"s_cls_i32", 0xffff0000, 0, 16, -1},
        {"s_sext_i32_i8", 0x80, 0, 0xffffff80, -1},
        {"s_abs_i32", 0xfffffff0, 0, 16, 1},
        {"s_bcnt1_i32_b32", 0xf0f, 0, 8, 1},
        {"s_bcnt0_i32_b32", 0xffffffff, 0, 0, 0},
        {"s_quadmask_b32", 0x00100800, 0, 0x24, 1},
        {"s_wqm_b32", 0x00100800, 0, 0xf00f00, 1},
        {"s_bitset1_b32", 7, 0, 0xdeadbe80 | 0x6f, -1},
        {"s_bitreplicate_b64_b32", 0x80000001, 0, 0xc000000000000003, -1, true},
    };
    for (const Case& c : cases) {
        std::string name = c.text;
        bool one = name == "s_not_b64" || name.starts_with("s_brev") || name.starts_with("s_c") ||
                   name.starts_with("s_sext") || name.starts_with("s_abs_") || name.starts_with("s_bcnt") ||
                   name.starts_with("s_quad") || name.starts_with("s_wqm") || name.starts_with("s_bit");
        one = one && !name.starts_with("s_cselect");
        wave.sgpr[4] = static_cast<uint32_t>(c.a);
        wave.sgpr[5] = static_cast<uint32_t>(c.a >> 32);
        wave.sgpr[6] = static_cast<uint32_t>(c.b);
        wave.sgpr[7] = static_cast<uint32_t>(c.b >> 32);
        wave.sgpr[8] = 0xdeadbe6f;
        wave.sgpr[9] = 0;
        wave.scc = true;
        bool b64 = c.wide && name.find("bfm") == std::string::npos, b64_b = name.starts_with("s_and_b64");
        std::string from = c.wide && !name.starts_with("s_bitrep") ? "s[4:5]" : "s4";
        std::string text = name + (b64 ? " s[8:9], " : " s8, ") + from + (one ? "" : b64_b ? ", s[6:7]" : ", s6");
        run(text);
        uint64_t result = wave.sgpr[8] | (c.wide ? uint64_t{wave.sgpr[9]} << 32 : 0);
        EXPECT_EQ(result, c.result) << text;
        EXPECT_EQ(wave.scc, c.scc < 0 ? true : c.scc == 1) << text;
    }
}

TEST_P(OneWave, compares_constants_and_saves_exec) {
    wave.sgpr[4] = 0xfffffff0;
    run("s_cmpk_lt_i32 s4, -15\ns_cselect_b32 s5, 1, 2\ns_cmpk_gt_u32 s4, 0xfff0\ns_cselect_b32 s6, 1, 2\ns_addk_i32 "
        "s4, 0x20\ns_movk_i32 s7, 0x8000\n"
        "s_bitcmp1_b32 s4, 4\ns_cselect_b32 s8, 0.5, -4.0");
    EXPECT_EQ(wave.sgpr[5], 1u);
    EXPECT_EQ(wave.sgpr[6], 1u);
    EXPECT_EQ(wave.sgpr[4], 16u);
    EXPECT_EQ(wave.sgpr[7], 0xffff8000);
    EXPECT_EQ(wave.sgpr[8], 0x3f000000u);
    if (lanes == 32)
        run("s_mov_b32 s10, 0xf0f0\ns_and_saveexec_b32 s12, s10\ns_cselect_b32 s13, 1, 0\ns_and_not1_wrexec_b32 s14, "
            "s10");
    else
        run("s_mov_b64 s[10:11], 0xf0f0\ns_and_saveexec_b64 s[12:13], s[10:11]\ns_and_not1_wrexec_b64 s[14:15], "
            "s[10:11]\ns_mov_b32 s13, 1");
    EXPECT_EQ(wave.sgpr[12], 0xffffffffu);
    EXPECT_EQ(wave.sgpr[13], 1u);
    EXPECT_EQ(wave.sgpr[14], 0u);
    EXPECT_EQ(wave.exec, 0u);
}

TEST_P(OneWave, branches_calls_and_hardware_registers) {
    run("s_mov_b32 s0, 5\ns_mov_b32 s1, 0\nloop: s_add_u32 s1, s1, s0\ns_sub_u32 s0, s0, 1\ns_cmp_lg_u32 s0, "
        "0\ns_cbranch_scc1 loop\n"
        "s_getpc_b64 s[2:3]\ns_call_b64 s[4:5], sub\ns_mov_b32 s6, 1\ns_branch done\nsub: s_mov_b32 s7, 2\ns_setpc_b64 "
        "s[4:5]\ndone: s_mov_b32 s8, 3");
    EXPECT_EQ(wave.sgpr[1], 15u);
    EXPECT_EQ(wave.sgpr[6], 1u);
    EXPECT_EQ(wave.sgpr[7], 2u);
    EXPECT_EQ(wave.sgpr[8], 3u);
    EXPECT_EQ(wave.sgpr[4] - wave.sgpr[2], 4u);
    EXPECT_EQ(wave.instructions, 2 + 5 * 4 + 2 + 2 + 2 + 2u);
    run("s_getreg_b32 s0, hwreg(HW_REG_MODE)\ns_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0x5\ns_getreg_b32 s1, "
        "hwreg(HW_REG_MODE, 0, 8)\ns_denorm_mode 3\n"
        "s_getreg_b32 s2, hwreg(HW_REG_MODE, 4, 4)\ns_mov_b64 s[4:5], src_shared_base\ns_mov_b64 s[6:7], "
        "src_private_base");
    EXPECT_EQ(wave.sgpr[0], 0xf0u);
    EXPECT_EQ(wave.sgpr[1], 0xf5u);
    EXPECT_EQ(wave.sgpr[2], 3u);
    EXPECT_NE(wave.sgpr[5], wave.sgpr[7]);
}

TEST_P(OneWave, branches_on_vcc_and_exec) {
    run("s_mov_b64 vcc, 0\ns_cbranch_vccz a\ns_mov_b32 s0, 1\na: s_mov_b64 s[10:11], exec\ns_mov_b64 exec, "
        "0\ns_cbranch_execnz b\ns_mov_b32 s1, 1\nb: s_mov_b64 exec, s[10:11]\n"
        "s_cmp_eq_u32 s0, 0\ns_mov_b32 s4, src_scc");
    EXPECT_EQ(wave.sgpr[0], 0u);
    EXPECT_EQ(wave.sgpr[1], 1u);
    EXPECT_EQ(wave.sgpr[4], 1u);
}

class MemoryOps : public OneWave {
  protected:
    std::vector<uint8_t> bytes = std::vector<uint8_t>(4096);
    static constexpr uint64_t kAt = 0x10000;

    void SetUp() override {
        OneWave::SetUp();
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

TEST_P(MemoryOps, loads_of_every_width_and_address_form) {
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

TEST_P(MemoryOps, stores_of_every_width) {
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

TEST_P(MemoryOps, local_memory_loads_stores_and_two_addresses) {
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

TEST_P(MemoryOps, lane_exchanges_through_the_ds_unit) {
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

TEST_P(MemoryOps, atomics_return_the_old_value_and_go_in_lane_order) {
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

TEST_P(MemoryOps, scratch_is_private_to_a_lane_and_flat_addresses_reach_it) {
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

TEST_P(MemoryOps, buffers_check_their_range) {
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

TEST_P(MemoryOps, scalar_loads_and_faults) {
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

TEST_P(OneWave, an_endless_loop_ends_with_an_error) {
    wave.max_instructions = 1000;
    auto result = attempt("loop: s_add_u32 s0, s0, 1\ns_branch loop");
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message.find("endless loop"), std::string::npos);
    EXPECT_GE(wave.instructions, 1000u);
}

INSTANTIATE_TEST_SUITE_P(Lanes, OneWave, ::testing::Values(32, 64));
INSTANTIATE_TEST_SUITE_P(Lanes, MemoryOps, ::testing::Values(32, 64));

}  // namespace
}  // namespace strata::emu
