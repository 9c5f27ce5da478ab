#include "helpers.h"
#include "strata/ops/random.h"

using namespace strata;
using namespace strata::test;

namespace {

TEST(Creation, FullTensorsTakeNoMemory) {
    EXPECT_TRUE(Tensor::ones({1 << 20}).value().is_const());
    expect_values(Tensor::full({2}, 2.5), {2}, dtypes::float32, {2.5, 2.5});
    expect_values(Tensor::full({2}, 7), {2}, dtypes::int64, {7, 7});
    expect_values(Tensor::full({}, true), {}, dtypes::boolean, {1});
    expect_values(Tensor::zeros({0, 2}), {0, 2}, dtypes::float32, {});
    expect_values(vec({1, 2}, dtypes::int8).full_like(3), {2}, dtypes::int8, {3, 3});
    expect_values(vec({1, 2}, dtypes::int8).ones_like(dtypes::float16), {2}, dtypes::float16, {1, 1});
    EXPECT_EQ(Tensor::full({1}, uint64_t{1} << 63).dtype(), dtypes::uint64);
    expect_error(ErrorKind::Shape, "[full] shape (2, -1) has a negative size", [] { Tensor::ones({2, -1}); });
    expect_error(ErrorKind::Shape, "more elements than 64 bits can count",
                 [] { Tensor::ones({int64_t{1} << 40, int64_t{1} << 40}); });
}

TEST(Creation, Aranges) {
    expect_values(Tensor::arange(4), {4}, dtypes::int64, {0, 1, 2, 3});
    expect_values(Tensor::arange(2, 9, 3), {3}, dtypes::int64, {2, 5, 8});
    expect_values(Tensor::arange(5, 0, -2), {3}, dtypes::int64, {5, 3, 1});
    expect_values(Tensor::arange(5, 0), {0}, dtypes::int64, {});
    expect_values(Tensor::arange(0, 1, 0.25), {4}, dtypes::float32, {0, 0.25, 0.5, 0.75});
    expect_values(Tensor::arange(3, dtypes::float16), {3}, dtypes::float16, {0, 1, 2});
    expect_values(Tensor::arange(250, 256, 1, dtypes::uint8), {6}, dtypes::uint8, {250, 251, 252, 253, 254, 255});
    expect_error(ErrorKind::DType, "257 does not fit uint8", [] { Tensor::arange(250, 258, 1, dtypes::uint8); });
    expect_values(Tensor::arange(int64_t{1} << 40, (int64_t{1} << 40) + 2), {2}, dtypes::int64,
                  {1099511627776.0, 1099511627777.0});
    for (UOp u : toposort(Tensor::arange(10).uop())) EXPECT_FALSE(u.is(Op::buffer));
    expect_error(ErrorKind::Usage, "[arange] a step of 0", [] { Tensor::arange(0, 1, 0); });
    expect_error(ErrorKind::Usage, "has no finite length",
                 [] { Tensor::arange(0, std::numeric_limits<double>::infinity()); });
}

TEST(Creation, LinspacesEndExactly) {
    expect_values(Tensor::linspace(0, 1, 5), {5}, dtypes::float32, {0, 0.25, 0.5, 0.75, 1});
    expect_values(Tensor::linspace(0, 1, 4, dtypes::float64, false), {4}, dtypes::float64, {0, 0.25, 0.5, 0.75});
    expect_values(Tensor::linspace(3, 9, 1), {1}, dtypes::float32, {3});
    expect_values(Tensor::linspace(3, 9, 0), {0}, dtypes::float32, {});
    EXPECT_EQ(numbers(Tensor::linspace(0, 0.1, 1001)).back(), round_to(dtypes::float32, 0.1));
    expect_error(ErrorKind::DType, "[linspace] gives floats, not int32",
                 [] { Tensor::linspace(0, 1, 3, dtypes::int32); });
}

TEST(Creation, EyesAndTriangles) {
    expect_values(Tensor::eye(2, 3), {2, 3}, dtypes::float32, {1, 0, 0, 0, 1, 0});
    expect_values(Tensor::eye(3, {}, -1, dtypes::int32), {3, 3}, dtypes::int32, {0, 0, 0, 1, 0, 0, 0, 1, 0});
    EXPECT_EQ(Tensor::eye(0, 3).shape(), (Shape{0, 3}));
    Tensor x = tensor({2, 2, 2}, dtypes::float32, {1, NAN, 3, 4, 5, 6, 7, 8});
    expect_values(x.tril(), {2, 2, 2}, dtypes::float32, {1, 0, 3, 4, 5, 0, 7, 8});
    expect_values(x.triu(1), {2, 2, 2}, dtypes::float32, {0, NAN, 0, 0, 0, 6, 0, 0});
    expect_error(ErrorKind::Shape, "[tril] shape (2,)", [] { Tensor::ones({2}).tril(); });
}

Tensor key(uint32_t a, uint32_t b, uint32_t low, uint32_t high) {
    return vec({double(a), double(b), double(low), double(high)}, dtypes::uint32);
}

TEST(Random, ThreefryGivesThePublishedBlocks) {
    struct Case {
        uint32_t key[2], counter[2], wanted[2];
    };
    // Known answers of the Random123 distribution for threefry2x32 with 20 rounds.
    const Case cases[] = {{{0, 0}, {0, 0}, {0x6b200159, 0x99ba4efe}},
                          {{0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}, {0x1cb996fc, 0xbb002be7}},
                          {{0x13198a2e, 0x03707344}, {0x243f6a88, 0x85a308d3}, {0xc4923a9c, 0x483df7a0}}};
    for (const Case& c : cases) {
        ops::RandomBits bits = ops::threefry(key(c.key[0], c.key[1], c.counter[0], c.counter[1]), 1);
        expect_values(bits.first, {1}, dtypes::uint32, {double(c.wanted[0])});
        expect_values(bits.second, {1}, dtypes::uint32, {double(c.wanted[1])});
    }
}

TEST(Random, CountersCarryIntoTheHighWord) {
    ops::RandomBits all = ops::threefry(key(1, 2, 0xfffffffe, 7), 4), later = ops::threefry(key(1, 2, 0, 8), 2);
    std::vector<double> a = numbers(all.first), b = numbers(later.first);
    EXPECT_EQ(a[2], b[0]);
    EXPECT_EQ(a[3], b[1]);
    EXPECT_NE(a[0], a[1]);
}

TEST(Random, UniformNumbersAreUniform) {
    for (DType t : {dtypes::float32, dtypes::float64, dtypes::float16, dtypes::bfloat16, dtypes::fp8e5m2}) {
        std::vector<double> v = numbers(ops::uniform_from(ops::threefry(key(3, 4, 0, 0), 4000), t));
        double mean = 0, square = 0;
        for (double x : v) {
            ASSERT_GE(x, 0);
            ASSERT_LT(x, 1);
            mean += x / 4000;
            square += x * x / 4000;
        }
        double step = std::ldexp(1, -t.mantissa_bits() - 1);  // the grid's mean is 1/2 - step/2
        EXPECT_NEAR(mean, 0.5 - step / 2, 0.02);
        EXPECT_NEAR(square - mean * mean, 1.0 / 12, 0.005);
    }
}

TEST(Random, NormalNumbersAreNormal) {
    for (DType t : {dtypes::float32, dtypes::float64, dtypes::float16}) {
        std::vector<double> v = numbers(ops::normal_from(ops::threefry(key(3, 4, 0, 0), 8000), t));
        double mean = 0, square = 0, fourth = 0;
        for (double x : v) {
            ASSERT_TRUE(std::isfinite(x));
            mean += x / 8000;
            square += x * x / 8000;
            fourth += x * x * x * x / 8000;
        }
        EXPECT_NEAR(mean, 0, 0.05);
        EXPECT_NEAR(square, 1, 0.06);
        EXPECT_NEAR(fourth, 3, 0.4);
    }
}

TEST(Random, OneKernelForEverySeed) {
    UOp a = ops::uniform_from(ops::threefry(key(1, 1, 0, 0), 8), dtypes::float32).uop(),
        b = ops::uniform_from(ops::threefry(key(2, 9, 5, 0), 8), dtypes::float32).uop();
    std::vector<UOp> x = toposort(a), y = toposort(b);
    ASSERT_EQ(x.size(), y.size());
    for (size_t k = 0; k < x.size(); ++k)
        EXPECT_TRUE(x[k].is(Op::buffer) || (x[k].op() == y[k].op() && equal(x[k].arg(), y[k].arg())));
}

}  // namespace
