#include "strata/core/uop/reference.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

namespace strata {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

double real(Op op, DType t, std::initializer_list<double> v) {
    std::vector<ConstArg> args;
    for (double x : v) args.push_back({0, x});
    return reference(op, t, t, args)->f;
}
int64_t whole(Op op, DType t, std::initializer_list<int64_t> v) {
    std::vector<ConstArg> args;
    for (int64_t x : v) args.push_back({x, 0});
    return reference(op, t, t, args)->i;
}

TEST(Reference, Float32IsWhatTheHostComputes) {
    std::mt19937_64 random(5);
    auto pick = [&] { return std::bit_cast<float>(static_cast<uint32_t>(random())); };
    auto same = [](double a, float b) { return (a != a && b != b) || a == static_cast<double>(b); };
    for (int i = 0; i < 100'000; ++i) {
        float a = pick(), b = pick(), c = pick();
        if (i % 2) c = -a * b * (1 + static_cast<float>(static_cast<int>(random() % 5)) * 0x1p-23f);  // cancellation
        ASSERT_TRUE(same(real(Op::add, dtypes::float32, {a, b}), a + b)) << a << " " << b;
        ASSERT_TRUE(same(real(Op::mul, dtypes::float32, {a, b}), a * b)) << a << " " << b;
        ASSERT_TRUE(same(real(Op::fdiv, dtypes::float32, {a, b}), a / b)) << a << " " << b;
        ASSERT_TRUE(same(real(Op::sqrt, dtypes::float32, {a}), std::sqrt(a))) << a;
        ASSERT_TRUE(same(real(Op::fma, dtypes::float32, {a, b, c}), std::fma(a, b, c))) << a << " " << b << " " << c;
    }
}

TEST(Reference, FunctionsNamedAsInCAreTheHosts) {
    int found = 0;
    for (int i = 0; i < kOpCount; ++i) {
        const OpInfo& row = info(static_cast<Op>(i));
        std::string name(row.name);
        if (!row.is(kUnary) || name == "abs") continue;  // C's abs is of integers
        auto function = reinterpret_cast<double (*)(double)>(dlsym(RTLD_DEFAULT, name.c_str()));
        if (!function) continue;
        ++found;
        for (double x : {0.0, -0.0, 0.3, -0.7, 1.0, 2.5, -3.5, 40.0, 1e-3, kInf, -kInf}) {
            double got = real(static_cast<Op>(i), dtypes::float64, {x}), expected = function(x);
            EXPECT_TRUE(got == expected || (std::isnan(got) && std::isnan(expected))) << name << " of " << x;
        }
    }
    EXPECT_GE(found, 13);
}

TEST(Reference, CountsBitsOfATypesOwnWidth) {
    const auto of = [](Op op, DType type, int64_t x) {
        return reference(op, type, type, std::array{ConstArg{x, 0}})->i;
    };
    EXPECT_EQ(of(Op::popcount, dtypes::int8, -1), 8);
    EXPECT_EQ(of(Op::popcount, dtypes::uint64, -1), 64);
    EXPECT_EQ(of(Op::leading_zeros, dtypes::uint16, 1), 15);
    EXPECT_EQ(of(Op::leading_zeros, dtypes::int32, -1), 0);
    EXPECT_EQ(of(Op::leading_zeros, dtypes::int8, 0), 8);
    EXPECT_EQ(of(Op::trailing_zeros, dtypes::int64, 0), 64);
    EXPECT_EQ(of(Op::trailing_zeros, dtypes::int32, -8), 3);
    EXPECT_EQ(of(Op::reverse_bits, dtypes::uint8, 0b00010110), 0b01101000);
    EXPECT_EQ(of(Op::reverse_bits, dtypes::int32, 1), INT32_MIN);
    EXPECT_FALSE(reference(Op::popcount, dtypes::boolean, dtypes::boolean, std::array{ConstArg{1, 0}}));
    EXPECT_FALSE(reference(Op::popcount, dtypes::float32, dtypes::float32, std::array{ConstArg{1, 1}}));
}

TEST(Reference, FmaRoundsOnceInNarrowTypes) {
    // 1 + 2^-11 lies between two halves; a second product bit far below decides.
    double tiny = 0x1p-24;
    EXPECT_EQ(real(Op::fma, dtypes::float16, {1, 1 + 0x1p-10, -0x1p-11}), 1);  // exact tie, to even
    EXPECT_EQ(real(Op::fma, dtypes::float16, {tiny, 1, 0x1p-14}), 0x1p-14 + tiny);
    EXPECT_EQ(real(Op::fma, dtypes::bfloat16, {0x1p-60, 0x1p-60, 1 + 0x1p-7}), 1 + 0x1p-7);
}

TEST(Reference, MaxAndMinKeepNanAndOrderTheZeros) {
    EXPECT_TRUE(std::isnan(real(Op::max, dtypes::float32, {std::nan(""), 1})));
    EXPECT_TRUE(std::isnan(real(Op::min, dtypes::float32, {1, std::nan("")})));
    EXPECT_FALSE(std::signbit(real(Op::max, dtypes::float32, {-0.0, 0.0})));
    EXPECT_TRUE(std::signbit(real(Op::min, dtypes::float32, {0.0, -0.0})));
    EXPECT_EQ(real(Op::max, dtypes::float32, {-kInf, 3}), 3);
    EXPECT_EQ(real(Op::rint, dtypes::float32, {2.5}), 2);
    EXPECT_EQ(real(Op::rint, dtypes::float32, {-1.5}), -2);
}

TEST(Reference, IntegersWrapAndDivisionTruncates) {
    EXPECT_EQ(whole(Op::add, dtypes::int8, {127, 1}), -128);
    EXPECT_EQ(whole(Op::mul, dtypes::uint32, {0xffffffff, 0xffffffff}), 1);
    EXPECT_EQ(whole(Op::idiv, dtypes::int32, {-7, 2}), -3);
    EXPECT_EQ(whole(Op::mod, dtypes::int32, {-7, 2}), -1);
    EXPECT_EQ(whole(Op::idiv, dtypes::int32, {7, 0}), 0);
    EXPECT_EQ(whole(Op::idiv, dtypes::int64, {std::numeric_limits<int64_t>::min(), -1}),
              std::numeric_limits<int64_t>::min());
    EXPECT_EQ(whole(Op::idiv, dtypes::int8, {-128, -1}), -128);
    EXPECT_EQ(whole(Op::mod, dtypes::int64, {std::numeric_limits<int64_t>::min(), -1}), 0);
    EXPECT_EQ(whole(Op::idiv, dtypes::uint64, {-2, 2}), std::numeric_limits<int64_t>::max());
    EXPECT_EQ(whole(Op::mod, dtypes::uint64, {-1, 10}), 5);
    EXPECT_EQ(whole(Op::max, dtypes::uint64, {-1, 1}), -1);
    EXPECT_EQ(whole(Op::shr, dtypes::int32, {-8, 1}), -4);
    EXPECT_EQ(whole(Op::shr, dtypes::uint64, {-1, 63}), 1);
    EXPECT_EQ(whole(Op::shl, dtypes::int32, {1, 31}), std::numeric_limits<int32_t>::min());
    EXPECT_EQ(whole(Op::neg, dtypes::int8, {-128}), -128);
    EXPECT_EQ(whole(Op::abs, dtypes::int16, {-5}), 5);
    EXPECT_EQ(whole(Op::pow, dtypes::int32, {3, 5}), 243);
    EXPECT_EQ(whole(Op::pow, dtypes::int32, {2, -1}), 0);
    EXPECT_EQ(whole(Op::cmplt, dtypes::uint64, {1, -1}), 1);
    EXPECT_EQ(whole(Op::bit_not, dtypes::uint8, {1}), 254);
    EXPECT_EQ(whole(Op::bit_not, dtypes::boolean, {1}), 0);
}

TEST(Reference, WhatHasNoValueIsEmpty) {
    std::vector<ConstArg> shift{{1, 0}, {32, 0}};
    EXPECT_FALSE(reference(Op::shl, dtypes::int32, dtypes::int32, shift));
    EXPECT_FALSE(reference(Op::sqrt, dtypes::int32, dtypes::int32, std::span(shift).first(1)));
    EXPECT_FALSE(reference(Op::bit_and, dtypes::float32, dtypes::float32, shift));
}

TEST(Reference, CastsConvertAsTheOpTableSays) {
    auto cast_real = [](DType to, DType from, double x) {
        return *reference(Op::cast, to, from, std::vector<ConstArg>{{0, x}});
    };
    EXPECT_EQ(cast_real(dtypes::int8, dtypes::float32, -300.7).i, -128);
    EXPECT_EQ(cast_real(dtypes::int32, dtypes::float32, std::nan("")).i, 0);
    EXPECT_EQ(cast_real(dtypes::boolean, dtypes::float32, 0.1).i, 1);
    EXPECT_EQ(cast_real(dtypes::float16, dtypes::float32, 70000).f, kInf);
    EXPECT_EQ(reference(Op::cast, dtypes::float32, dtypes::uint64, std::vector<ConstArg>{{-1, 0}})->f, 0x1p64);
    EXPECT_EQ(reference(Op::cast, dtypes::uint8, dtypes::int32, std::vector<ConstArg>{{-1, 0}})->i, 255);
    EXPECT_EQ(reference(Op::bitcast, dtypes::int32, dtypes::float32, std::vector<ConstArg>{{0, -1.0}})->i,
              static_cast<int32_t>(0xbf800000));
    EXPECT_EQ(reference(Op::bitcast, dtypes::float16, dtypes::uint16, std::vector<ConstArg>{{0x3c00, 0}})->f, 1);
}

TEST(Fold, GivesAConstantNodeOrNothing) {
    UOp two = constant_int(dtypes::int32, 2);
    EXPECT_EQ(fold(two + two), constant_int(dtypes::int32, 4));
    EXPECT_EQ(fold(two < two), constant(dtypes::boolean, 0));
    EXPECT_EQ(fold(alu(Op::where, {constant(dtypes::boolean, 0), two, two + two})), UOp());
    EXPECT_EQ(fold(two), UOp());
}

}  // namespace
}  // namespace strata
