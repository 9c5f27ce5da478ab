#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "harness.h"
#include "reference.h"

// Sequences and tiles: division as the compiler expands it, matrix multiplication, argument reduction.
namespace strata::emu {
namespace {

using isa::Arch;
using namespace valu_test;
using namespace reference;

class ValuNumeric : public testing::Test {
  protected:
    void SetUp() override {
        if (!isa::llvm_available()) GTEST_SKIP() << "needs libLLVM 19 to assemble";
    }
};

/// LLVM's expansion of v0 / v1 with denormals on (AMDGPULegalizerInfo, legalizeFDIV32).
constexpr const char* kDivide32 =
    "v_div_scale_f32 v2, null, v1, v1, v0\n"
    "v_div_scale_f32 v3, vcc_lo, v0, v1, v0\n"
    "v_rcp_f32 v4, v2\n"
    "v_fma_f32 v5, -v2, v4, 1.0\n"
    "v_fma_f32 v4, v5, v4, v4\n"
    "v_mul_f32 v5, v3, v4\n"
    "v_fma_f32 v6, -v2, v5, v3\n"
    "v_fma_f32 v5, v6, v4, v5\n"
    "v_fma_f32 v6, -v2, v5, v3\n"
    "v_div_fmas_f32 v6, v6, v4, v5\n"
    "v_div_fixup_f32 v8, v6, v1, v0\n";
constexpr const char* kDivide64 =
    "v_div_scale_f64 v[4:5], null, v[2:3], v[2:3], v[0:1]\n"
    "v_div_scale_f64 v[10:11], vcc_lo, v[0:1], v[2:3], v[0:1]\n"
    "v_rcp_f64 v[6:7], v[4:5]\n"
    "v_fma_f64 v[12:13], -v[4:5], v[6:7], 1.0\n"
    "v_fma_f64 v[6:7], v[6:7], v[12:13], v[6:7]\n"
    "v_fma_f64 v[12:13], -v[4:5], v[6:7], 1.0\n"
    "v_fma_f64 v[6:7], v[6:7], v[12:13], v[6:7]\n"
    "v_mul_f64 v[12:13], v[10:11], v[6:7]\n"
    "v_fma_f64 v[4:5], -v[4:5], v[12:13], v[10:11]\n"
    "v_div_fmas_f64 v[4:5], v[4:5], v[6:7], v[12:13]\n"
    "v_div_fixup_f64 v[8:9], v[4:5], v[2:3], v[0:1]\n";

/// All exponents, denormals included, and often those at which v_div_scale changes its mind.
template <class T>
T any_float(Inputs& inputs) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    constexpr int kFraction = std::numeric_limits<T>::digits - 1, kBias = std::numeric_limits<T>::max_exponent - 1;
    constexpr int kFar = sizeof(T) == 4 ? 96 : 768, kTiny = kFraction + 1;
    constexpr int kEdges[] = {0,     1,    kTiny - 1,    kTiny,         kTiny + 1, kBias - kFar, kBias - kTiny,
                              kBias, kFar, kBias + kFar, 2 * kBias - 1, 2 * kBias};
    const uint64_t r = inputs.next();
    auto bits = static_cast<Bits>(inputs.next());
    if (r % 8 == 0) return std::bit_cast<T>(static_cast<Bits>(inputs.dword()) << (sizeof(T) == 4 ? 0 : 32));
    if (r % 8 < 5) return std::bit_cast<T>(bits);
    constexpr Bits kOnes = (Bits{1} << kFraction) - 1;
    const Bits fractions[] = {0, kOnes, bits & kOnes, 1};
    const Bits exponent = static_cast<Bits>(kEdges[(r >> 8) % std::size(kEdges)] + static_cast<int>((r >> 16) % 3) - 1);
    const Bits sign = bits & ~(~Bits{0} >> 1);
    return std::bit_cast<T>(sign | (exponent & (2 * kBias + 1)) << kFraction | fractions[(r >> 24) % 4]);
}

/// The expansion run on pairs of numbers gives the host's quotients. v0 or v[0:1] is divided by v1 or v[2:3] to v8.
template <class T>
void expect_quotients(std::string text, Arch arch, int lanes, int rounds) {
    if (lanes == 64)
        for (const auto& [from, to] : {std::pair{"null", "s[0:1]"}, {"vcc_lo", "vcc"}})
            for (size_t at; (at = text.find(from)) != std::string::npos;) text.replace(at, std::strlen(from), to);
    constexpr int kRows = sizeof(T) / 4;
    const auto words = assembled(text, lanes, arch);
    for (const Variant& variant : variants()) {
        Bench bench(lanes);
        Code code;
        ASSERT_TRUE(code.load(variant, words, lanes, arch));
        Inputs inputs(static_cast<uint64_t>(lanes + kRows));
        std::vector<T> n(static_cast<size_t>(lanes)), d(n.size());
        for (int round = 0; round < rounds; ++round) {
            for (int lane = 0; lane < lanes; ++lane) {
                const T pair[] = {n[static_cast<size_t>(lane)] = any_float<T>(inputs),
                                  d[static_cast<size_t>(lane)] = any_float<T>(inputs)};
                uint32_t dwords[2 * kRows];
                std::memcpy(dwords, pair, sizeof pair);
                for (int row = 0; row < 2 * kRows; ++row) bench.v(row, lane) = dwords[row];
            }
            ASSERT_TRUE(bench.run(code));
            for (int lane = 0; lane < lanes; ++lane) {
                const T x = n[static_cast<size_t>(lane)], y = d[static_cast<size_t>(lane)], want = x / y;
                T got;
                const uint64_t bits = bench.v64(8, lane);
                std::memcpy(&got, &bits, sizeof got);
                ASSERT_TRUE(std::memcmp(&got, &want, sizeof got) == 0 || (std::isnan(got) && std::isnan(want)))
                    << variant.name << std::hexfloat << " " << x << " / " << y << " = " << want << ", got " << got;
            }
        }
    }
}

TEST_F(ValuNumeric, TheDivisionSequenceOfSinglePrecisionIsCorrectlyRounded) {
    expect_quotients<float>(kDivide32, Arch::gfx1100, 32, 1200);
    expect_quotients<float>(kDivide32, Arch::gfx942, 64, 600);
}

TEST_F(ValuNumeric, TheDivisionSequenceOfDoublePrecisionIsCorrectlyRounded) {
    expect_quotients<double>(kDivide64, Arch::gfx1100, 32, 600);
    expect_quotients<double>(kDivide64, Arch::gfx942, 64, 300);
}

TEST_F(ValuNumeric, DivScaleMarksWhatDivFmasScalesBack) {
    struct Row {
        float x, d, n;
        bool mask;
        float want;
    };
    const Row rows[] = {
        {1, 4, 1, false, 1},
        {2, 4, 2, false, 2},
        {1, 0, 1, true, NAN},
        {0, 1, 0, true, NAN},
        {1, 1, 0x1.fffffep127f, true, 0x1p64f},  // the quotient is huge: the denominator is scaled
        {0x1p-126f, 1, 0x1p-126f, true, 0x1p-62f},
        {1, 0x1p127f, 1, true, 1},  // reciprocal and quotient denormal: only the denominator is scaled
        {0x1p-140f, 0x1p-140f, 1, true, 0x1p-76f},
        {0, 0, 0, false, NAN},
        {1, 0x1p97f, 1, true, 0x1p64f},  // a small quotient: the numerator is scaled
        {1, 0x1p95f, 1, false, 1},
        {0x1p126f, 0x1p126f, 0x1p100f, false, 0x1p62f},  // a large denominator alone
        {0x1p-103f, 1, 0x1p-103f, true, 0x1p-39f},
        {0x1p-103f, 0x1p-20f, 0x1p-103f, false, 0x1p-39f},  // a tiny numerator, exponent field 24
        {0x1p-102f, 0x1p-20f, 0x1p-102f, false, 0x1p-102f},
    };
    for (const Variant& variant : variants()) {
        for (const Row& row : rows) {
            Bench bench(32);
            for (int lane = 0; lane < 32; ++lane)
                bench.v(0, lane) = float_bits(row.x), bench.v(1, lane) = float_bits(row.d),
                           bench.v(2, lane) = float_bits(row.n);
            ASSERT_TRUE(bench.run(variant, assembled("v_div_scale_f32 v8, vcc_lo, v0, v1, v2", 32)));
            const float got = to_float(bench.v(8, 5));
            EXPECT_TRUE(got == row.want || (std::isnan(got) && std::isnan(row.want)))
                << row.x << " " << row.d << " " << row.n << " " << got;
            EXPECT_EQ(bench.s64(106), row.mask ? 0xffffffffu : 0u) << row.x << " " << row.d << " " << row.n;
        }
    }
}

TEST_F(ValuNumeric, TrigPreopGivesConsecutiveSegmentsOfTwoOverPi) {
    for (const Variant& variant : variants()) {
        Bench bench(32);
        for (int lane = 0; lane < 32; ++lane)
            bench.v(1, lane) = 0x3ff00000, bench.v(0, lane) = 0, bench.v(2, lane) = static_cast<uint32_t>(lane);
        ASSERT_TRUE(bench.run(variant, assembled("v_trig_preop_f64 v[8:9], v[0:1], v2", 32)));
        Wide sum = 0;
        for (int lane = 2; lane >= 0; --lane) sum += to_double(bench.v64(8, lane));
        EXPECT_NEAR(static_cast<double>(sum - 0.63661977236758134307553505349005744L), 0, 0x1p-64);
        EXPECT_EQ(bench.v64(8, 0), double_bits(0x1.45f306dc9c882p-1)) << "53 bits, not rounded";
        // Segment 20 begins at bit 1060: all of it lies inside the 1201 bits, its magnitude below 2^-1060 is a
        // denormal.
        EXPECT_GT(to_double(bench.v64(8, 18)), 0);
        EXPECT_LT(to_double(bench.v64(8, 18)), 0x1p-953);
    }
}

// ---- WMMA ----

struct Matrices {
    Wide a[16][16], b[16][16], c[16][16];
};

/// Small exact values: every order of summation gives the same result.
template <class Element, class Addend>
std::unique_ptr<Matrices> load_matrices(Bench& bench, int lanes, int bits, Inputs& inputs, Element&& element,
                                        Addend&& addend) {
    auto m = std::make_unique<Matrices>();
    const int per = 32 / bits;
    for (int lane = 0; lane < 16; ++lane) {
        for (int k = 0; k < 16; ++k) {
            for (int operand = 0; operand < 2; ++operand) {
                const auto [value, raw] = element(inputs);
                (operand ? m->b[k][lane] : m->a[lane][k]) = value;
                for (int copy = lane; copy < lanes; copy += 16) {
                    uint32_t& word = bench.v((operand ? 8 : 0) + k / per, copy);
                    const uint32_t mask = bits == 32 ? ~0u : ((1u << bits) - 1) << (bits * (k % per));
                    word = (word & ~mask) | (raw << (bits * (k % per)) & mask);
                }
            }
        }
    }
    for (int i = 0; i < 256 / lanes; ++i)
        for (int lane = 0; lane < lanes; ++lane) {
            const auto [value, raw] = addend(inputs);
            m->c[lanes / 16 * i + lane / 16][lane % 16] = value;
            bench.v(16 + i, lane) = raw;
        }
    return m;
}
Wide element_of(const Matrices& m, int row, int column) {
    Wide sum = m.c[row][column];
    for (int k = 0; k < 16; ++k) sum += m.a[row][k] * m.b[k][column];
    return sum;
}
std::string ranges(int lanes, int input_registers) {
    const int c = 256 / lanes;
    auto range = [](int first, int n) {
        return "v[" + std::to_string(first) + ":" + std::to_string(first + n - 1) + "]";
    };
    return " " + range(24, c) + ", " + range(0, input_registers) + ", " + range(8, input_registers) + ", " +
           range(16, c);
}
class ValuMatrix : public testing::TestWithParam<int> {
  protected:
    void SetUp() override {
        if (!isa::llvm_available()) GTEST_SKIP() << "needs libLLVM 19 to assemble";
    }
};
INSTANTIATE_TEST_SUITE_P(Waves, ValuMatrix, testing::Values(32, 64),
                         [](const auto& info) { return "wave" + std::to_string(info.param); });

TEST_P(ValuMatrix, IntegerTilesTakeSignsAndSaturate) {
    const int lanes = GetParam();
    for (const Variant& variant : variants()) {
        for (const int bits : {8, 4}) {
            for (int form = 0; form < 8; ++form) {
                const bool signed_a = form & 1, signed_b = form & 2, clamp = form & 4;
                Bench bench(lanes);
                Inputs inputs(static_cast<uint64_t>(form));
                int draw = 0;  // elements come in pairs: A then B
                auto element = [&](Inputs& in) {
                    const uint32_t raw = static_cast<uint32_t>(in.next() >> (64 - bits));
                    const bool is_signed = draw++ & 1 ? signed_b : signed_a;
                    return std::pair<Wide, uint32_t>(is_signed ? Wide(sext(raw, bits)) : Wide(raw), raw);
                };
                auto addend = [&](Inputs& in) {
                    const int32_t c =
                        static_cast<int32_t>(clamp ? (in.next() & 1 ? 0x7fffff00 : 0x80000100) : in.next() >> 40);
                    return std::pair<Wide, uint32_t>(c, static_cast<uint32_t>(c));
                };
                auto m = load_matrices(bench, lanes, bits, inputs, element, addend);
                const std::string text = "v_wmma_i32_16x16x16_iu" + std::to_string(bits) + ranges(lanes, bits / 2) +
                                         " neg_lo:[" + (signed_a ? "1," : "0,") + (signed_b ? "1,0]" : "0,0]") +
                                         (clamp ? " clamp" : "");
                ASSERT_TRUE(bench.run(variant, assembled(text, lanes)));
                for (int i = 0; i < 256 / lanes; ++i)
                    for (int lane = 0; lane < lanes; ++lane) {
                        const auto sum = static_cast<int64_t>(element_of(*m, lanes / 16 * i + lane / 16, lane % 16));
                        const int64_t want =
                            clamp ? std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX) : static_cast<int32_t>(sum);
                        ASSERT_EQ(static_cast<int32_t>(bench.v(24 + i, lane)), want) << variant.name << " " << text;
                    }
            }
        }
    }
}

}  // namespace
}  // namespace strata::emu
