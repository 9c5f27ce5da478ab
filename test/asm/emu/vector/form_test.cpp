#include <bit>
#include <cfenv>
#include <cmath>
#include <functional>

#include "dot_reference.h"
#include "harness.h"

// Operand forms and modifiers: constants by operand type, true 16-bit registers, signs, clamp, MODE, VOPD.
namespace strata::emu {
namespace {

using namespace valu_test;
using namespace reference;

class ValuForms : public testing::Test {
  protected:
    void SetUp() override {
        if (!isa::llvm_available()) GTEST_SKIP() << "needs libLLVM 19 to assemble";
    }
};

/// Runs one instruction on lanes whose v0..v5 come from `fill`, and gives v8 of lane 0 and 1 as one value.
struct Probe {
    uint32_t v[6] = {}, old = 0xdeadbeef;
    uint32_t mode = mode::kPlain;
    uint32_t scalar[4] = {};
};
uint64_t probe(const Variant& variant, const std::string& text, const Probe& in, int lanes = 32) {
    Bench bench(lanes);
    bench.wave().mode = in.mode;
    for (int i = 0; i < 4; ++i) bench.wave().s[i] = in.scalar[i];
    for (int lane = 0; lane < lanes; ++lane) {
        for (int i = 0; i < 6; ++i) bench.v(i, lane) = in.v[i];
        bench.v(8, lane) = bench.v(9, lane) = in.old;
    }
    EXPECT_TRUE(bench.run(variant, assembled(text, lanes))) << text << ": " << bench.fault();
    for (int lane = 1; lane < lanes; ++lane) EXPECT_EQ(bench.v64(8, lane), bench.v64(8, 0)) << text;
    return bench.v64(8, 0);
}

TEST_F(ValuForms, ConstantsTakeThePatternOfTheOperandType) {
    struct Row {
        const char* text;
        uint64_t want;
        bool wide;
    };
    const Row rows[] = {
        {"v_mov_b32 v8, 1.0", 0x3f800000, false},
        {"v_mov_b32 v8, -16", 0xfffffff0, false},
        {"v_mov_b32 v8, 64", 64, false},
        {"v_mov_b32 v8, 0x12345678", 0x12345678, false},
        {"v_mov_b32 v8, 0.15915494", 0x3e22f983, false},
        {"v_add_f32 v8, -4.0, v0", 0xc0800000, false},
        {"v_add_f16 v8, 1.0, v0", 0xdead3c00, false},
        {"v_add_f16 v8, 0x4248, v0", 0xdead4248, false},
        {"v_cvt_f32_f16 v8, 0.5", 0x3f000000, false},
        {"v_cvt_f32_i32 v8, -1", 0xbf800000, false},
        {"v_add_f64 v[8:9], 1.0, v[0:1]", 0x3ff0000000000000, true},
        {"v_add_f64 v[8:9], 0.15915494309189532, v[0:1]", 0x3fc45f306dc9c882, true},
        {"v_add_f64 v[8:9], 0x40590000, v[0:1]", 0x4059000000000000, true},
        {"v_fma_f64 v[8:9], 2.0, 4.0, 0.5", 0x4021000000000000, true},
        {"v_lshlrev_b64 v[8:9], 4, 3", 48, true},
        {"v_lshlrev_b64 v[8:9], 0, -2", 0xfffffffffffffffe, true},
        {"v_ashrrev_i64 v[8:9], 4, -16", 0xffffffffffffffff, true},
        {"v_pk_add_u16 v8, 3, v0 op_sel_hi:[0,1]", 0x00030003, false},
        {"v_pk_add_u16 v8, -1, v0", 0xffffffff, false},
        {"v_pk_add_f16 v8, 1.0, v0", 0x00003c00, false},
        {"v_pk_add_f16 v8, 1.0, v0 op_sel_hi:[0,1]", 0x3c003c00, false},
        {"v_add_nc_u32 v8, s0, v0", 0x11111111, false},
        {"v_add_f64 v[8:9], s[2:3], v[0:1]", 0x4000000000000000, true},
        {"v_add3_u32 v8, s0, s1, 5", 0x33333338, false},
        {"v_mov_b32 v8, null", 0, false},
        {"v_bfe_u32 v8, 0x12345678, 8, 8", 0x56, false},
    };
    for (const Variant& variant : variants()) {
        for (const Row& row : rows) {
            Probe in;
            in.scalar[0] = 0x11111111, in.scalar[1] = 0x22222222, in.scalar[3] = 0x40000000;
            const uint64_t got = probe(variant, row.text, in);
            EXPECT_EQ(row.wide ? got : got & 0xffffffff, row.want)
                << variant.name << " " << row.text << std::hex << " " << got;
        }
    }
}

TEST_F(ValuForms, SignsApplyBeforeTheOperation) {
    Inputs inputs(3);
    for (const Variant& variant : variants()) {
        for (int n = 0; n < 40; ++n) {
            Probe in;
            for (uint32_t& v : in.v) v = inputs.dword();
            const float a = to_float(in.v[0]), b = to_float(in.v[1]), c = to_float(in.v[2]);
            auto same = [&](const std::string& text, float want) {
                const uint32_t got = static_cast<uint32_t>(probe(variant, text, in));
                EXPECT_TRUE(got == float_bits(want) || (std::isnan(want) && std::isnan(to_float(got))))
                    << variant.name << " " << text;
            };
            same("v_add_f32_e64 v8, -v0, |v1|", -a + std::fabs(b));
            same("v_mul_f32_e64 v8, -|v0|, v1", -std::fabs(a) * b);
            same("v_fma_f32 v8, v0, -v1, |v2|", std::fma(a, -b, std::fabs(c)));
            same("v_sub_f32_e64 v8, -1.0, -v1", -1.0f + b);
            same("v_floor_f32_e64 v8, -v0", std::floor(-a));
            same("v_fma_f32 v8, -s0, v1, v2", std::fma(-0.0f, b, c));
        }
    }
}

TEST_F(ValuForms, ClampLimitsFloatsToTheUnitInterval) {
    for (const Variant& variant : variants()) {
        for (const uint32_t bits : {0x40000000u, 0xc0000000u, 0x3e800000u, 0x7fc00000u, 0x80000000u, 0x7f800000u}) {
            const float x = to_float(bits);
            Probe in;
            in.v[0] = bits;
            in.mode = mode::kPlain | mode::kDx10Clamp;
            const float want = std::isnan(x) ? 0 : std::min(std::max(x, 0.0f), 1.0f);
            EXPECT_EQ(to_float(static_cast<uint32_t>(probe(variant, "v_add_f32_e64 v8, v0, 0 clamp", in))), want)
                << variant.name << " " << x;
            in.mode = mode::kPlain;
            const float kept = to_float(static_cast<uint32_t>(probe(variant, "v_add_f32_e64 v8, v0, 0 clamp", in)));
            EXPECT_EQ(std::isnan(kept), std::isnan(x)) << "without DX10_CLAMP NaN stays";
        }
        Probe in;
        in.v[0] = 0x4500c500;  // 5 and -5
        EXPECT_EQ(probe(variant, "v_pk_add_f16 v8, v0, 0 clamp", in) & 0xffffffff, 0x3c000000u);
        EXPECT_EQ(probe(variant, "v_add_f16_e64 v8, v0, 0 clamp", in) & 0xffffffff, 0xdead0000u);
    }
}

TEST_F(ValuForms, OutputModifierWorksOnlyWhereDenormalsAreFlushed) {
    for (const Variant& variant : variants()) {
        Probe in;
        in.v[0] = float_bits(3.0f);
        EXPECT_EQ(to_float(static_cast<uint32_t>(probe(variant, "v_add_f32_e64 v8, v0, v0 mul:4", in))), 6.0f);
        in.mode = 0xc0;
        EXPECT_EQ(to_float(static_cast<uint32_t>(probe(variant, "v_add_f32_e64 v8, v0, v0 mul:4", in))), 24.0f);
        EXPECT_EQ(to_float(static_cast<uint32_t>(probe(variant, "v_add_f32_e64 v8, v0, v0 div:2", in))), 3.0f);
        in.mode = 0xc0 | mode::kIeee;
        EXPECT_EQ(to_float(static_cast<uint32_t>(probe(variant, "v_add_f32_e64 v8, v0, v0 mul:2", in))), 6.0f);
    }
}

TEST_F(ValuForms, RoundingModesOfSingleAndDouble) {
    constexpr int host[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    Inputs inputs(11);
    for (const Variant& variant : variants()) {
        for (uint32_t rounding = 0; rounding < 4; ++rounding) {
            for (int n = 0; n < 30; ++n) {
                Probe in;
                in.v[0] = (inputs.dword() & 0x807fffff) | 0x3f800000,
                in.v[1] = (inputs.dword() & 0x807fffff) | 0x3e000000;
                in.v[2] = inputs.dword(), in.v[3] = (inputs.dword() & 0x800fffff) | 0x3ff00000;
                volatile float a = to_float(in.v[0]), b = to_float(in.v[1]);
                volatile double d = to_double(in.v[2] | uint64_t{in.v[3]} << 32), e = 1.0 / 3;
                std::fesetround(host[rounding]);
                volatile float sum = a + b, product = a * b, narrow = static_cast<float>(d);
                volatile double wide = d * e;
                std::fesetround(FE_TONEAREST);
                in.mode = mode::kPlain | rounding;
                EXPECT_EQ(probe(variant, "v_add_f32 v8, v0, v1", in) & 0xffffffff, float_bits(sum))
                    << variant.name << rounding;
                EXPECT_EQ(probe(variant, "v_mul_f32 v8, v0, v1", in) & 0xffffffff, float_bits(product))
                    << variant.name << rounding;
                EXPECT_EQ(probe(variant, "v_cvt_f32_f64 v8, v[2:3]", in) & 0xffffffff, float_bits(narrow))
                    << variant.name << rounding;
                EXPECT_EQ(probe(variant, "v_cvt_i32_f32 v8, 2.0", in) & 0xffffffff, 2u);
                in.mode = mode::kPlain | rounding << 2;
                in.scalar[2] = static_cast<uint32_t>(double_bits(e)),
                in.scalar[3] = static_cast<uint32_t>(double_bits(e) >> 32);
                EXPECT_EQ(probe(variant, "v_mul_f64 v[8:9], v[2:3], s[2:3]", in), double_bits(wide))
                    << variant.name << rounding;
            }
        }
        EXPECT_EQ(std::fegetround(), FE_TONEAREST) << "the host's mode is restored";
    }
}

TEST_F(ValuForms, DirectedRoundingOfHalvesOrANamedRefusal) {
    Probe in;
    in.v[0] = float_bits(1.0f + 0x1p-12f);
    in.mode = mode::kPlain | 1 << 2;  // up
    for (const Variant& variant : variants()) {
        Bench bench(32);
        bench.wave().mode = in.mode;
        for (int lane = 0; lane < 32; ++lane) bench.v(0, lane) = in.v[0];
        const bool done = bench.run(variant, assembled("v_cvt_f16_f32 v8, v0", 32));
        if (done) {
            EXPECT_EQ(bench.v(8, 0) & 0xffff, 0x3c01u) << variant.name;
        } else {
            EXPECT_NE(bench.fault().find("MODE"), std::string::npos) << variant.name;
        }
        EXPECT_TRUE(done || variant.name == std::string("portable"));
    }
}

TEST_F(ValuForms, DenormalsAreKeptOrFlushedByMode) {
    for (const Variant& variant : variants()) {
        Probe in;
        in.v[0] = 0x00400000, in.v[1] = 0x00000001, in.v[2] = 0x3f000000, in.v[3] = 0x00800000;
        auto f32 = [&](const char* text) { return static_cast<uint32_t>(probe(variant, text, in)); };
        EXPECT_EQ(f32("v_add_f32 v8, v0, v1"), 0x00400001u);
        EXPECT_EQ(f32("v_mul_f32 v8, v3, v2"), 0x00400000u);
        in.mode = 0xc0;  // single precision flushes in and out
        EXPECT_EQ(f32("v_add_f32 v8, v0, v1"), 0u);
        EXPECT_EQ(f32("v_mul_f32 v8, v3, v2"), 0u);
        EXPECT_EQ(f32("v_mov_b32 v8, v0"), 0x00400000u) << "a move is no arithmetic";
        in.mode = 0x30;  // half and double flush
        in.v[0] = 0x00010001;
        EXPECT_EQ(f32("v_add_f16 v8, v0, v0"), 0xdead0000u);
        EXPECT_EQ(f32("v_pk_add_f16 v8, v0, v0"), 0u);
        in.v[4] = 1, in.v[5] = 0;
        EXPECT_EQ(probe(variant, "v_add_f64 v[8:9], v[4:5], v[4:5]", in), 0u);
        in.mode = mode::kPlain;
        EXPECT_EQ(f32("v_pk_add_f16 v8, v0, v0"), 0x00020002u);
        EXPECT_EQ(probe(variant, "v_add_f64 v[8:9], v[4:5], v[4:5]", in), 2u);
    }
}

// ---- VOPD ----

float muladd(float a, float b, float c) { return std::fma(a, b, c); }
struct DualOp {
    const char* name;
    const char* operands;  ///< $d destination, $a and $b sources
    std::function<uint32_t(const In&, uint32_t a, uint32_t b, uint32_t d)> value;
    bool y_only = false;
};
std::vector<DualOp> dual_ops() {
    auto f = [](uint32_t x) { return to_float(x); };
    auto bits = [](float x) { return float_bits(x); };
    const float k = to_float(0x40490fdb);
    return {
        {"fmac_f32", "$d, $a, $b",
         [=](const In&, uint32_t a, uint32_t b, uint32_t d) { return bits(muladd(f(a), f(b), f(d))); }},
        {"fmaak_f32", "$d, $a, $b, 0x40490fdb",
         [=](const In&, uint32_t a, uint32_t b, uint32_t) { return bits(muladd(f(a), f(b), k)); }},
        {"fmamk_f32", "$d, $a, 0x40490fdb, $b",
         [=](const In&, uint32_t a, uint32_t b, uint32_t) { return bits(muladd(f(a), k, f(b))); }},
        {"mul_f32", "$d, $a, $b", [=](const In&, uint32_t a, uint32_t b, uint32_t) { return bits(f(a) * f(b)); }},
        {"add_f32", "$d, $a, $b", [=](const In&, uint32_t a, uint32_t b, uint32_t) { return bits(f(a) + f(b)); }},
        {"sub_f32", "$d, $a, $b", [=](const In&, uint32_t a, uint32_t b, uint32_t) { return bits(f(a) - f(b)); }},
        {"subrev_f32", "$d, $a, $b", [=](const In&, uint32_t a, uint32_t b, uint32_t) { return bits(f(b) - f(a)); }},
        {"mul_dx9_zero_f32", "$d, $a, $b",
         [=](const In&, uint32_t a, uint32_t b, uint32_t) { return bits(f(a) == 0 || f(b) == 0 ? 0 : f(a) * f(b)); }},
        {"mov_b32", "$d, $a", [](const In&, uint32_t a, uint32_t, uint32_t) { return a; }},
        {"cndmask_b32", "$d, $a, $b", [](const In& x, uint32_t a, uint32_t b, uint32_t) { return x.carry ? b : a; }},
        {"max_f32", "$d, $a, $b", [](const In& x, uint32_t a, uint32_t b, uint32_t) { return fmax32(x, a, b); }},
        {"min_f32", "$d, $a, $b", [](const In& x, uint32_t a, uint32_t b, uint32_t) { return fmin32(x, a, b); }},
        {"dot2acc_f32_f16", "$d, $a, $b",
         [](const In&, uint32_t a, uint32_t b, uint32_t d) { return dot_single(false, kHalf, kHalf, a, b, d); }},
        {"add_nc_u32", "$d, $a, $b", [](const In&, uint32_t a, uint32_t b, uint32_t) { return a + b; }, true},
        {"lshlrev_b32", "$d, $a, $b", [](const In&, uint32_t a, uint32_t b, uint32_t) { return b << (a & 31); }, true},
        {"and_b32", "$d, $a, $b", [](const In&, uint32_t a, uint32_t b, uint32_t) { return a & b; }, true},
    };
}
std::string dual_text(const DualOp& op, const std::string& d, const std::string& a, const std::string& b) {
    std::string text = std::string("v_dual_") + op.name + " " + op.operands;
    for (const auto& [from, to] : {std::pair{std::string("$d"), d}, {std::string("$a"), a}, {std::string("$b"), b}})
        for (size_t at; (at = text.find(from)) != std::string::npos;) text.replace(at, 2, to);
    return text;
}
bool same_float(uint32_t a, uint32_t b) { return a == b || (std::isnan(to_float(a)) && std::isnan(to_float(b))); }

TEST_F(ValuForms, EveryDualPairReadsBothHalvesBeforeWriting) {
    const auto ops = dual_ops();
    Inputs inputs(21);
    for (const DualOp& x : ops) {
        if (x.y_only) continue;
        for (const DualOp& y : ops) {
            // Y reads X's destination v0 (and the other way round): both see the values from before.
            const std::string text = dual_text(x, "v0", "v1", "v2") + " :: " + dual_text(y, "v1", "v0", "v3");
            const auto words = assembled(text, 32);
            if (words.empty()) continue;
            for (const Variant& variant : variants()) {
                Bench bench(32);
                std::vector<In> in(32);
                const uint64_t vcc = inputs.next(), exec = inputs.next() | inputs.next();
                bench.set_mask(106, vcc), bench.set_exec(exec);
                for (int lane = 0; lane < 32; ++lane) {
                    for (int i = 0; i < 4; ++i) bench.v(i, lane) = in[lane].v[i] = inputs.dword();
                    in[lane].carry = vcc >> lane & 1;
                }
                ASSERT_TRUE(bench.run(variant, words));
                for (int lane = 0; lane < 32; ++lane) {
                    const In& v = in[lane];
                    const bool active = exec >> lane & 1;
                    const uint32_t want_x = active ? x.value(v, v.v[1], v.v[2], v.v[0]) : v.v[0];
                    const uint32_t want_y = active ? y.value(v, v.v[0], v.v[3], v.v[1]) : v.v[1];
                    ASSERT_TRUE(same_float(bench.v(0, lane), want_x) && same_float(bench.v(1, lane), want_y))
                        << variant.name << " " << text << std::hex << " got " << bench.v(0, lane) << " "
                        << bench.v(1, lane) << " want " << want_x << " " << want_y;
                }
            }
        }
    }
}

TEST_F(ValuForms, DualPairsTakeScalarsAndLiterals) {
    for (const Variant& variant : variants()) {
        Bench bench(32);
        bench.wave().s[3] = float_bits(10.0f);
        for (int lane = 0; lane < 32; ++lane)
            bench.v(2, lane) = float_bits(static_cast<float>(lane)), bench.v(5, lane) = 7;
        ASSERT_TRUE(bench.run(variant, assembled("v_dual_add_f32 v8, s3, v2 :: v_dual_and_b32 v9, 5, v5\n"
                                                 "v_dual_mul_f32 v10, 0x40400000, v2 :: v_dual_mov_b32 v11, 1.0",
                                                 32)));
        for (int lane = 0; lane < 32; ++lane) {
            EXPECT_EQ(to_float(bench.v(8, lane)), 10.0f + static_cast<float>(lane));
            EXPECT_EQ(bench.v(9, lane), 5u);
            EXPECT_EQ(to_float(bench.v(10, lane)), 3.0f * static_cast<float>(lane));
            EXPECT_EQ(bench.v(11, lane), 0x3f800000u);
        }
    }
}

}  // namespace
}  // namespace strata::emu
