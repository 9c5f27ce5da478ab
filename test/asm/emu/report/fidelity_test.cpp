#include "strata/asm/emu/fidelity.h"

#include <bit>
#include <cmath>
#include <functional>

#include "../vector/harness.h"
#include "../vector/reference.h"

// The table of fidelity tells the truth: errors measured against long double keep the bands it states.
namespace strata::emu {
namespace {

using namespace valu_test;
using namespace reference;
using isa::Family;

const isa::Row& row_of(Family family, std::string_view mnemonic) {
    const isa::Row* row = isa::find_row(family, mnemonic);
    EXPECT_NE(row, nullptr) << mnemonic;
    return *row;
}

TEST(Fidelity, NamesExactSeenBandedAndApproximateInstructions) {
    using Level = Fidelity::Level;
    EXPECT_EQ(fidelity(Family::rdna3, row_of(Family::rdna3, "v_fma_f32")).level, Level::exact);
    EXPECT_EQ(fidelity(Family::rdna3, row_of(Family::rdna3, "s_add_u32")).level, Level::exact);
    EXPECT_EQ(fidelity(Family::rdna3, row_of(Family::rdna3, "v_exp_f32")).level, Level::silicon);
    const Fidelity exp = fidelity(Family::cdna3, row_of(Family::cdna3, "v_exp_f32"));
    EXPECT_EQ(exp.level, Level::ulp);
    EXPECT_EQ(exp.documented_ulp, 1);
    EXPECT_EQ(fidelity(Family::rdna4, row_of(Family::rdna4, "v_s_rcp_f32")).level, Level::silicon);
    EXPECT_EQ(fidelity(Family::cdna3, row_of(Family::cdna3, "v_log_f16")).documented_ulp, 1);
    const Fidelity iflag = fidelity(Family::rdna3, row_of(Family::rdna3, "v_rcp_iflag_f32"));
    EXPECT_EQ(iflag.level, Level::approximate);
    EXPECT_EQ(iflag.source, "no documented bound");
    EXPECT_EQ(fidelity(Family::cdna2, row_of(Family::cdna2, "v_exp_legacy_f32")).level, Level::approximate);
    EXPECT_EQ(fidelity(Family::cdna2, row_of(Family::cdna2, "v_mac_f32")).documented_ulp, 1);
    EXPECT_EQ(fidelity(Family::rdna3, row_of(Family::rdna3, "v_wmma_f32_16x16x16_f16")).level, Level::silicon);
    EXPECT_EQ(fidelity(Family::cdna3, row_of(Family::cdna3, "v_smfmac_f32_32x32x16_f16")).level, Level::approximate);
    EXPECT_EQ(fidelity(Family::rdna3, row_of(Family::rdna3, "v_wmma_i32_16x16x16_iu8")).level, Level::exact);
    EXPECT_EQ(name(Level::approximate), "approximate");
}

constexpr Family kFamilies[] = {Family::rdna3, Family::rdna4, Family::cdna3, Family::cdna2};

TEST(Fidelity, EveryRowCountsForAnInstruction) {
    for (const FidelityRow& known : fidelity_rows()) {
        bool used = false;
        for (const Family family : kFamilies)
            for (const isa::Row& row : isa::rows(family)) used |= fidelity_row(family, row) == &known;
        EXPECT_TRUE(used) << known.pattern;
    }
}

TEST(Fidelity, EveryBandHasASourceAndOnlyABandHasANumber) {
    for (const FidelityRow& known : fidelity_rows()) {
        const Fidelity& row = known.fidelity;
        EXPECT_EQ(row.level == Fidelity::Level::ulp, row.documented_ulp > 0) << known.pattern;
        EXPECT_EQ(row.level == Fidelity::Level::approximate, row.source == "no documented bound") << known.pattern;
        EXPECT_EQ(row.level == Fidelity::Level::exact, row.source.empty()) << known.pattern;
    }
}

/// As the notes of the four documents have it.
TEST(Fidelity, BandsOfHalvesDifferByFamily) {
    for (const char* name : {"v_exp_f16", "v_log_f16", "v_rcp_f16", "v_rsq_f16", "v_sqrt_f16"})
        for (const Family family : kFamilies) {
            const Fidelity known = fidelity(family, row_of(family, name));
            if (known.level == Fidelity::Level::silicon) continue;
            EXPECT_EQ(known.documented_ulp, family == Family::rdna3 || family == Family::cdna2 ? 0.51 : 1) << name;
        }
}

TEST(Fidelity, EveryTranscendentalInstructionIsInTheTable) {
    for (const Family family : kFamilies)
        for (const isa::Row& row : isa::rows(family))
            if (row.flags & isa::kTrans && row.mnemonic.starts_with("v_")) {
                EXPECT_NE(fidelity(family, row).level, Fidelity::Level::exact) << row.mnemonic;
            }
}

constexpr Wide kTurn = 2 * 3.14159265358979323846264338327950288L;
Wide sine(Wide turns) {
    const Wide r = turns - std::nearbyint(turns);
    return std::fabs(r) == 0.5L ? 0 : std::sin(kTurn * r);
}
Wide cosine(Wide turns) {
    const Wide r = std::fabs(turns - std::nearbyint(turns));
    return r == 0.25L ? 0 : std::cos(kTurn * r);
}
/// With the worst errors in units in the last place: those of RDNA's singles are the chips' own.
struct Function {
    const char* name;
    Wide (*value)(Wide);
    Wide rdna_single, rdna_half;
};
constexpr Function kFunctions[] = {{"v_exp", [](Wide x) { return std::exp2(x); }, 0.75L, 0.5L},
                                   {"v_log", [](Wide x) { return std::log2(x); }, 1, 0.5L},
                                   {"v_rcp", [](Wide x) { return 1 / x; }, 0.9L, 0.5L},
                                   {"v_rsq", [](Wide x) { return 1 / std::sqrt(x); }, 0.9L, 0.5L},
                                   {"v_sqrt", [](Wide x) { return std::sqrt(x); }, 0.9L, 0.5L},
                                   {"v_sin", sine, 10, 0.5003L},
                                   {"v_cos", cosine, 10, 0.5003L}};

struct Format {
    int digits, least;  ///< mantissa digits with the hidden one, exponent of the last place of denormals
    bool half;
    Wide value(uint32_t x) const { return half ? half_value(x & 0xffff) : Wide(to_float(x)); }
    Wide least_normal() const { return std::ldexp(Wide(1), least + digits - 1); }
};

/// The error in units in the last place; 0 where there is none to speak of.
Wide error_in_ulp(const Format& format, Wide want, Wide got) {
    if (std::isnan(want) || std::isinf(want) || std::isinf(got)) return 0;
    int exponent = 0;
    std::frexp(want, &exponent);
    return std::fabs(got - want) / std::ldexp(Wide(1), std::max(exponent - format.digits, format.least));
}

/// The largest error over every `step`th input.
Wide worst_error(const Variant& variant, isa::Arch arch, const Function& function, const Format& format,
                 uint64_t step) {
    const std::string text = std::string(function.name) + (format.half ? "_f16" : "_f32") + " v8, v0";
    constexpr int kWave = 64;
    Bench bench(kWave);
    Code code;
    if (!code.load(variant, assembled(text, kWave, arch), kWave, arch)) return 1e9L;
    const bool flushes = !format.half && !text.starts_with("v_sin") && !text.starts_with("v_cos");
    Wide worst = 0;
    for (uint64_t first = 0; first < (format.half ? 0x10000u : 0x100000000u); first += kWave * step) {
        for (uint64_t lane = 0; lane < kWave; ++lane)
            bench.v(0, static_cast<int>(lane)) = static_cast<uint32_t>(first + lane * step);
        if (!bench.run(code)) return 1e9L;
        for (int lane = 0; lane < kWave; ++lane) {
            const Wide x = format.value(bench.v(0, lane)), want = function.value(x);
            const bool flushed =
                flushes && (std::fabs(x) < format.least_normal() || std::fabs(want) < format.least_normal());
            if (std::isnan(x) || std::isinf(x) || flushed) continue;
            worst = std::max(worst, error_in_ulp(format, want, format.value(bench.v(8, lane))));
        }
    }
    return worst;
}

class Errors : public testing::TestWithParam<isa::Arch> {
  protected:
    void SetUp() override {
        if (!isa::llvm_available()) GTEST_SKIP() << "needs libLLVM 19 to assemble";
    }
    bool cdna() const { return isa::is_cdna(isa::info(GetParam()).family); }
};
INSTANTIATE_TEST_SUITE_P(Archs, Errors,
                         testing::Values(isa::Arch::gfx1100, isa::Arch::gfx1201, isa::Arch::gfx942, isa::Arch::gfx90a),
                         [](const auto& info) { return std::string(isa::info(info.param).name); });

TEST_P(Errors, OfTranscendentalsOfAllHalvesAreThoseOfRounding) {
    const Format half{11, -24, true};
    for (const Variant& variant : variants())
        for (const Function& function : kFunctions)
            EXPECT_LE(worst_error(variant, GetParam(), function, half, 1), cdna() ? 0.5L : function.rdna_half)
                << variant.name << " " << function.name;
}

TEST_P(Errors, OfTranscendentalsOfSinglePrecisionStayWithinTheirBand) {
    const Format single{24, -149, false};
    for (const Variant& variant : variants())
        for (const Function& function : kFunctions)
            EXPECT_LE(worst_error(variant, GetParam(), function, single, 40961),
                      cdna() ? 0.5001L : function.rdna_single)
                << variant.name << " " << function.name;
}

}  // namespace
}  // namespace strata::emu
