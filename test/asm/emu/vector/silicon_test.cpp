#include <bit>
#include <cmath>
#include <optional>

#include "dot_reference.h"
#include "harness.h"

// Bits that chips gave, and models that give the same on random operands.
namespace strata::emu {
namespace {

using namespace valu_test;
using isa::Arch;

constexpr int kWave = 32;

class Silicon : public testing::TestWithParam<Arch> {
  protected:
    void SetUp() override {
        if (!isa::llvm_available()) GTEST_SKIP() << "needs libLLVM 19 to assemble";
    }
    Arch arch() const { return GetParam(); }
    bool rdna4() const { return arch() == Arch::gfx1201; }
};
INSTANTIATE_TEST_SUITE_P(Archs, Silicon, testing::Values(Arch::gfx1100, Arch::gfx1201),
                         [](const auto& info) { return std::string(isa::info(info.param).name); });

constexpr std::optional<uint32_t> word(std::string_view digits) {
    if (digits == "none") return std::nullopt;
    uint32_t value = 0;
    for (const char c : digits) value = value * 16 + static_cast<uint32_t>(c <= '9' ? c - '0' : c - 'a' + 10);
    return value;
}

struct DotCapture {
    std::string name;
    uint32_t a, b, c;
    std::optional<uint32_t> gfx1100, gfx1201;
};
const std::vector<DotCapture>& dot_captures() {
    static const std::vector<DotCapture> all = {
#define CAPTURE(name, a, b, c, gfx1100, gfx1201) \
    {#name, *word(#a), *word(#b), *word(#c), word(#gfx1100), word(#gfx1201)},
#include "captures.def"
#undef CAPTURE
    };
    return all;
}

uint32_t modelled(const std::string& name, bool rdna4, uint32_t a, uint32_t b, uint32_t c, bool saturates = false) {
    using namespace reference;
    const NumberFormat& brain = brain_format(rdna4);
    if (name == "v_dot2_f32_f16") return dot_single(rdna4, kHalf, kHalf, a, b, c);
    if (name == "v_dot2_f32_bf16") return dot_single(rdna4, brain, brain, a, b, c);
    if (name == "v_dot2_f16_f16") return dot2_f16(rdna4, a, b, c & 0xffff, saturates);
    if (name == "v_dot2_bf16_bf16") return dot2_bf16(rdna4, a, b, c & 0xffff);
    auto bytes = [&](size_t at) { return name.substr(at, 3) == "fp8" ? kFp8 : kBf8; };
    return dot_single(rdna4, bytes(11), bytes(15), a, b, c);
}

TEST_P(Silicon, SumsOfProductsGiveTheBitsOfTheChip) {
    for (const Variant& variant : variants()) {
        for (const DotCapture& x : dot_captures()) {
            const std::optional<uint32_t> want = rdna4() ? x.gfx1201 : x.gfx1100;
            if (!want) continue;
            Bench bench(kWave);
            bench.v(0, 0) = x.a, bench.v(1, 0) = x.b, bench.v(2, 0) = x.c;
            ASSERT_TRUE(bench.run(variant, assembled(x.name + " v3, v0, v1, v2", kWave, arch()), arch()));
            EXPECT_EQ(bench.v(3, 0), *want) << variant.name << " " << x.name << std::hex << " " << x.a << " " << x.b;
            EXPECT_EQ(modelled(x.name, rdna4(), x.a, x.b, x.c), *want) << "the model";
        }
    }
}

/// Operands whose sums cancel, whose exponents lie apart, and what is special.
uint32_t dot_operand(Inputs& inputs, uint32_t other) {
    const uint32_t x = inputs.dword();
    switch (inputs.next() & 3) {
        case 0: return other ^ 0x80000000;
        case 1: return x & 0xbfffbfff;
        default: return x;
    }
}

TEST_P(Silicon, SumsOfProductsAreTheModelsInEveryModeNanIncluded) {
    std::vector<std::string> names = {"v_dot2_f32_f16", "v_dot2_f32_bf16", "v_dot2_f16_f16", "v_dot2_bf16_bf16"};
    if (rdna4())
        for (const char* bytes : {"fp8_fp8", "fp8_bf8", "bf8_fp8", "bf8_bf8"})
            names.push_back(std::string("v_dot4_f32_") + bytes);
    for (const Variant& variant : variants()) {
        for (const std::string& name : names) {
            const bool narrow = name == "v_dot2_f16_f16" || name == "v_dot2_bf16_bf16";
            Code code;
            ASSERT_TRUE(code.load(variant, assembled(name + " v3, v0, v1, v2", kWave, arch()), kWave, arch()));
            Inputs inputs(11);
            for (uint32_t round = 0; round < 256; ++round) {
                Bench bench(kWave);
                const bool saturates = round & 1;
                bench.wave().mode = (round & 0xff) | (saturates ? mode::kFp16Ovfl : 0);
                for (int lane = 0; lane < kWave; ++lane) {
                    bench.v(0, lane) = inputs.dword();
                    bench.v(1, lane) = dot_operand(inputs, bench.v(0, lane));
                    bench.v(2, lane) = inputs.dword();
                }
                ASSERT_TRUE(bench.run(code));
                for (int lane = 0; lane < kWave; ++lane) {
                    const uint32_t a = bench.v(0, lane), b = bench.v(1, lane), c = bench.v(2, lane);
                    const uint32_t got = bench.v(3, lane) & (narrow ? 0xffff : ~0u);
                    ASSERT_EQ(got, modelled(name, rdna4(), a, b, c, saturates))
                        << variant.name << " " << name << std::hex << " " << a << " " << b << " " << c;
                }
            }
        }
    }
}

/// Two factors of moderate size, zeros and denormals among them; equal ones of the other sign, so that sums cancel.
uint32_t plain_pair(Inputs& inputs, bool brain, uint32_t other) {
    uint32_t pair = 0;
    if ((inputs.next() & 7) == 0) return other ^ 0x80000000;
    for (int shift = 0; shift < 32; shift += 16) {
        const uint32_t x = inputs.dword() >> 16, exponent = static_cast<uint32_t>(inputs.next() % 20);
        const uint32_t half = (x & 0x83ff) | exponent << 10, brains = (x & 0x807f) | (127 - 34 + 3 * exponent) << 7;
        pair |= ((inputs.next() & 7) == 0 ? x & 0x8000 : brain ? brains : half) << shift;
    }
    return pair;
}
uint32_t plain_addend(Inputs& inputs, const std::string& name) {
    const uint32_t x = inputs.dword(), spread = static_cast<uint32_t>(inputs.next() % 64);
    if ((inputs.next() & 7) == 0)
        return x & (name.ends_with("_f16_f16") || name.ends_with("_bf16_bf16") ? 0x8000 : 0x80000000);
    if (name == "v_dot2_f16_f16") return (x & 0x83ff) | (spread % 30) << 10;
    if (name == "v_dot2_bf16_bf16") return (x & 0x807f) | (127 - 40 + spread) << 7;
    return (x & 0x807fffff) | (127 - 40 + spread) << 23;
}

std::vector<const char*> plain_names(bool rdna4) {
    std::vector<const char*> names = {"v_dot2_f32_f16", "v_dot2_f32_bf16", "v_dot2_f16_f16", "v_dot2_bf16_bf16"};
    if (rdna4)
        for (const char* bytes :
             {"v_dot4_f32_fp8_fp8", "v_dot4_f32_fp8_bf8", "v_dot4_f32_bf8_fp8", "v_dot4_f32_bf8_bf8"})
            names.push_back(bytes);
    return names;
}

TEST_P(Silicon, SumsOfPlainProductsAreTheModels) {
    for (const Variant& variant : variants())
        for (const char* name : plain_names(rdna4())) {
            const bool narrow = name == std::string("v_dot2_f16_f16") || name == std::string("v_dot2_bf16_bf16");
            const bool brain = std::string_view(name).ends_with("bf16");
            Code code;
            ASSERT_TRUE(
                code.load(variant, assembled(std::string(name) + " v3, v0, v1, v2", kWave, arch()), kWave, arch()));
            Inputs inputs(12);
            for (uint32_t round = 0; round < 2000; ++round) {
                Bench bench(kWave);
                for (int lane = 0; lane < kWave; ++lane) {
                    bench.v(0, lane) = plain_pair(inputs, brain, 0x3c003c00);
                    bench.v(1, lane) = plain_pair(inputs, brain, bench.v(0, lane));
                    if (std::string_view(name).starts_with("v_dot4"))  // no byte has all exponent bits
                        bench.v(0, lane) &= 0xbfbfbfbf, bench.v(1, lane) &= 0xbfbfbfbf;
                    bench.v(2, lane) = plain_addend(inputs, name);
                }
                if (round % 4 == 0) bench.v(0, static_cast<int>(round) / 4 % kWave) = 0x7f807e00;  // one lane is not
                ASSERT_TRUE(bench.run(code));
                for (int lane = 0; lane < kWave; ++lane) {
                    const uint32_t a = bench.v(0, lane), b = bench.v(1, lane), c = bench.v(2, lane);
                    ASSERT_EQ(bench.v(3, lane) & (narrow ? 0xffff : ~0u), modelled(name, rdna4(), a, b, c))
                        << variant.name << " " << name << std::hex << " " << a << " " << b << " " << c;
                }
            }
        }
}

// A row, a column and an addend for which the two wave sizes of gfx1201 add up to different bits.
TEST(SiliconMatrix, ProductsOfGfx1201AddFourAtATimeInTheOrderOfTheWaveSize) {
    if (!isa::llvm_available()) GTEST_SKIP() << "needs libLLVM 19 to assemble";
    constexpr uint32_t kRow[] = {0xc6e1, 0xb1ea, 0xd31d, 0x2d4f, 0x4a45, 0xd1f1, 0x3362, 0xc244,
                                 0x4a75, 0x443e, 0x5623, 0x4ec3, 0x57c7, 0xb82e, 0xcf34, 0x3660},
                       kColumn[] = {0xd36c, 0xc886, 0x2f3d, 0x30a3, 0xd070, 0xb2cb, 0x4759, 0xcf27,
                                    0x4ed4, 0x3c97, 0xae37, 0xb63f, 0x35f0, 0x3a25, 0xb0d8, 0x405a};
    for (const int lanes : {32, 64})
        for (const Variant& variant : variants()) {
            Bench bench(lanes);
            const int registers = lanes == 32 ? 4 : 2;
            for (int lane = 0; lane < lanes; ++lane) {
                for (int r = 0; r < registers; ++r) {  // RDNA4 ISA 7.12.2
                    const int k =
                        (lanes == 32 ? 8 * (r / 2) + 2 * (r % 2) : 8 * (lane / 32) + 2 * r) + 4 * (lane / 16 % 2);
                    bench.v(r, lane) = kRow[k] | kRow[k + 1] << 16;
                    bench.v(4 + r, lane) = kColumn[k] | kColumn[k + 1] << 16;
                }
                for (int r = 8; r < 16; ++r) bench.v(r, lane) = 0xbf6ba3b9;
            }
            const std::string text = lanes == 32 ? "v_wmma_f32_16x16x16_f16 v[16:23], v[0:3], v[4:7], v[8:15]"
                                                 : "v_wmma_f32_16x16x16_f16 v[16:19], v[0:1], v[4:5], v[8:11]";
            ASSERT_TRUE(bench.run(variant, assembled(text, lanes, Arch::gfx1201), Arch::gfx1201));
            for (int lane = 0; lane < lanes; ++lane)
                ASSERT_EQ(bench.v(16, lane), lanes == 32 ? 0x43dfc44bu : 0x43dfc44au) << variant.name << " " << lane;
        }
}

TEST_P(Silicon, ExponentialsAndLogarithmsGiveTheBitsOfTheChip) {
    struct Curve {
        std::string name;
        uint32_t argument, result;
    };
    const std::vector<Curve> curves = {
#define CURVE(name, argument, result) {#name, *word(#argument), *word(#result)},
#include "curves.def"
#undef CURVE
    };
    for (const Variant& variant : variants()) {
        for (const Curve& x : curves) {
            Bench bench(kWave);
            bench.v(0, 0) = x.argument;
            ASSERT_TRUE(bench.run(variant, assembled(x.name + "_e32 v1, v0", kWave, arch()), arch()));
            EXPECT_EQ(bench.v(1, 0), x.result) << variant.name << " " << x.name << std::hex << " " << x.argument;
        }
    }
}

TEST_P(Silicon, OfAHalfTheResultIsThatOfTheSingleRounded) {
    for (const Variant& variant : variants())
        for (const std::string name : {"sqrt", "rcp", "rsq", "log"}) {
            Code code;
            const std::string text =
                "v_cvt_f32_f16 v1, v0\nv_" + name + "_f32 v1, v1\nv_cvt_f16_f32 v1, v1\nv_" + name + "_f16 v2, v0";
            ASSERT_TRUE(code.load(variant, assembled(text, kWave, arch()), kWave, arch()));
            Bench bench(kWave);
            for (uint32_t half = 0; half < 0x10000; half += kWave) {
                for (uint32_t lane = 0; lane < kWave; ++lane) bench.v(0, static_cast<int>(lane)) = half + lane;
                ASSERT_TRUE(bench.run(code));
                for (int lane = 0; lane < kWave; ++lane)
                    ASSERT_EQ(bench.v(2, lane) & 0xffff, bench.v(1, lane) & 0xffff)
                        << variant.name << " " << name << " " << half + lane;
            }
        }
}

TEST_P(Silicon, WithFp16OvflPolesOfGfx1201AreTheLargestHalf) {
    struct Pole {
        const char* text;
        uint32_t argument, infinite;
    };
    for (const Variant& variant : variants())
        for (const Pole& x : {Pole{"v_rcp_f16 v1, v0", 0, 0x7c00}, Pole{"v_rcp_f16 v1, v0", 0x8000, 0xfc00},
                              Pole{"v_rsq_f16 v1, v0", 0, 0x7c00}, Pole{"v_rsq_f16 v1, v0", 0x8000, 0xfc00},
                              Pole{"v_log_f16 v1, v0", 0, 0xfc00}}) {
            Bench bench(kWave);
            bench.wave().mode = mode::kPlain | mode::kFp16Ovfl;
            bench.v(0, 0) = x.argument;
            ASSERT_TRUE(bench.run(variant, assembled(x.text, kWave, arch()), arch()));
            EXPECT_EQ(bench.v(1, 0) & 0xffff, x.infinite - (rdna4() ? 1 : 0)) << variant.name << " " << x.text;
        }
}

// AMD's own model of the two chips' reciprocals. It has polynomials that round once, and a list of the arguments where
// the chips give one unit more or less. The list (ROCm/rocm-systems,
// emulation/rocjitsu/lib/util/include/util/amdgpu_rcp.h and amdgpu_rsq.h, MIT) is here as its length and an FNV-1a
// digest.
struct Interval {
    uint64_t constant, linear, quadratic, cubic;
};
std::vector<Interval> intervals(std::string_view wanted) {
    std::vector<Interval> all;
#define POLYNOMIAL(table, c0, c1, c2, c3, below) \
    if (wanted == #table) all.push_back({uint64_t(c0), uint64_t(c1), uint64_t(c2), uint64_t(c3)});
#include "strata/asm/emu/vector/trans_rdna.def"
#undef POLYNOMIAL
    return all;
}
uint32_t published_polynomial(const Interval& x, bool root, uint64_t along) {
    const uint64_t product = x.linear * along;
    const int large = product >> (root ? 37 : 38) != 0, cut = (root ? 13 : 14) + large, unit = root ? 5 : 4;
    const uint64_t half = uint64_t{1} << (cut - 1),
                   linear = (product + half - 1 + (product >> cut & 1)) >> cut << large;
    const uint64_t bend = (x.quadratic << 18) - x.cubic * along, square = (along & ~1u) * (along & ~1u);
    const uint64_t bent = ((bend >> 17) * square + ((bend & 0x1ffff) * square >> 17)) >> 34;
    return static_cast<uint32_t>(((x.constant << unit) - linear + (bent << (unit - 3)) + (2u << unit)) >> (unit + 2));
}

TEST_P(Silicon, ReciprocalsDifferFromThePublishedPolynomialWhereTheChipsDo) {
    struct Known {
        const char* text;
        bool root;
        uint32_t arguments, corrections;
        uint64_t digest;
    };
    for (const Variant& variant : variants())
        for (const Known& x : {Known{"v_rcp_f32 v1, v0", false, 1u << 23, 2761, 0x539a5e0e23741a47},
                               Known{"v_rsq_f32 v1, v0", true, 1u << 24, 2484, 0xee4675ce232f1559}}) {
            const std::vector<Interval> table = intervals(x.root ? "rsq" : "rcp");
            Code code;
            ASSERT_TRUE(code.load(variant, assembled(x.text, kWave, arch()), kWave, arch()));
            Bench bench(kWave);
            uint64_t digest = 14695981039346656037u;
            uint32_t corrections = 0;
            for (uint32_t at = 0; at < x.arguments; at += kWave) {
                for (uint32_t lane = 0; lane < kWave; ++lane)
                    bench.v(0, static_cast<int>(lane)) = 0x3f800000 + at + lane;
                ASSERT_TRUE(bench.run(code));
                for (uint32_t lane = 0; lane < kWave; ++lane) {
                    const uint32_t index = at + lane, got = bench.v(1, static_cast<int>(lane));
                    const uint32_t more =
                        got - 0x3e800000 - published_polynomial(table[index >> 18], x.root, index & 0x3ffff);
                    if (more == 0) continue;
                    ASSERT_TRUE(more == 1 || more == ~0u) << variant.name << " " << x.text << " " << index;
                    digest = (digest ^ (index << 1 | (more == 1))) * 1099511628211u, ++corrections;
                }
            }
            EXPECT_EQ(corrections, x.corrections) << variant.name << " " << x.text;
            EXPECT_EQ(digest, x.digest) << variant.name << " " << x.text;
        }
}

TEST_P(Silicon, ReciprocalsOfEveryExponentAreThoseOfOneScaled) {
    for (const Variant& variant : variants())
        for (const bool root : {false, true}) {
            const char* text = root ? "v_rsq_f32 v1, v0" : "v_rcp_f32 v1, v0";
            Code code;
            ASSERT_TRUE(code.load(variant, assembled(text, kWave, arch()), kWave, arch()));
            Inputs inputs(13);
            for (int exponent = -126; exponent <= 127; exponent += root ? 2 : 1) {
                Bench of_one(kWave), scaled(kWave);
                for (int lane = 0; lane < kWave; ++lane) {
                    const uint32_t sign = root || lane % 2 ? 0 : 0x80000000;
                    of_one.v(0, lane) = sign | 0x3f800000 | (lane > 1 ? inputs.dword() & 0x7fffff : 0);
                    scaled.v(0, lane) = of_one.v(0, lane) + (static_cast<uint32_t>(exponent) << 23);
                }
                ASSERT_TRUE(of_one.run(code) && scaled.run(code));
                for (int lane = 0; lane < kWave; ++lane) {
                    const float one = std::bit_cast<float>(of_one.v(1, lane)),
                                want = std::ldexp(one, root ? -exponent / 2 : -exponent);
                    ASSERT_EQ(scaled.v(1, lane),
                              std::bit_cast<uint32_t>(std::fabs(want) < 0x1p-126f ? std::copysign(0.0f, want) : want))
                        << variant.name << " " << text << " 2^" << exponent;
                }
            }
        }
}

// The square root's polynomial in integers: its linear part is rounded to 2^-3 of the last place, the bend to 2^-12.
uint32_t root_in_integers(uint32_t x) {
    static const std::vector<Interval> table = intervals("sqrt");
    const uint32_t index = (x & 0xffffff) ^ 0x800000;
    const Interval& at = table[index >> 19];
    const uint64_t along = index & 0x7ffff, product = at.linear * along >> 15,
                   square = (along >> 2) * (along >> 2) >> 10;
    const uint64_t linear = (product + (product >> 25 ? 2 : 1)) >> 2;
    const uint64_t inner = (at.quadratic << 8) - ((at.cubic * (along << 1 | 1) + 0x3ff) >> 11),
                   bent = inner * square >> 22;
    const uint64_t half = inner * square % (1 << 22) == 0 ? bent >> 1 & 1 : 1;
    const uint64_t bend = bent >> 25 ? (bent + 2) >> 2 << 1 : (bent + half) >> 1;
    const uint64_t sum = (at.constant << 10) + (linear << 7) - bend;
    return static_cast<uint32_t>((sum + 0x7ff + (sum >> 12 & 1)) >> 12) + (62u << 23) +
           ((x + 0x800000) >> 1 & 0x7f800000);
}

TEST_P(Silicon, SquareRootsOfEveryMantissaAreThePolynomialInIntegers) {
    for (const Variant& variant : variants()) {
        Code code;
        ASSERT_TRUE(code.load(variant, assembled("v_sqrt_f32 v1, v0", kWave, arch()), kWave, arch()));
        Bench bench(kWave);
        for (uint32_t at = 0x3f800000; at < 0x40800000; at += kWave) {
            for (uint32_t lane = 0; lane < kWave; ++lane) bench.v(0, static_cast<int>(lane)) = at + lane;
            ASSERT_TRUE(bench.run(code));
            for (uint32_t lane = 0; lane < kWave; ++lane)
                ASSERT_EQ(bench.v(1, static_cast<int>(lane)), root_in_integers(at + lane))
                    << variant.name << " " << at + lane;
        }
    }
}

TEST_P(Silicon, LanesOfRootsAndReciprocalsThatAreNoNormalNumbersLeaveTheOthersAlone) {
    constexpr uint32_t kSpecial[] = {0,          0x80000000, 1,          0x807fffff, 0x7e800001, 0xfe800001, 0x7f000000,
                                     0xff7fffff, 0x7f800000, 0xff800000, 0x7f812345, 0xffc00001, 0xbf800000};
    for (const Variant& variant : variants())
        for (const char* text : {"v_sqrt_f32 v1, v0", "v_rcp_f32 v1, v0", "v_rsq_f32 v1, v0"}) {
            Code code;
            ASSERT_TRUE(code.load(variant, assembled(text, kWave, arch()), kWave, arch()));
            Inputs inputs(14);
            for (const uint32_t special : kSpecial)
                for (int at = 0; at < kWave; ++at) {
                    Bench without(kWave), alone(kWave), among(kWave);
                    for (int lane = 0; lane < kWave; ++lane) {
                        const uint32_t normal = 0x3f000000 + (inputs.dword() & 0xffffff);
                        without.v(0, lane) = normal, alone.v(0, lane) = special;
                        among.v(0, lane) = lane == at ? special : normal;
                    }
                    ASSERT_TRUE(without.run(code) && alone.run(code) && among.run(code));
                    for (int lane = 0; lane < kWave; ++lane)
                        ASSERT_EQ(among.v(1, lane), (lane == at ? alone : without).v(1, lane))
                            << variant.name << " " << text << " " << special << " in lane " << at;
                }
        }
}

// FNV-1a digests over all the results (ROCm/rocm-systems, emulation/rocjitsu/tests, MIT).
TEST_P(Silicon, WholeIntervalsOfExponentialsAndLogarithmsHaveTheDigestOfTheChip) {
    struct Interval {
        const char* text;
        uint32_t count;
        uint32_t (*argument)(uint32_t index);
        uint64_t digest;
    };
    auto fraction = [](uint32_t n) { return reference::float_bits(std::ldexp(static_cast<float>(n), -24)); };
    const Interval intervals[] = {
        {"v_exp_f32_e32 v1, v0", 1u << 24, fraction, 0x68959bb684f42e5f},
        {"v_exp_f32_e32 v1, v0", 1u << 24,
         [](uint32_t n) { return reference::float_bits(-std::ldexp(static_cast<float>(n), -24)); }, 0x88b75684494db8d3},
        {"v_log_f32_e32 v1, v0", 1u << 24, [](uint32_t n) { return 0x3f000000 + n; }, 0xc33a54efbae098be},
    };
    for (const Variant& variant : variants()) {
        for (const Interval& x : intervals) {
            Code code;
            ASSERT_TRUE(code.load(variant, assembled(x.text, kWave, arch()), kWave, arch()));
            Bench bench(kWave);
            uint64_t digest = 14695981039346656037u;
            for (uint32_t at = 0; at < x.count; at += kWave) {
                for (uint32_t lane = 0; lane < kWave; ++lane)
                    bench.v(0, static_cast<int>(lane)) = x.argument(at + lane);
                ASSERT_TRUE(bench.run(code));
                for (int lane = 0; lane < kWave; ++lane) digest = (digest ^ bench.v(1, lane)) * 1099511628211u;
            }
            EXPECT_EQ(digest, x.digest) << variant.name << " " << x.text;
        }
    }
}

}  // namespace
}  // namespace strata::emu
