#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>

#include "strata/core/dtype/dtype.h"
#include "strata/core/support/error.h"

namespace strata {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

bool same_bits(double a, double b) {
    return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) || (a != a && b != b);
}

/// The value of a code from the definition of the formats, in plain arithmetic.
double by_definition(DType t, uint64_t code) {
    int e = t.exponent_bits(), m = t.mantissa_bits();
    bool fnuz = t == dtypes::fp8e4m3fnuz || t == dtypes::fp8e5m2fnuz;
    bool negative = code >> (e + m) & 1;
    auto exponent = static_cast<int>(code >> m & ((1u << e) - 1));
    auto fraction = static_cast<double>(code & ((uint64_t{1} << m) - 1));
    int bias = (1 << (e - 1)) - 1 + fnuz;
    if (fnuz && negative && exponent == 0 && fraction == 0) return std::nan("");
    if (t == dtypes::fp8e4m3 && exponent == 15 && fraction == 7) return std::nan("");
    if (!fnuz && t != dtypes::fp8e4m3 && exponent == (1 << e) - 1)
        return fraction == 0 ? (negative ? -kInf : kInf) : std::nan("");
    double magnitude =
        exponent ? std::ldexp(1 + std::ldexp(fraction, -m), exponent - bias) : std::ldexp(fraction, 1 - bias - m);
    return negative ? -magnitude : magnitude;
}

class SmallFloat : public testing::TestWithParam<DType> {
  protected:
    uint64_t codes() const { return uint64_t{1} << GetParam().bits(); }
};

TEST_P(SmallFloat, EveryCodeHasItsDefinedValueAndComesBack) {
    DType t = GetParam();
    for (uint64_t code = 0; code < codes(); ++code) {
        double value = decode_scalar(t, code);
        ASSERT_TRUE(same_bits(value, by_definition(t, code))) << t.name() << " " << code << " " << value;
        ASSERT_EQ(encode_scalar(t, value), code) << t.name() << " " << value;
        ASSERT_TRUE(same_bits(round_to(t, value), value));
    }
}

TEST_P(SmallFloat, RoundsToTheNearestWithTiesToEven) {
    DType t = GetParam();
    std::map<double, uint64_t> values;  // finite, one zero
    for (uint64_t code = 0; code < codes(); ++code)
        if (double v = by_definition(t, code); std::isfinite(v) && (v != 0 || code == 0)) values.emplace(v, code);
    for (auto low = values.begin(), high = std::next(low); high != values.end(); low = high++) {
        auto [a, a_code] = *low;
        auto [b, b_code] = *high;
        double middle = a / 2 + b / 2;
        uint64_t even = a_code & 1 ? b_code : a_code;
        if (even == 0 && middle < 0 && t != dtypes::fp8e4m3fnuz && t != dtypes::fp8e5m2fnuz)
            even = encode_scalar(t, -0.0);
        ASSERT_EQ(encode_scalar(t, middle), even) << t.name() << " " << middle;
        ASSERT_EQ(decode_scalar(t, encode_scalar(t, std::nextafter(middle, kInf))), b) << middle;
        ASSERT_EQ(decode_scalar(t, encode_scalar(t, std::nextafter(middle, -kInf))), a) << middle;
    }
}

TEST_P(SmallFloat, OverflowGivesInfinityOrNan) {
    DType t = GetParam();
    double largest = 0, step = 0;
    for (uint64_t code = 0; code < codes() / 2; ++code)
        if (double v = by_definition(t, code); std::isfinite(v)) {
            step = v - largest;
            largest = v;
        }
    const bool has_infinity = encode_scalar(t, kInf) != encode_scalar(t, std::nan(""));
    EXPECT_EQ(has_infinity, std::isinf(decode_scalar(t, encode_scalar(t, kInf))));
    for (double sign : {1.0, -1.0}) {
        EXPECT_EQ(round_to(t, sign * std::nextafter(largest + step / 2, 0)), sign * largest);
        for (double beyond : {largest + step, 1e300, kInf}) {
            double got = round_to(t, sign * beyond);
            if (has_infinity) {
                EXPECT_EQ(got, sign * kInf);
            } else {
                EXPECT_TRUE(std::isnan(got)) << got;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Formats, SmallFloat,
                         testing::Values(dtypes::fp8e4m3, dtypes::fp8e5m2, dtypes::fp8e4m3fnuz, dtypes::fp8e5m2fnuz,
                                         dtypes::float16, dtypes::bfloat16),
                         [](const auto& info) { return std::string(info.param.name()); });

TEST(Convert, Fp8LimitsAreThoseOfTheFormats) {
    EXPECT_EQ(round_to(dtypes::fp8e4m3, 448), 448);
    EXPECT_EQ(encode_scalar(dtypes::fp8e4m3, 449), 0x7eu);
    EXPECT_EQ(encode_scalar(dtypes::fp8e4m3, 464), 0x7eu);  // the tie with the code of NaN stays finite: even mantissa
    EXPECT_EQ(encode_scalar(dtypes::fp8e4m3, 465), 0x7fu);
    EXPECT_EQ(encode_scalar(dtypes::fp8e5m2, 57344), 0x7bu);
    EXPECT_EQ(encode_scalar(dtypes::fp8e5m2, 61440), 0x7cu);
    EXPECT_EQ(encode_scalar(dtypes::fp8e4m3fnuz, 240), 0x7fu);
    EXPECT_EQ(encode_scalar(dtypes::fp8e5m2fnuz, 57344), 0x7fu);
    for (DType t : {dtypes::fp8e4m3fnuz, dtypes::fp8e5m2fnuz}) {
        EXPECT_EQ(encode_scalar(t, -0.0), 0u);
        EXPECT_EQ(encode_scalar(t, -1e-30), 0u);
        EXPECT_EQ(encode_scalar(t, std::nan("")), 0x80u);
        EXPECT_EQ(encode_scalar(t, -kInf), 0x80u);
    }
    EXPECT_EQ(encode_scalar(dtypes::fp8e4m3, -0.0), 0x80u);
}

TEST(Convert, AgreesWithTheCompilersHalfAndFloat) {
    std::mt19937_64 random(7);
    for (int i = 0; i < 300'000; ++i) {
        int exponent = static_cast<int>(random() % 300) - 160;
        double x = std::ldexp(static_cast<double>(static_cast<int64_t>(random())), exponent - 62);
        EXPECT_EQ(encode_scalar(dtypes::float32, x), std::bit_cast<uint32_t>(static_cast<float>(x))) << x;
#ifdef __FLT16_MAX__
        _Float16 half = static_cast<_Float16>(x);
        uint16_t bits;
        std::memcpy(&bits, &half, 2);
        ASSERT_EQ(encode_scalar(dtypes::float16, x), bits) << x;
#endif
        // bfloat16 from a float by the usual trick on bits
        auto wide = std::bit_cast<uint32_t>(static_cast<float>(x));
        uint32_t nearest = (wide + 0x7fff + (wide >> 16 & 1)) >> 16;
        ASSERT_EQ(encode_scalar(dtypes::bfloat16, static_cast<double>(static_cast<float>(x))), nearest) << x;
    }
}

TEST(Convert, IntegersWrap) {
    EXPECT_EQ(wrap_to(dtypes::int8, 200), -56);
    EXPECT_EQ(wrap_to(dtypes::uint8, -1), 255);
    EXPECT_EQ(wrap_to(dtypes::int32, int64_t{1} << 31), std::numeric_limits<int32_t>::min());
    EXPECT_EQ(wrap_to(dtypes::uint32, -1), 0xffffffff);
    EXPECT_EQ(wrap_to(dtypes::uint64, -1), -1);
    EXPECT_EQ(wrap_to(dtypes::boolean, 256), 1);
    EXPECT_EQ(int_max(dtypes::uint64), std::numeric_limits<int64_t>::max());
    EXPECT_EQ(int_min(dtypes::int16), -32768);
    EXPECT_EQ(int_max(dtypes::uint32), 0xffffffff);
}

TEST(Convert, FloatsToIntegersTruncateAndSaturate) {
    EXPECT_EQ(float_to_int(dtypes::int8, -3.9), -3);
    EXPECT_EQ(float_to_int(dtypes::int8, 1000), 127);
    EXPECT_EQ(float_to_int(dtypes::uint8, -5), 0);
    EXPECT_EQ(float_to_int(dtypes::int64, 1e30), std::numeric_limits<int64_t>::max());
    EXPECT_EQ(float_to_int(dtypes::int64, -kInf), std::numeric_limits<int64_t>::min());
    EXPECT_EQ(static_cast<uint64_t>(float_to_int(dtypes::uint64, 1e30)), std::numeric_limits<uint64_t>::max());
    EXPECT_EQ(static_cast<uint64_t>(float_to_int(dtypes::uint64, 0x1p63)), uint64_t{1} << 63);
    EXPECT_EQ(float_to_int(dtypes::int32, std::nan("")), 0);
    EXPECT_EQ(float_to_int(dtypes::boolean, 0.25), 1);
}

TEST(Convert, IntegersToFloatsRoundOnce) {
    // 2^24 + 1 + a little: rounding to double first would lose the little and take the tie to even.
    int64_t x = (int64_t{1} << 60) + (int64_t{1} << 36) + 1;
    EXPECT_EQ(int_to_float(dtypes::float32, x), static_cast<double>(static_cast<float>(x)));
    EXPECT_EQ(int_to_float(dtypes::float32, -x), static_cast<double>(static_cast<float>(-x)));
    std::mt19937_64 random(3);
    for (int i = 0; i < 200'000; ++i) {
        auto v = static_cast<int64_t>(random()) >> (random() % 40);
        ASSERT_EQ(int_to_float(dtypes::float32, v), static_cast<double>(static_cast<float>(v))) << v;
        ASSERT_EQ(int_to_float(dtypes::float32, v, true),
                  static_cast<double>(static_cast<float>(static_cast<uint64_t>(v))))
            << v;
        ASSERT_EQ(int_to_float(dtypes::float64, v), static_cast<double>(v));
    }
}

TEST(Promote, FollowsTheArrayApiAndTheDocumentedAdditions) {
    using namespace dtypes;
    EXPECT_EQ(promote(int8, int32), int32);
    EXPECT_EQ(promote(uint8, int8), int16);
    EXPECT_EQ(promote(uint8, int32), int32);
    EXPECT_EQ(promote(uint16, int16), int32);
    EXPECT_EQ(promote(uint32, int8), int64);
    EXPECT_EQ(promote(uint32, int64), int64);
    EXPECT_EQ(promote(boolean, uint8), uint8);
    EXPECT_EQ(promote(boolean, boolean), boolean);
    EXPECT_EQ(promote(int64, float16), float16);
    EXPECT_EQ(promote(float16, bfloat16), float32);
    EXPECT_EQ(promote(float32, float64), float64);
    EXPECT_EQ(promote(fp8e4m3, bfloat16), bfloat16);
    EXPECT_EQ(promote(fp8e4m3, fp8e5m2), float16);
    EXPECT_EQ(promote(fp8e4m3, fp8e4m3), fp8e4m3);
    for (DType a : all_dtypes())
        for (DType b : all_dtypes()) {
            bool none_holds_both = (a == uint64 && b.kind() == Kind::Int) || (b == uint64 && a.kind() == Kind::Int);
            if (none_holds_both)
                EXPECT_THROW(promote(a, b), Exception) << a.name() << " " << b.name();
            else
                EXPECT_EQ(promote(a, b), promote(b, a)) << a.name() << " " << b.name();
        }
}

TEST(Promote, AComplexTypeHoldsBothParts) {
    using namespace dtypes;
    for (DType real : all_dtypes()) {
        EXPECT_EQ(promote(complex64, real), real == float64 ? complex128 : complex64) << real.name();
        EXPECT_EQ(promote(real, complex128), complex128) << real.name();
        EXPECT_EQ(real.complex(), real == float64 ? complex128 : complex64);
        EXPECT_EQ(real.part(), real);
        EXPECT_FALSE(real.is_complex());
    }
    EXPECT_EQ(promote(complex64, complex128), complex128);
}

TEST(DType, ComplexTypesAreTwoParts) {
    for (DType type : complex_dtypes()) {
        EXPECT_EQ(parse_dtype(type.name()), type);
        EXPECT_EQ(type.part().complex(), type);
        EXPECT_EQ(type.bytes(), 2 * type.part().bytes());
        EXPECT_EQ(type.kind(), Kind::Complex);
        EXPECT_TRUE(type.is_complex());
        EXPECT_FALSE(type.is_float() || type.is_integer() || type.is_bool() || type.is_unsigned());
    }
    EXPECT_EQ(dtypes::complex128.bits(), 128);
}

}  // namespace
}  // namespace strata
