#include <algorithm>
#include <cmath>

#include "harness.h"
#include "reference.h"

// CDNA: sub-dword addressing, DPP across the rows of a wave64, and scalar sources of its own.
namespace strata::emu {
namespace {

using namespace valu_test;
using namespace reference;
using isa::Arch;

constexpr const char* kSelections[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD"};
constexpr const char* kUnused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};

class Gfx9Forms : public testing::Test {
  protected:
    Gfx9Forms() : bench(64) {}
    void SetUp() override {
        if (!isa::llvm_available()) GTEST_SKIP() << "needs libLLVM 19 to assemble";
    }
    void fill(Inputs& inputs) {
        for (int lane = 0; lane < 64; ++lane)
            for (int row = 0; row < 12; ++row) bench.v(row, lane) = inputs.dword();
    }
    ::testing::AssertionResult run(const Variant& variant, const std::string& text) {
        if (bench.run(variant, assembled(text, 64, Arch::gfx942), Arch::gfx942)) return ::testing::AssertionSuccess();
        return ::testing::AssertionFailure() << variant.name << " " << text << " " << bench.fault();
    }
    Bench bench;
};

int low_bit(int select) { return select < 4 ? 8 * select : select == 5 ? 16 : 0; }
int width(int select) { return select < 4 ? 8 : select < 6 ? 16 : 32; }
uint32_t picked(uint32_t x, int select, bool sign) {
    const uint64_t field = x >> low_bit(select) & ((uint64_t{1} << width(select)) - 1);
    return static_cast<uint32_t>(sign ? sext(field, width(select)) : static_cast<int64_t>(field));
}
uint32_t put(uint32_t result, uint32_t old, int select, int unused) {
    if (select == 6) return result;
    const int at = low_bit(select), bits = width(select);
    const uint32_t field = ((1u << bits) - 1) << at, value = result << at & field;
    if (unused == 0) return value;
    if (unused == 2) return value | (old & ~field);
    const bool negative = result >> (bits - 1) & 1;
    const uint32_t above = at + bits == 32 ? 0 : ~0u << (at + bits);
    return value | (negative ? above : 0);
}

struct Operation {
    const char* name;
    bool sign_extends;  // takes sext() instead of neg and abs
    uint32_t (*compute)(uint32_t a, uint32_t b);
};
const Operation kOperations[] = {
    {"v_add_u32", true, [](uint32_t a, uint32_t b) { return a + b; }},
    {"v_lshlrev_b32", true, [](uint32_t a, uint32_t b) { return b << (a & 31); }},
    {"v_mul_i32_i24", true,
     [](uint32_t a, uint32_t b) { return static_cast<uint32_t>(sext(a & 0xffffff, 24) * sext(b & 0xffffff, 24)); }},
    {"v_add_u16", true, [](uint32_t a, uint32_t b) { return (a + b) & 0xffff; }},
    {"v_max_i16", true,
     [](uint32_t a, uint32_t b) {
         return static_cast<uint32_t>(std::max(sext(a & 0xffff, 16), sext(b & 0xffff, 16)) & 0xffff);
     }},
    {"v_add_f16", false,
     [](uint32_t a, uint32_t b) { return half_bits(half_value(a & 0xffff) + half_value(b & 0xffff)); }},
    {"v_mul_f32", false, [](uint32_t a, uint32_t b) { return float_bits(to_float(a) * to_float(b)); }},
};

bool equal_or_nan(const std::string& name, uint32_t got, uint32_t want) {
    if (got == want) return true;
    if (name == "v_mul_f32") return std::isnan(to_float(got)) && std::isnan(to_float(want));
    return false;
}

TEST_F(Gfx9Forms, SdwaSelectsItsSourcesAndPlacesItsResult) {
    Inputs inputs(3);
    for (const Operation& op : kOperations)
        for (int round = 0; round < 60; ++round) {
            const uint64_t r = inputs.next();
            const int to = round % 7, unused = round / 7 % 3, first = (r >> 8) % 7, second = (r >> 16) % 7;
            const bool sign0 = r & 1, sign1 = r & 2;
            auto operand = [&](const char* reg, bool sign) {
                if (!sign) return std::string(reg);
                return op.sign_extends ? "sext(" + std::string(reg) + ")" : "-|" + std::string(reg) + "|";
            };
            const std::string text = std::string(op.name) + "_sdwa v8, " + operand("v0", sign0) + ", " +
                                     operand("v1", sign1) + " dst_sel:" + kSelections[to] +
                                     " dst_unused:" + kUnused[unused] + " src0_sel:" + kSelections[first] +
                                     " src1_sel:" + kSelections[second];
            const bool half = std::string(op.name).ends_with("f16");
            auto source = [&](uint32_t x, int select, bool sign) {
                x = picked(x, select, sign && op.sign_extends);
                return sign && !op.sign_extends ? x | (half ? 0x8000u : 0x80000000u) : x;
            };
            for (const Variant& variant : variants()) {
                fill(inputs);
                // A NaN's payload is no part of the result: keep NaN out where parts of it would be compared.
                if (!op.sign_extends)
                    for (int lane = 0; lane < 64; ++lane)
                        for (int row = 0; row < 2; ++row) bench.v(row, lane) &= 0xbb7fbbff;
                const uint64_t exec = inputs.next();
                bench.set_exec(exec);
                std::vector<uint32_t> want(64);
                for (int lane = 0; lane < 64; ++lane) {
                    const uint32_t old = bench.v(8, lane);
                    const uint32_t result =
                        op.compute(source(bench.v(0, lane), first, sign0), source(bench.v(1, lane), second, sign1));
                    want[lane] = exec >> lane & 1 ? put(result, old, to, unused) : old;
                }
                ASSERT_TRUE(run(variant, text));
                for (int lane = 0; lane < 64; ++lane)
                    ASSERT_TRUE(equal_or_nan(op.name, bench.v(8, lane), want[lane]))
                        << variant.name << " " << text << " lane " << lane << " want " << want[lane] << " got "
                        << bench.v(8, lane);
            }
        }
}

TEST_F(Gfx9Forms, SdwaComparesIntoAScalarPairAndTakesScalarsAndCarries) {
    Inputs inputs(4);
    for (const Variant& variant : variants()) {
        fill(inputs);
        bench.set_exec(~uint64_t{0});
        bench.wave().s[4] = 0xdeadbeef;
        for (int lane = 0; lane < 64; lane += 3) bench.v(1, lane) = bench.v(0, lane) >> 16;
        uint64_t equal = 0, less = 0;
        for (int lane = 0; lane < 64; ++lane) {
            equal |= uint64_t{bench.v(0, lane) >> 16 == (bench.v(1, lane) & 0xffff)} << lane;
            less |= uint64_t{sext(bench.v(0, lane) & 255, 8) < static_cast<int32_t>(bench.v(1, lane))} << lane;
        }
        ASSERT_TRUE(run(variant, "v_cmp_eq_u32_sdwa s[20:21], v0, v1 src0_sel:WORD_1 src1_sel:WORD_0"));
        EXPECT_EQ(bench.s64(20), equal);
        ASSERT_TRUE(run(variant, "v_cmp_lt_i32_sdwa vcc, sext(v0), v1 src0_sel:BYTE_0 src1_sel:DWORD"));
        EXPECT_EQ(bench.s64(106), less);
        ASSERT_TRUE(
            run(variant, "v_addc_co_u32_sdwa v8, vcc, v0, v1, vcc dst_sel:DWORD src0_sel:BYTE_3 src1_sel:DWORD"));
        ASSERT_TRUE(run(variant, "v_cndmask_b32_sdwa v9, v0, v1, vcc dst_sel:DWORD src0_sel:BYTE_2 src1_sel:WORD_1"));
        ASSERT_TRUE(run(variant, "v_mov_b32_sdwa v10, s4 dst_sel:DWORD src0_sel:WORD_1"));
        for (int lane = 0; lane < 64; ++lane) {
            const uint64_t sum = uint64_t{bench.v(0, lane) >> 24} + bench.v(1, lane) + (less >> lane & 1);
            EXPECT_EQ(bench.v(8, lane), static_cast<uint32_t>(sum));
            EXPECT_EQ(bench.s64(106) >> lane & 1, sum >> 32);
            EXPECT_EQ(bench.v(9, lane), sum >> 32 ? bench.v(1, lane) >> 16 : bench.v(0, lane) >> 16 & 255);
            EXPECT_EQ(bench.v(10, lane), 0xdeadu);
        }
        bench.set_exec(0x00ff00ff12345678);
        ASSERT_TRUE(run(variant, "v_cmpx_eq_u32_sdwa vcc, v0, v1 src0_sel:WORD_1 src1_sel:WORD_0"));
        EXPECT_EQ(bench.wave().exec(), equal & 0x00ff00ff12345678);
        EXPECT_EQ(bench.s64(106), equal & 0x00ff00ff12345678);
    }
}

TEST_F(Gfx9Forms, SdwaClampsBeforeItPlaces) {
    for (const Variant& variant : variants()) {
        for (int lane = 0; lane < 64; ++lane)
            bench.v(0, lane) = 0xfffffff0, bench.v(1, lane) = 0x20, bench.v(2, lane) = float_bits(3.0f),
                       bench.v(8, lane) = bench.v(9, lane) = 0x11223344;
        ASSERT_TRUE(run(variant,
                        "v_add_u32_sdwa v8, v0, v1 clamp dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE "
                        "src0_sel:DWORD src1_sel:DWORD"));
        ASSERT_TRUE(run(variant,
                        "v_mul_f32_sdwa v9, v2, v2 clamp dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:DWORD "
                        "src1_sel:DWORD"));
        EXPECT_EQ(bench.v(8, 5), 0xffff3344u) << variant.name;
        EXPECT_EQ(bench.v(9, 5), 0u) << variant.name;  // 1.0 is 0x3f800000: its low half
    }
}

TEST_F(Gfx9Forms, SdwaHasSignsAndTheOutputModifier) {
    for (const Variant& variant : variants()) {
        bench.wave().mode = 0xc0;  // no denormals in single precision: the output modifier counts
        for (int lane = 0; lane < 64; ++lane)
            bench.v(0, lane) = float_bits(-3.0f), bench.v(1, lane) = float_bits(5.0f), bench.v(2, lane) = 0xc2000000;
        ASSERT_TRUE(run(variant, "v_mul_f32_sdwa v8, -|v0|, v1 mul:2 dst_sel:DWORD src0_sel:DWORD src1_sel:DWORD"));
        EXPECT_EQ(bench.v(8, 7), float_bits(-30.0f)) << variant.name;
        ASSERT_TRUE(run(variant,
                        "v_add_f16_sdwa v9, -v2, |v2| dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_1 "
                        "src1_sel:WORD_1"));
        EXPECT_EQ(bench.v(9, 7), 0x46000000u) << variant.name;  // 3 + 3
    }
}

// ---- DPP ----
int dpp_source(const std::string& control, int lane) {
    if (control == "wave_shl:1") return lane == 63 ? -1 : lane + 1;
    if (control == "wave_rol:1") return (lane + 1) % 64;
    if (control == "wave_shr:1") return lane - 1;
    if (control == "wave_ror:1") return (lane + 63) % 64;
    if (control == "row_bcast:15") return lane < 16 ? -1 : lane / 16 * 16 - 1;
    if (control == "row_bcast:31") return lane < 32 ? -1 : 31;
    if (control == "row_mirror") return lane / 16 * 16 + 15 - lane % 16;
    if (control == "row_half_mirror") return lane / 8 * 8 + 7 - lane % 8;
    if (control == "row_newbcast:3") return lane / 16 * 16 + 3;
    if (control == "row_shr:5") return lane % 16 < 5 ? -1 : lane - 5;
    return lane / 4 * 4 + 3 - lane % 4;  // quad_perm:[3,2,1,0]
}

TEST_F(Gfx9Forms, DppMovesLanesWithinRowsAndBetweenThem) {
    Inputs inputs(6);
    for (const std::string control :
         {"wave_shl:1", "wave_rol:1", "wave_shr:1", "wave_ror:1", "row_bcast:15", "row_bcast:31", "row_mirror",
          "row_half_mirror", "row_newbcast:3", "row_shr:5", "quad_perm:[3,2,1,0]"})
        for (int masks = 0; masks < 3; ++masks)
            for (bool bound : {false, true})
                for (const Variant& variant : variants()) {
                    const char* mask = masks == 0   ? " row_mask:0xf bank_mask:0xf"
                                       : masks == 1 ? " row_mask:0xa bank_mask:0xf"
                                                    : " row_mask:0xf bank_mask:0x6";
                    // The destination is the source: every lane must be read before any is written.
                    const std::string text =
                        "v_add_u32_dpp v0, v0, v1 " + control + mask + (bound ? " bound_ctrl:0" : "");
                    fill(inputs);
                    const uint64_t exec = inputs.next() | inputs.next();
                    bench.set_exec(exec);
                    uint32_t want[64];
                    for (int lane = 0; lane < 64; ++lane) {
                        const int from = dpp_source(control, lane);
                        const bool valid = from >= 0 && (exec >> from & 1);
                        const bool row = masks != 1 || (0xa >> (lane / 16) & 1);
                        const bool bank = masks != 2 || (0x6 >> (lane % 16 / 4) & 1);
                        const bool written = (exec >> lane & 1) && row && bank && (valid || bound);
                        want[lane] = written ? (valid ? bench.v(0, from) : 0) + bench.v(1, lane) : bench.v(0, lane);
                    }
                    ASSERT_TRUE(run(variant, text));
                    for (int lane = 0; lane < 64; ++lane)
                        ASSERT_EQ(bench.v(0, lane), want[lane]) << variant.name << " " << text << " lane " << lane;
                }
}

TEST_F(Gfx9Forms, DppHasSigns) {
    for (const Variant& variant : variants()) {
        for (int lane = 0; lane < 64; ++lane)
            bench.v(0, lane) = float_bits(static_cast<float>(lane)), bench.v(1, lane) = float_bits(-100.0f);
        ASSERT_TRUE(run(variant, "v_add_f32_dpp v8, -v0, |v1| wave_ror:1 row_mask:0xf bank_mask:0xf"));
        for (int lane = 0; lane < 64; ++lane)
            EXPECT_EQ(to_float(bench.v(8, lane)), 100.0f - static_cast<float>((lane + 63) % 64)) << variant.name;
    }
}

TEST_F(Gfx9Forms, DppMovesPairsOfDwords) {
    Inputs inputs(8);
    for (const std::string control : {"row_newbcast:3"})
        for (const Variant& variant : variants()) {
            fill(inputs);
            bench.set_exec(~uint64_t{0});
            ASSERT_TRUE(run(variant, "v_mov_b64_dpp v[8:9], v[0:1] " + control + " row_mask:0xf bank_mask:0xf"));
            for (int lane = 0; lane < 64; ++lane)
                ASSERT_EQ(bench.v64(8, lane), bench.v64(0, dpp_source(control, lane))) << variant.name << " " << lane;
        }
}

}  // namespace
}  // namespace strata::emu
