#include <complex>
#include <functional>

#include "helpers.h"

using namespace strata;
using namespace strata::test;

namespace {

using Complex = std::complex<double>;

const std::vector<Complex> kValues = {{1, 2}, {-0.5, 0.25}, {0.25, -3}, {-1.5, -0.75}, {2, 0}, {0, -1.25}, {-4, 0.125}};

Tensor numbers(const std::vector<Complex>& values) {
    std::vector<double> re, im;
    for (Complex z : values) {
        re.push_back(z.real());
        im.push_back(z.imag());
    }
    return ops::complex(vec(re, dtypes::float64), vec(im, dtypes::float64));
}

void expect_near(const std::string& name, const Tensor& got, const std::vector<Complex>& want) {
    Array re = value(got.real()), im = value(got.imag());
    for (size_t i = 0; i < want.size(); ++i) {
        EXPECT_LE(std::abs(Complex(re.number(i), im.number(i)) - want[i]), 1e-13 * std::abs(want[i]))
            << name << " of element " << i << ": " << re.number(i) << " " << im.number(i) << ", not " << want[i];
    }
}

TEST(Complex, FunctionsOfOneNumberAreTheHosts) {
    using Host = std::function<Complex(Complex)>;
    struct Row {
        const char* name;
        Tensor (*function)(const Operand&);
        Host host;
    };
#define ROW(name) {#name, &ops::name, [](Complex z) { return std::name(z); }}
    for (const Row& row : {ROW(sqrt),
                           ROW(exp),
                           ROW(log),
                           ROW(log10),
                           ROW(sin),
                           ROW(cos),
                           ROW(tan),
                           ROW(sinh),
                           ROW(cosh),
                           ROW(tanh),
                           ROW(asin),
                           ROW(acos),
                           ROW(atan),
                           ROW(asinh),
                           ROW(acosh),
                           ROW(atanh),
                           ROW(conj),
                           Row{"abs", &ops::abs, [](Complex z) { return Complex(std::abs(z)); }},
                           Row{"neg", &ops::neg, [](Complex z) { return -z; }},
                           Row{"square", &ops::square, [](Complex z) { return z * z; }},
                           Row{"reciprocal", &ops::reciprocal, [](Complex z) { return 1.0 / z; }},
                           Row{"rsqrt", &ops::rsqrt, [](Complex z) { return 1.0 / std::sqrt(z); }},
                           Row{"exp2", &ops::exp2, [](Complex z) { return std::pow(2.0, z); }},
                           Row{"sign", &ops::sign, [](Complex z) { return z / std::abs(z); }}}) {
        std::vector<Complex> want;
        for (Complex z : kValues) want.push_back(row.host(z));
        expect_near(row.name, row.function(numbers(kValues)), want);
    }
#undef ROW
}

TEST(Complex, FunctionsOfTwoNumbersAreTheHosts) {
    std::vector<Complex> others(kValues.rbegin(), kValues.rend()), sums, products, quotients, powers;
    for (size_t i = 0; i < kValues.size(); ++i) {
        sums.push_back(kValues[i] + others[i]);
        products.push_back(kValues[i] * others[i]);
        quotients.push_back(kValues[i] / others[i]);
        powers.push_back(std::pow(kValues[i], others[i]));
    }
    Tensor a = numbers(kValues), b = numbers(others);
    expect_near("add", a + b, sums);
    expect_near("mul", a * b, products);
    expect_near("div", a / b, quotients);
    expect_near("pow", a.pow(b), powers);
    expect_values(a.eq(a), {7}, dtypes::boolean, std::vector<double>(7, 1));
}

TEST(Complex, WhatTakesOneGraphSaysThatThereAreTwo) {
    Tensor z = numbers(kValues);
    EXPECT_EQ(z.dtype(), dtypes::complex128);
    EXPECT_EQ(z.nbytes(), 7 * 16);
    EXPECT_TRUE(z.is_complex() && static_cast<bool>(z));
    expect_error(ErrorKind::DType, "x.real and x.imag", [&] { (void)z.uop(); });
    expect_error(ErrorKind::DType, "[floor] takes real types, not complex128", [&] { z.floor(); });
    expect_error(ErrorKind::DType, "drop the imaginary part", [&] { z.cast(dtypes::float64); });
    expect_error(ErrorKind::DType, "graphs are of real types", [&] { (void)Number(1).constant(dtypes::complex64); });
}

TEST(Complex, NumbersMeetTensors) {
    Number one(Complex(1, -2));
    EXPECT_EQ(one.default_dtype(), dtypes::complex64);
    EXPECT_EQ(one.dtype_with(dtypes::float64), dtypes::complex128);
    EXPECT_EQ(Number(1).dtype_with(dtypes::complex64), dtypes::complex64);
    EXPECT_FALSE(one.is_zero());
    expect_error(ErrorKind::DType, "1-2j is complex", [&] { one.as_double(); });
    expect_near("full", Tensor::full({2}, one, dtypes::complex128), {{1, -2}, {1, -2}});
    expect_near("sub", Complex(1, -2) - numbers({{1, 1}}), {{0, -3}});
}

}  // namespace
