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

using Words = std::array<uint32_t, 4>;

/// Two words of key, four of counter.
Tensor key(uint32_t a, uint32_t b, const Words& counter = {}) {
    return vec({double(a), double(b), double(counter[0]), double(counter[1]), double(counter[2]), double(counter[3])},
               dtypes::uint32);
}

std::vector<double> block(const Tensor& key, int64_t index) {
    std::vector<double> words;
    for (const Tensor& word : ops::philox(key, vec({double(index)}, dtypes::uint32))) words.push_back(numbers(word)[0]);
    return words;
}

TEST(Random, PhiloxGivesThePublishedBlocks) {
    struct Case {
        uint32_t key[2];
        Words counter;
        std::vector<double> wanted;
    };
    // Known answers of the Random123 distribution for philox4x32 with 10 rounds.
    const Case cases[] = {{{0, 0}, {}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
                          {{~0u, ~0u}, {~0u, ~0u, ~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
                          {{0xa4093822, 0x299f31d0},
                           {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                           {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
    for (const Case& c : cases) EXPECT_EQ(block(key(c.key[0], c.key[1], c.counter), 0), c.wanted);
}

TEST(Random, CountersCarryThroughAllWords) {
    const uint32_t most = ~0u;
    const std::pair<Words, Words> sums[] = {{{most - 1, 7, 0, 0}, {1, 8, 0, 0}},
                                            {{most - 1, most, 7, 0}, {1, 0, 8, 0}},
                                            {{most - 1, most, most, 7}, {1, 0, 0, 8}},
                                            {{most - 1, most, most, most}, {1, 0, 0, 0}}};
    for (const auto& [offset, sum] : sums) {
        EXPECT_EQ(block(key(1, 2, offset), 3), block(key(1, 2, sum), 0));
        EXPECT_EQ(block(key(1, 2, offset), 1), block(key(1, 2, {most, offset[1], offset[2], offset[3]}), 0));
    }
    expect_error(ErrorKind::Usage, "[philox] the key is uint32 (4,), it must be uint32 (6,)",
                 [] { ops::words_from(vec({1, 2, 3, 4}, dtypes::uint32), 4); });
}

TEST(Random, EachWordOfABlockIsAnElement) {
    const Tensor k = key(5, 6, {9, 0, 0, 0});
    const std::vector<double> words = numbers(ops::words_from(k, 7));
    const auto [first, second] = ops::pairs_from(k, 3);
    std::vector<double> blocks, pairs;
    for (int i = 0; i < 2; ++i) std::ranges::copy(block(k, i), std::back_inserter(blocks));
    for (size_t i = 0; i < 3; ++i) pairs.push_back(numbers(first)[i]), pairs.push_back(numbers(second)[i]);
    EXPECT_EQ(words, std::vector(blocks.begin(), blocks.begin() + 7));
    EXPECT_EQ(pairs, std::vector(blocks.begin(), blocks.begin() + 6));
}

TEST(Random, UniformNumbersAreUniform) {
    for (DType t : {dtypes::float32, dtypes::float64, dtypes::float16, dtypes::bfloat16, dtypes::fp8e5m2}) {
        std::vector<double> v = numbers(ops::uniform_from(key(3, 4), 4000, t));
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
        std::vector<double> v = numbers(ops::normal_from(key(3, 4), 8000, t));
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
    UOp a = ops::uniform_from(key(1, 1), 8, dtypes::float32).uop(),
        b = ops::uniform_from(key(2, 9, {5, 0, 0, 0}), 8, dtypes::float32).uop();
    std::vector<UOp> x = toposort(a), y = toposort(b);
    ASSERT_EQ(x.size(), y.size());
    for (size_t k = 0; k < x.size(); ++k)
        EXPECT_TRUE(x[k].is(Op::buffer) || (x[k].op() == y[k].op() && equal(x[k].arg(), y[k].arg())));
}

}  // namespace
