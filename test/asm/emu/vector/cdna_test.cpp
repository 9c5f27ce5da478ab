#include <algorithm>
#include <cfenv>
#include <cfloat>
#include <cmath>
#include <set>

#include "cases.h"

// Vector instructions of CDNA2 and CDNA3, each against a scalar reference.
namespace strata::emu {
namespace {

using namespace valu_test;
using isa::Arch;

constexpr Arch kArchs[] = {Arch::gfx942, Arch::gfx90a};

// ---- references too long for a row ----
float ftz(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }
float mad32(float a, float b, float d) {
    const float product = ftz(a) * ftz(b);
    const float sum = ftz(product) + ftz(d);
    return ftz(sum);
}
Wide flushed_half(uint32_t half) { return half_value((half & 0x7c00) == 0 ? half & 0x8000 : half & 0xffff); }
uint32_t mad16(uint32_t a, uint32_t b, uint32_t d) {
    const uint32_t product = half_bits(flushed_half(a) * flushed_half(b));
    const uint32_t sum = half_bits(flushed_half(product) + flushed_half(d));
    return (sum & 0x7c00) == 0 ? sum & 0x8000 : sum;
}
int64_t dot2_i16(const In& x, int32_t sum) {
    return int64_t{x.i16(0)} * x.i16(1) + int64_t{x.shi16(0)} * x.shi16(1) + sum;
}
uint32_t signed_dot(const In& x, int width, int32_t start, bool clamp) {
    int64_t sum = start;
    for (int i = 0; i < 32; i += width) sum += sext(x.u(0) >> i, width) * sext(x.u(1) >> i, width);
    return static_cast<uint32_t>(clamp ? std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX) : sum);
}
float dot2_halves(const In& x, float sum) {
    auto half = [&](uint32_t h) { return static_cast<float>(flushed_half(h)); };
    const float low = ftz(half(x.u16(0)) * half(x.u16(1)) + ftz(sum));
    return ftz(half(x.hi16(0)) * half(x.hi16(1)) + low);
}
uint64_t singles(float low, float high) { return float_bits(low) | uint64_t{float_bits(high)} << 32; }
/// Clamp to [0, 1]; NaN becomes 0 with DX10_CLAMP, which the test's MODE has together with IEEE.
float unit(const In& x, float value) {
    if (std::isnan(value)) return x.ieee ? 0.0f : value;
    return value > 0 ? std::min(value, 1.0f) : 0.0f;
}

struct CdnaCase {
    std::vector<Arch> archs;
    Case row;
};
const std::vector<CdnaCase>& cdna_cases() {
    static const std::vector<Arch> cdna = {Arch::gfx942, Arch::gfx90a}, gfx942 = {Arch::gfx942},
                                   gfx90a = {Arch::gfx90a};
    static const std::vector<CdnaCase> cases = {
#define CASE(archs, text, check, ...) \
    {archs, {text, Check::check, []([[maybe_unused]] const In& x) { return Out(__VA_ARGS__); }}},
#include "cdna_cases.inc"
#undef CASE
    };
    return cases;
}

/// The 16-bit instructions that GFX9 brought: they keep the half that they do not write.
High rest_of(const std::string& text) {
    static const std::set<std::string> keeping = {
        "v_mad_f16",  "v_mad_u16",  "v_mad_i16",  "v_fma_f16",  "v_div_fixup_f16", "v_add_i16",
        "v_sub_i16",  "v_min3_f16", "v_max3_f16", "v_med3_f16", "v_min3_i16",      "v_max3_i16",
        "v_med3_i16", "v_min3_u16", "v_max3_u16", "v_med3_u16", "v_fma_mixlo_f16"};
    return keeping.count(text.substr(0, text.find(' '))) ? High::kept : High::zero;
}

class Cdna : public testing::TestWithParam<Arch> {
  protected:
    Cdna() : bench(64) {}
    void SetUp() override {
        if (!isa::llvm_available()) GTEST_SKIP() << "needs libLLVM 19 to assemble";
    }
    void check(const Case& row, const std::vector<uint32_t>& words) {
        SCOPED_TRACE(std::string(isa::info(GetParam()).name) + ": " + row.text);
        for (const Variant& variant : variants()) {
            Code code;
            if (code.load(variant, words, 64, GetParam())) check_case(row, variant, 64, bench, code, rest_of(row.text));
        }
    }
    Bench bench;
};

/// RDNA3's names where CDNA spells the same operation differently.
const std::vector<std::pair<std::string, std::string>> kSpellings = {
    {"v_add_co_ci_u32", "v_addc_co_u32"},
    {"v_sub_co_ci_u32", "v_subb_co_u32"},
    {"v_subrev_co_ci_u32", "v_subbrev_co_u32"},
    {"v_add_nc_", "v_add_"},
    {"v_sub_nc_", "v_sub_"},
    {"v_subrev_nc_", "v_subrev_"},
    {"v_clz_i32_u32", "v_ffbh_u32"},
    {"v_ctz_i32_b32", "v_ffbl_b32"},
    {"v_cls_i32", "v_ffbh_i32"},
    {"v_cvt_floor_i32_f32", "v_cvt_flr_i32_f32"},
    {"v_cvt_nearest_i32_f32", "v_cvt_rpi_i32_f32"},
    {"v_cvt_pk_norm_", "v_cvt_pknorm_"},
    {"v_cvt_pk_rtz_", "v_cvt_pkrtz_"},
};

TEST_P(Cdna, OperationsOfRdna3KeepTheirMeaning) {
    int known = 0;
    for (const Case& row : kCases) {
        std::string text = for_wave(row.text, 64);
        for (const auto& [theirs, ours] : kSpellings) text = replaced(text, theirs, ours);
        if (text.starts_with("v_dot2_f32_f16")) continue;  // flushes: a case of its own
        const auto words = isa::assemble_instructions(text, GetParam(), 64);
        if (!words) continue;  // CDNA has no such instruction or form
        known++;
        check({text.c_str(), row.check, row.reference}, *words);
    }
    EXPECT_GE(known, 250);
}

TEST_P(Cdna, ItsOwnOperationsAgreeWithAScalarReference) {
    for (const CdnaCase& one : cdna_cases()) {
        if (std::find(one.archs.begin(), one.archs.end(), GetParam()) == one.archs.end()) continue;
        check(one.row, assembled(one.row.text, 64, GetParam()));
    }
}

/// Only the table of screen partitions, a graphics instruction, is not executed.
TEST_P(Cdna, EveryVectorRowHasAHandler) {
    using isa::Format;
    const std::set<Format> formats = {Format::VOP1, Format::VOP2,   Format::VOPC,
                                      Format::VOP3, Format::VOP3SD, Format::VOP3P};
    for (const Variant& variant : variants()) {
        std::set<std::string> missing;
        for (const isa::Row& row : isa::rows(isa::info(GetParam()).family)) {
            if (!formats.count(row.format)) continue;
            isa::Inst inst;
            inst.row = &row;
            inst.encoding = row.format;
            auto place = [](isa::Type type) {
                const bool mask = type == isa::Type::lanes;
                return isa::Operand{static_cast<uint16_t>(mask ? isa::code::vcc_lo : isa::code::vgpr0 + 16), type};
            };
            for (size_t i = 0; i < row.dst.size(); ++i) inst.dst[i] = place(row.dst[i]);
            for (size_t i = 0; i < row.src.size(); ++i) inst.src[i] = place(row.src[i]);
            if (!variant.choose({inst, GetParam(), 64})) missing.insert(std::string(row.mnemonic));
        }
        EXPECT_EQ(missing, std::set<std::string>{"v_screen_partition_4se_b32"}) << variant.name;
    }
}

/// Bits of lanes that compare true, for one relation of a type.
bool holds(const std::string& relation, Wide a, Wide b) {
    const bool unordered = std::isnan(a) || std::isnan(b);
    if (relation == "f" || relation == "t" || relation == "tru") return relation != "f";
    if (relation == "o" || relation == "u") return unordered == (relation == "u");
    if (relation == "lt") return a < b;
    if (relation == "eq") return a == b;
    if (relation == "le") return a <= b;
    if (relation == "gt") return a > b;
    if (relation == "ge") return a >= b;
    if (relation == "ne" || relation == "neq") return a != b;
    if (relation == "lg") return a < b || a > b;
    return !holds(relation.substr(1), a, b);  // nlt, nge, ...
}
Wide typed(Bench& bench, const std::string& type, int row, int lane) {
    const uint32_t x = bench.v(row, lane);
    if (type == "f16") return half_value(x & 0xffff);
    if (type == "f32") return to_float(x);
    if (type == "f64") return to_double(bench.v64(row, lane));
    if (type == "i16") return static_cast<int16_t>(x);
    if (type == "u16") return x & 0xffff;
    if (type == "i32") return static_cast<int32_t>(x);
    if (type == "u32") return x;
    return type == "i64" ? Wide(static_cast<int64_t>(bench.v64(row, lane))) : Wide(bench.v64(row, lane));
}

TEST_P(Cdna, ComparisonsWriteTheirMaskAndCmpxWritesExecToo) {
    Inputs inputs(7);
    const std::vector<std::string> floats = {"f", "lt",  "eq",  "le",  "gt",  "lg",  "ge",  "o",
                                             "u", "nge", "nlg", "ngt", "nle", "neq", "nlt", "tru"};
    const std::vector<std::string> integers = {"f", "lt", "eq", "le", "gt", "ne", "ge", "t"};
    for (const std::string type : {"f16", "f32", "f64", "i16", "u16", "i32", "u32", "i64", "u64"})
        for (const std::string& relation : type[0] == 'f' ? floats : integers)
            for (const std::string kind : {"v_cmp_", "v_cmpx_"})
                for (const std::string to : {"vcc", "s[20:21]"}) {
                    const bool wide = type.substr(1) == "64", exec_too = kind == "v_cmpx_";
                    const std::string text = kind + relation + "_" + type + (to == "vcc" ? "_e32 " : "_e64 ") + to +
                                             (wide ? ", v[0:1], v[2:3]" : ", v0, v2");
                    for (const Variant& variant : variants()) {
                        const uint64_t exec = inputs.next();
                        bench.set_exec(exec);
                        uint64_t want = 0;
                        for (int lane = 0; lane < 64; ++lane) {
                            for (int i = 0; i < 4; ++i) bench.v(i, lane) = inputs.dword();
                            if (lane % 4 == 0) bench.v(2, lane) = bench.v(0, lane), bench.v(3, lane) = bench.v(1, lane);
                            const bool set = holds(relation, typed(bench, type, 0, lane), typed(bench, type, 2, lane));
                            want |= uint64_t{set && (exec >> lane & 1)} << lane;
                        }
                        ASSERT_TRUE(bench.run(variant, assembled(text, 64, GetParam()), GetParam())) << text;
                        ASSERT_EQ(bench.s64(to == "vcc" ? 106 : 20), want) << variant.name << " " << text;
                        ASSERT_EQ(bench.wave().exec(), exec_too ? want : exec) << variant.name << " " << text;
                    }
                }
}

/// MODE: 0 nearest, 1 up, 2 down, 3 to zero for singles; 0x30 keeps their denormals.
TEST_P(Cdna, PairsOfSinglesFollowMode) {
    constexpr int kHost[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    const int saved = std::fegetround();
    Inputs inputs(9);
    for (const Variant& variant : variants())
        for (uint32_t mode = 0; mode < 4; ++mode)
            for (uint32_t denormals : {0u, 0x10u, 0x20u, 0x30u}) {
                bench.set_exec(~uint64_t{0});
                for (int lane = 0; lane < 64; ++lane)
                    for (int row = 0; row < 6; ++row)
                        bench.v(row, lane) = inputs.dword() & (lane & 1 ? ~0u : 0x80ffffff);
                bench.wave().mode = 0xc0 | denormals | mode;
                ASSERT_TRUE(bench.run(variant,
                                      assembled("v_pk_fma_f32 v[8:9], v[0:1], v[2:3], v[4:5]\n"
                                                "v_pk_add_f32 v[10:11], v[0:1], v[2:3]",
                                                64, GetParam()),
                                      GetParam()));
                for (int lane = 0; lane < 64; ++lane)
                    for (int i = 0; i < 2; ++i) {
                        auto in = [&](int row) {
                            const float x = to_float(bench.v(row + i, lane));
                            return denormals & 0x10 ? x : ftz(x);
                        };
                        auto out = [&](float x) { return denormals & 0x20 ? x : ftz(x); };
                        std::fesetround(kHost[mode]);
                        const volatile float a = in(0), b = in(2), c = in(4);
                        const volatile float fused = out(std::fma(a, b, c)), sum = out(a + b);
                        std::fesetround(saved);
                        for (const auto& [got, want] :
                             {std::pair<uint32_t, float>{bench.v(8 + i, lane), fused}, {bench.v(10 + i, lane), sum}})
                            // Where flushing is on, the document leaves open whether a result that rounding lifts to
                            // the smallest normal number counts as denormal.
                            ASSERT_TRUE(got == float_bits(want) || (nan32(got) && std::isnan(want)) ||
                                        (!(denormals & 0x20) && std::abs(want) == FLT_MIN && (got & 0x7fffffff) == 0))
                                << variant.name << " mode " << mode << " " << denormals << " got " << got << " want "
                                << float_bits(want) << " of " << a << " " << b << " " << c;
                    }
            }
}

INSTANTIATE_TEST_SUITE_P(Archs, Cdna, testing::ValuesIn(kArchs),
                         [](const auto& info) { return std::string(isa::info(info.param).name); });

}  // namespace
}  // namespace strata::emu
