#include <dlfcn.h>

#include <map>

#include "helpers.h"

using namespace strata;
using namespace strata::test;

namespace {

const double inf = std::numeric_limits<double>::infinity();

TEST(Elementwise, AddsWithBroadcastingAndPromotion) {
    Tensor a = tensor({2, 1, 3}, dtypes::int32, {1, 2, 3, 4, 5, 6}), b = tensor({2, 1}, dtypes::float16, {10, 20});
    expect_values(a + b, {2, 2, 3}, dtypes::float16, {11, 12, 13, 21, 22, 23, 14, 15, 16, 24, 25, 26});
    expect_values(a + 1, {2, 1, 3}, dtypes::int32, {2, 3, 4, 5, 6, 7});
    expect_values(a + 0.5, {2, 1, 3}, dtypes::float32, {1.5, 2.5, 3.5, 4.5, 5.5, 6.5});
    expect_values(ops::sub(1, b), {2, 1}, dtypes::float16, {-9, -19});
}

TEST(Elementwise, NumbersAreWeak) {
    EXPECT_EQ((vec({1}, dtypes::int8) + 1).dtype(), dtypes::int8);
    EXPECT_EQ((vec({1}, dtypes::bfloat16) * 2.5).dtype(), dtypes::bfloat16);
    EXPECT_EQ((vec({1}, dtypes::boolean) + 1).dtype(), dtypes::int64);
    EXPECT_EQ((vec({1}, dtypes::boolean) + true).dtype(), dtypes::boolean);
    EXPECT_EQ((vec({1}, dtypes::int64) + 1.0).dtype(), dtypes::float32);
    EXPECT_EQ((vec({1}, dtypes::uint8) + Tensor::full({}, 1)).dtype(), dtypes::int64);  // 0-D tensors are not
    expect_error(ErrorKind::DType, "300 does not fit uint8", [] { vec({1}, dtypes::uint8) + 300; });
    expect_error(ErrorKind::DType, "-1 does not fit uint32", [] { vec({1}, dtypes::uint32) + -1; });
}

TEST(Elementwise, ShapesThatDoNotBroadcastAreNamed) {
    expect_error(ErrorKind::Shape, "[add] shapes (2, 3) and (4, 5)",
                 [] { Tensor::ones({2, 3}) + Tensor::ones({4, 5}); });
    expect_error(ErrorKind::Shape, "[where] shapes (3,) and (2,)",
                 [] { ops::where(Tensor::ones({3}), Tensor::ones({2}), 1); });
}

TEST(Elementwise, TypesThatDoNotFitAreNamed) {
    expect_error(ErrorKind::DType, "[bitwise_and] takes integers and bool, not float32", [] { Tensor::ones({2}) & 1; });
    expect_error(ErrorKind::DType, "[sub] takes integers and floats, not bool",
                 [] { Tensor::ones({2}, dtypes::boolean) - Tensor::ones({2}, dtypes::boolean); });
    expect_error(ErrorKind::DType, "[bitwise_left_shift] takes integers",
                 [] { Tensor::ones({2}, dtypes::boolean) << Tensor::ones({2}, dtypes::boolean); });
    expect_error(ErrorKind::DType, "[bitcast] float32 to int16", [] { Tensor::ones({2}).bitcast(dtypes::int16); });
}

TEST(Elementwise, BoolsAddAndMultiplyAsLogic) {
    Tensor a = vec({0, 0, 1, 1}, dtypes::boolean), b = vec({0, 1, 0, 1}, dtypes::boolean);
    expect_values(a + b, {4}, dtypes::boolean, {0, 1, 1, 1});
    expect_values(a * b, {4}, dtypes::boolean, {0, 0, 0, 1});
    expect_values(a.maximum(b), {4}, dtypes::boolean, {0, 1, 1, 1});
    expect_values(a.minimum(b), {4}, dtypes::boolean, {0, 0, 0, 1});
    expect_values(a ^ b, {4}, dtypes::boolean, {0, 1, 1, 0});
    expect_values(~a, {4}, dtypes::boolean, {1, 1, 0, 0});
    expect_values(a.logical_xor(b), {4}, dtypes::boolean, {0, 1, 1, 0});
    expect_values(a.lt(b), {4}, dtypes::boolean, {0, 1, 0, 0});
    expect_values(a.le(b), {4}, dtypes::boolean, {1, 1, 0, 1});
}

TEST(Elementwise, TrueDivisionOfIntegersGivesFloat32) {
    expect_values(vec({1, 7, -3}, dtypes::int64) / vec({2, 2, 4}, dtypes::int16), {3}, dtypes::float32,
                  {0.5, 3.5, -0.75});
    expect_values(vec({1}) / 0, {1}, dtypes::float32, {inf});
}

double python_mod(double a, double b) {
    double r = std::fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

TEST(Elementwise, FloorDivisionAndRemainderOfIntegersFollowTheDivisor) {
    std::vector<double> a, b, q, r;
    for (int x : {-7, -6, -1, 0, 1, 5, 6, 7})
        for (int y : {-4, -3, -1, 1, 2, 3}) {
            a.push_back(x);
            b.push_back(y);
            q.push_back(std::floor(double(x) / y));
            r.push_back(python_mod(x, y));
        }
    for (DType t : {dtypes::int8, dtypes::int32, dtypes::int64, dtypes::float32, dtypes::float64}) {
        Shape shape{static_cast<int64_t>(a.size())};
        expect_values(vec(a, t).floor_divide(vec(b, t)), shape, t, q);
        expect_values(vec(a, t) % vec(b, t), shape, t, r);
    }
    expect_values(vec({-7, 7, 8}, dtypes::int32).floor_divide(4), {3}, dtypes::int32, {-2, 1, 2});
    expect_values(vec({-7, 7, 8}, dtypes::int32).remainder(4), {3}, dtypes::int32, {1, 3, 0});
    expect_values(vec({-7, 7, 8}, dtypes::int32).remainder(-4), {3}, dtypes::int32, {-3, -1, 0});
    expect_values(vec({7, 200}, dtypes::uint8).floor_divide(3), {2}, dtypes::uint8, {2, 66});
    expect_values(vec({7, 200}, dtypes::uint8) % 3, {2}, dtypes::uint8, {1, 2});
}

TEST(Elementwise, FloorDivisionOfFloatsIsExactWhereTheQuotientRounds) {
    // 1 / 0.1 rounds to 10 in float32 though 0.1f is above a tenth.
    expect_values(vec({1, 5, -5, 5, 1, inf}).floor_divide(vec({0.1, inf, inf, -inf, 0, 2})), {6}, dtypes::float32,
                  {9, 0, -1, -1, inf, NAN});
    double tenth = round_to(dtypes::float32, 0.1);
    expect_values(vec({1, 5, -5, 5, 1, inf}) % vec({0.1, inf, inf, -inf, 0, 2}), {6}, dtypes::float32,
                  {round_to(dtypes::float32, std::fmod(1, tenth)), 5, inf, -inf, NAN, NAN});
}

TEST(Elementwise, ComparesWithNaNAndMixedTypes) {
    Tensor a = vec({1, 2, 3, NAN}), b = vec({2, 2, 2, 2}, dtypes::int32);
    expect_values(a < b, {4}, dtypes::boolean, {1, 0, 0, 0});
    expect_values(a <= b, {4}, dtypes::boolean, {1, 1, 0, 0});
    expect_values(a > b, {4}, dtypes::boolean, {0, 0, 1, 0});
    expect_values(a >= b, {4}, dtypes::boolean, {0, 1, 1, 0});
    expect_values(a.eq(b), {4}, dtypes::boolean, {0, 1, 0, 0});
    expect_values(a.ne(b), {4}, dtypes::boolean, {1, 0, 1, 1});
    expect_values(vec({200, 3}, dtypes::uint8).ge(100), {2}, dtypes::boolean, {1, 0});
}

TEST(Elementwise, LogicTakesEveryType) {
    expect_values(vec({0, 0.5, -2}).logical_and(vec({1, 1, 0}, dtypes::int8)), {3}, dtypes::boolean, {0, 1, 0});
    expect_values(vec({0, 0.5, NAN}).logical_not(), {3}, dtypes::boolean, {1, 0, 0});
}

TEST(Elementwise, ShiftsByTheWidthOrMoreAreDefined) {
    Tensor x = vec({1, -1, 5, -128}, dtypes::int8);
    expect_values(x << vec({3, 8, 7, 1}, dtypes::int8), {4}, dtypes::int8, {8, 0, -128, 0});
    expect_values(x >> vec({0, 9, 1, 100}, dtypes::int8), {4}, dtypes::int8, {1, -1, 2, -1});
    expect_values(x << 1, {4}, dtypes::int8, {2, -2, 10, 0});
    expect_values(x >> 20, {4}, dtypes::int8, {0, -1, 0, -1});
    expect_values(vec({255, 255}, dtypes::uint8) >> vec({7, 8}, dtypes::uint8), {2}, dtypes::uint8, {1, 0});
    expect_values((vec({6}, dtypes::int32) & 3) | 8, {1}, dtypes::int32, {10});
    expect_values(~vec({6}, dtypes::int32), {1}, dtypes::int32, {-7});
}

TEST(Elementwise, IntegerPowersAreExact) {
    expect_values(vec({3, -3, 2, 0, 1}, dtypes::int64).pow(vec({20, 3, 62, 0, 1000}, dtypes::int64)), {5},
                  dtypes::int64, {3486784401.0, -27, 4611686018427387904.0, 1, 1});
    expect_values(vec({1, -1, -1, 5}, dtypes::int32).pow(vec({-5, -3, -2, -1}, dtypes::int32)), {4}, dtypes::int32,
                  {1, -1, 1, 0});
    expect_values(vec({7, 2}, dtypes::uint8).pow(vec({3, 9}, dtypes::uint8)), {2}, dtypes::uint8, {343 % 256, 0});
    expect_values(vec({7, -2}, dtypes::int32).pow(5), {2}, dtypes::int32, {16807, -32});
    expect_values(vec({7, -2}, dtypes::int32).pow(0), {2}, dtypes::int32, {1, 1});
    expect_error(ErrorKind::Usage, "[pow] integers to the power -2", [] { vec({2}, dtypes::int32).pow(-2); });
}

TEST(Elementwise, FloatPowers) {
    expect_values(vec({3, -2}).pow(2), {2}, dtypes::float32, {9, 4});
    expect_values(vec({4, 2}).pow(-1), {2}, dtypes::float32, {0.25, 0.5});
    expect_values(vec({4, 9}).pow(0.5), {2}, dtypes::float32, {2, 3});
    expect_values(vec({4, 2}).pow(vec({1.5, -2})), {2}, dtypes::float32, {8, 0.25});
    expect_values(vec({2, NAN}).pow(0), {2}, dtypes::float32, {1, 1});
    expect_values(vec({2}, dtypes::int32).pow(0.5), {1}, dtypes::float32, {std::sqrt(2.0)}, 1e-7);
}

using Function = double (*)(double);
struct Case {
    std::string_view name;
    Tensor (Tensor::*of)() const;
    Function reference;
};

/// The rows of elementwise.def that make floats of everything, with the host's function where C has one of that name.
std::vector<Case> float_functions() {
    enum Accept { any, number, integer, bits, logic, floating, wide };
    std::vector<Case> out;
    auto add = [&](std::string_view name, Tensor (Tensor::*of)() const, Accept accepts) {
        if (accepts != floating && accepts != wide) return;
        out.push_back({name, of, reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, std::string(name).c_str()))});
    };
#define UNARY(name, accepts, ...) add(#name, &Tensor::name, accepts);
#define BINARY(...)
#include "strata/ops/elementwise.def"
#undef UNARY
#undef BINARY
    return out;
}

const std::map<std::string_view, Function> not_in_c = {
    {"rsqrt", [](double v) { return 1 / std::sqrt(v); }},
    {"reciprocal", [](double v) { return 1 / v; }},
    {"sigmoid", [](double v) { return 1 / (1 + std::exp(-v)); }},
    {"silu", [](double v) { return v / (1 + std::exp(-v)); }},
    {"softplus", [](double v) { return std::log1p(std::exp(v)); }},
    {"gelu", [](double v) { return v * 0.5 * (1 + std::erf(v / std::sqrt(2.0))); }},
    {"gelu_tanh", [](double v) { return 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))); }},
};

TEST(Elementwise, EveryFunctionOfFloatsTakesFloatsAndIntegers) {
    std::vector<double> in = {0.25, 1, 2, 3.5};
    for (const Case& c : float_functions()) {
        SCOPED_TRACE(c.name);
        if ((vec(in).*c.of)().dtype().is_bool()) continue;  // signbit
        Function f = c.reference ? c.reference : not_in_c.at(c.name);
        for (DType t : {dtypes::float16, dtypes::bfloat16, dtypes::float32, dtypes::float64}) {
            std::vector<double> wanted;
            for (double v : in) wanted.push_back(f(round_to(t, v)));
            expect_values((vec(in, t).*c.of)(), {4}, t, wanted, std::ldexp(4.0, -t.mantissa_bits()));
        }
        expect_values((vec({1, 2}, dtypes::int16).*c.of)(), {2}, dtypes::float32, {f(1), f(2)}, 1e-6);
    }
}

TEST(Elementwise, SigmoidAndSiluSaturate) {
    expect_values(vec({-200, 200}).sigmoid(), {2}, dtypes::float32, {0, 1});
    expect_values(vec({-200, 200}).gelu(), {2}, dtypes::float32, {0, 200});
}

TEST(Elementwise, RoundsHalvesToEvenAndKeepsIntegers) {
    Tensor x = vec({-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.6});
    expect_values(x.round(), {7}, dtypes::float32, {-2, -2, 0, 0, 2, 2, 3});
    expect_values(x.floor(), {7}, dtypes::float32, {-3, -2, -1, 0, 1, 2, 2});
    expect_values(x.ceil(), {7}, dtypes::float32, {-2, -1, 0, 1, 2, 3, 3});
    expect_values(x.trunc(), {7}, dtypes::float32, {-2, -1, 0, 0, 1, 2, 2});
    Tensor i = vec({1, 2}, dtypes::int32);
    EXPECT_EQ(i.round().uop(), i.uop());
}

TEST(Elementwise, SignsAndAbsolutes) {
    expect_values(vec({-3, 0, 2, NAN}).sign(), {4}, dtypes::float32, {-1, 0, 1, NAN});
    expect_values(vec({-3, 0, 2}, dtypes::int8).sign(), {3}, dtypes::int8, {-1, 0, 1});
    expect_values(vec({0, 9}, dtypes::uint8).sign(), {2}, dtypes::uint8, {0, 1});
    expect_values(vec({-3, 4}, dtypes::int8).abs(), {2}, dtypes::int8, {3, 4});
    expect_values(-vec({-3, 4}), {2}, dtypes::float32, {3, -4});
    expect_values(vec({-3, 4}).square(), {2}, dtypes::float32, {9, 16});
    expect_values(vec({-3, 4, NAN}).relu(), {3}, dtypes::float32, {0, 4, NAN});
}

TEST(Elementwise, MinimaAndMaximaKeepNaN) {
    expect_values(vec({1, NAN, 3}).maximum(vec({2, 1, NAN})), {3}, dtypes::float32, {2, NAN, NAN});
    expect_values(vec({1, NAN, 3}).minimum(2), {3}, dtypes::float32, {1, NAN, 2});
    expect_values(vec({-1, 5, 9, NAN}).clamp(0, 6), {4}, dtypes::float32, {0, 5, 6, NAN});
    expect_values(vec({-1, 5, 9}, dtypes::int32).clamp({}, 6), {3}, dtypes::int32, {-1, 5, 6});
}

TEST(Elementwise, ClassifiesNumbers) {
    for (DType t : {dtypes::float16, dtypes::float32, dtypes::fp8e5m2}) {
        Tensor x = vec({1, inf, -inf, NAN}, t);
        expect_values(x.isnan(), {4}, dtypes::boolean, {0, 0, 0, 1});
        expect_values(x.isinf(), {4}, dtypes::boolean, {0, 1, 1, 0});
        expect_values(x.isfinite(), {4}, dtypes::boolean, {1, 0, 0, 0});
    }
    for (DType t : {dtypes::fp8e4m3, dtypes::fp8e4m3fnuz, dtypes::fp8e5m2fnuz}) {  // no infinity
        expect_values(vec({1, NAN}, t).isinf(), {2}, dtypes::boolean, {0, 0});
        expect_values(vec({1, NAN}, t).isfinite(), {2}, dtypes::boolean, {1, 0});
    }
    expect_values(vec({1, 2}, dtypes::int32).isfinite(), {2}, dtypes::boolean, {1, 1});
}

TEST(Elementwise, Casts) {
    expect_values(vec({1.9, -1.9, 300, NAN, -5}).cast(dtypes::uint8), {5}, dtypes::uint8, {1, 0, 255, 0, 0});
    expect_values(vec({257, -1}, dtypes::int32).cast(dtypes::uint8), {2}, dtypes::uint8, {1, 255});
    expect_values(vec({0, 0.5, NAN}).cast(dtypes::boolean), {3}, dtypes::boolean, {0, 1, 1});
    expect_values(vec({1.0 / 3}).cast(dtypes::bfloat16), {1}, dtypes::bfloat16, {0.333984375});
    expect_values(Tensor::full({2}, 2.75).cast(dtypes::int32), {2}, dtypes::int32, {2, 2});
    expect_values(vec({1, -2}).bitcast(dtypes::int32), {2}, dtypes::int32, {0x3f800000, double(int32_t(0xc0000000))});
    expect_values(vec({0x3c00}, dtypes::uint16).bitcast(dtypes::float16), {1}, dtypes::float16, {1});
    Tensor x = vec({1, 2});
    EXPECT_EQ(x.cast(dtypes::float32).uop(), x.uop());
}

TEST(Elementwise, WhereSelectsAndPromotes) {
    Tensor c = tensor({2, 1}, dtypes::boolean, {1, 0});
    expect_values(ops::where(c, vec({1, 2, 3}, dtypes::int32), 0.5), {2, 3}, dtypes::float32, {1, 2, 3, .5, .5, .5});
    expect_values(ops::where(true, 1, 2), {}, dtypes::int64, {1});
    expect_values(ops::where(vec({0, 2}), vec({NAN, 1}), 7), {2}, dtypes::float32, {7, 1});
}

TEST(Elementwise, UniformTensorsStayConstants) {
    Tensor x = Tensor::ones({4, 5}) + Tensor::full({5}, 2.0);
    EXPECT_TRUE(x.is_uniform());
    EXPECT_TRUE(x.value().shape().empty());
    expect_values(x.sqrt(), {4, 5}, dtypes::float32, std::vector<double>(20, std::sqrt(3.0)), 1e-7);
    Tensor y = vec({1, 2}) * Tensor::full({2}, 3.0);
    EXPECT_TRUE(y.uop().src(1).is_const());
}

TEST(Elementwise, ComputedScalarsAreExpandedExplicitly) {
    Tensor total = vec({1, 2, 3}).sum();
    Tensor y = vec({2, 4}) / total;
    EXPECT_TRUE(y.uop().src(1).is(Op::expand));
    expect_values(y, {2}, dtypes::float32, {1.0 / 3, 2.0 / 3}, 1e-7);
}

TEST(Elementwise, EmptyAndFiveDimensionalShapes) {
    Tensor e = tensor({0, 3}, dtypes::float32, {1});
    expect_values(e + 1, {0, 3}, dtypes::float32, {});
    expect_values(e * Tensor::ones({1, 3}), {0, 3}, dtypes::float32, {});
    Array a = varied({2, 3, 1, 5, 7}, dtypes::float32, 3), b = varied({3, 2, 1, 7}, dtypes::float32, 4);
    std::vector<double> wanted;
    host::each_position({2, 3, 2, 5, 7}, [&](const std::vector<int64_t>& p) {
        wanted.push_back(a.f[host::offset(a.shape, {p[0], p[1], 0, p[3], p[4]})] *
                         b.f[host::offset(b.shape, {p[1], p[2], 0, p[4]})]);
    });
    expect_values(tensor(a) * tensor(b), {2, 3, 2, 5, 7}, dtypes::float32, wanted);
}

}  // namespace
