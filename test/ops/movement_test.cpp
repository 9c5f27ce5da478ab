#include "helpers.h"

using namespace strata;
using namespace strata::test;

namespace {

std::vector<double> counting(int64_t n) {
    std::vector<double> out;
    for (int64_t k = 0; k < n; ++k) out.push_back(static_cast<double>(k));
    return out;
}
Tensor counted(Shape shape, DType dtype = dtypes::int32) {
    int64_t n = 1;
    for (int64_t d : shape) n *= d;
    return tensor(std::move(shape), dtype, counting(std::max<int64_t>(n, 1)));
}

TEST(Movement, ReshapesMergeAndVanish) {
    Tensor x = counted({2, 3, 4});
    expect_values(x.reshape({4, -1}), {4, 6}, dtypes::int32, counting(24));
    EXPECT_EQ(x.reshape({24}).reshape({2, 12}).reshape({2, 3, 4}).uop(), x.uop());
    EXPECT_EQ(x.reshape({6, 4}).reshape({3, 8}).uop().src(0), x.uop().src(0));
    expect_values(counted({1}).reshape({}), {}, dtypes::int32, {0});
    EXPECT_EQ(Tensor::zeros({0, 3}).reshape({3, -1}).shape(), (Shape{3, 0}));
    expect_error(ErrorKind::Shape, "[reshape] (2, 3, 4) to (5, -1)", [&] { x.reshape({5, -1}); });
    expect_error(ErrorKind::Shape, "[reshape] (2, 3, 4) to (23,)", [&] { x.reshape({23}); });
    expect_error(ErrorKind::Shape, "[reshape]", [&] { x.reshape({-1, -1}); });
    expect_error(ErrorKind::Shape, "[reshape]", [&] { x.reshape({-2, -12}); });
    expect_error(ErrorKind::Shape, "[reshape]", [&] { Tensor::zeros({0, 3}).reshape({0, -1}); });
}

TEST(Movement, PermutesMergeAndVanish) {
    Tensor x = counted({2, 3, 4});
    expect_values(x.permute({2, 0, 1}).reshape({24}), {24}, dtypes::int32,
                  {0, 4, 8, 12, 16, 20, 1, 5, 9, 13, 17, 21, 2, 6, 10, 14, 18, 22, 3, 7, 11, 15, 19, 23});
    EXPECT_EQ(x.permute({2, 0, 1}).permute({1, 2, 0}).uop(), x.uop());
    EXPECT_EQ(x.permute({2, 0, 1}).permute({-1, 0, 1}).uop(), x.permute({1, 2, 0}).uop());
    EXPECT_EQ(x.permute({0, 1, 2}).uop(), x.uop());
    EXPECT_EQ(x.T().shape(), (Shape{4, 3, 2}));
    EXPECT_EQ(x.transpose(0, 2).uop(), x.T().uop());
    EXPECT_EQ(x.movedim(0, -1).uop(), x.permute({1, 2, 0}).uop());
    expect_values(counted({2, 3}).T(), {3, 2}, dtypes::int32, {0, 3, 1, 4, 2, 5});
    expect_error(ErrorKind::Usage, "[permute] axis 1 is named twice", [&] { x.permute({0, 1, 1}); });
    expect_error(ErrorKind::Shape, "[permute] 2 axes for shape (2, 3, 4)", [&] { x.permute({0, 1}); });
    expect_error(ErrorKind::Shape, "[transpose] axis 3", [&] { x.transpose(0, 3); });
}

TEST(Movement, ExpandsAxesOfSizeOne) {
    expect_values(counted({2, 1}).expand({2, 2, 3}), {2, 2, 3}, dtypes::int32, {0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1});
    expect_values(counted({2, 1}).expand({-1, 2}), {2, 2}, dtypes::int32, {0, 0, 1, 1});
    Tensor x = counted({1, 3});
    EXPECT_EQ(x.expand({4, 3}).uop().op(), Op::expand);
    EXPECT_EQ(x.expand({1, 3}).uop(), x.uop());
    EXPECT_TRUE(Tensor::ones({1}).expand({5, 5}).is_uniform());
    expect_error(ErrorKind::Shape, "[expand] (2, 1) to (3, 4)", [&] { counted({2, 1}).expand({3, 4}); });
    expect_error(ErrorKind::Shape, "[expand] (2, 1) to (2,)", [&] { counted({2, 1}).expand({2}); });
    expect_error(ErrorKind::Shape, "[expand] (2, 1) to (-1, 2, 1)", [&] { counted({2, 1}).expand({-1, 2, 1}); });
}

TEST(Movement, PadsWithAnyValue) {
    expect_values(counted({2, 2}).pad({{1, 0}, {0, 2}}), {3, 4}, dtypes::int32, {0, 0, 0, 0, 0, 1, 0, 0, 2, 3, 0, 0});
    expect_values(counted({2}).pad({{1, 1}}, 7), {4}, dtypes::int32, {7, 0, 1, 7});
    expect_values(vec({1}).pad({{0, 1}}, -std::numeric_limits<double>::infinity()), {2}, dtypes::float32,
                  {1, -std::numeric_limits<double>::infinity()});
    expect_values(Tensor::ones({2}).pad({{1, 0}}, 3), {3}, dtypes::float32, {3, 1, 1});
    expect_values(counted({0}).pad({{1, 1}}, 4), {2}, dtypes::int32, {4, 4});
    EXPECT_EQ(counted({2}).pad({{0, 0}}, 3).uop().op(), Op::buffer);
    expect_error(ErrorKind::Shape, "[pad] 1 pairs for the 2 axes", [] { counted({2, 2}).pad({{1, 1}}); });
    expect_error(ErrorKind::Usage, "[pad] axis 0 by (-1, 0)", [] { counted({2}).pad({{-1, 0}}); });
}

TEST(Movement, ShrinksMerge) {
    Tensor x = counted({4, 5});
    Tensor y = x.shrink({{1, 4}, {0, 5}}).shrink({{1, 3}, {2, 4}});
    EXPECT_EQ(y.uop().src(0), x.uop());
    expect_values(y, {2, 2}, dtypes::int32, {12, 13, 17, 18});
    EXPECT_EQ(x.shrink({{0, 4}, {0, 5}}).uop(), x.uop());
    expect_error(ErrorKind::Shape, "[shrink] axis 1 to [2, 6): shape (4, 5) has 5",
                 [&] { x.shrink({{0, 4}, {2, 6}}); });
}

TEST(Movement, FlipsCancel) {
    Tensor x = counted({2, 3});
    expect_values(x.flip(1), {2, 3}, dtypes::int32, {2, 1, 0, 5, 4, 3});
    expect_values(x.flip(), {2, 3}, dtypes::int32, {5, 4, 3, 2, 1, 0});
    EXPECT_EQ(x.flip({0, 1}).flip({1}).flip(0).uop(), x.uop());
    Tensor row = counted({1, 3});
    EXPECT_EQ(row.flip(0).uop(), row.uop());
    expect_error(ErrorKind::Shape, "[flip] axis 2", [&] { x.flip(2); });
}

TEST(Movement, SqueezesAndFlattens) {
    Tensor x = counted({1, 2, 1, 3});
    EXPECT_EQ(x.squeeze().shape(), (Shape{2, 3}));
    EXPECT_EQ(x.squeeze(0).shape(), (Shape{2, 1, 3}));
    EXPECT_EQ(x.squeeze({0, -2}).shape(), (Shape{2, 3}));
    expect_error(ErrorKind::Shape, "[squeeze] axis 1 of shape (1, 2, 1, 3) has size 2", [&] { x.squeeze(1); });
    EXPECT_EQ(x.unsqueeze(-1).shape(), (Shape{1, 2, 1, 3, 1}));
    EXPECT_EQ(x.unsqueeze(0).shape(), (Shape{1, 1, 2, 1, 3}));
    EXPECT_EQ(x.flatten().shape(), (Shape{6}));
    EXPECT_EQ(x.flatten(1, 2).shape(), (Shape{1, 2, 3}));
    EXPECT_EQ(Tensor::zeros({}).flatten().shape(), (Shape{1}));
    EXPECT_EQ(counted({6}).unflatten(0, {2, -1}).shape(), (Shape{2, 3}));
}

TEST(Movement, ConcatenatesAndPromotes) {
    Tensor a = counted({2, 2}), b = tensor({2, 1}, dtypes::float32, {-0.0, NAN});
    expect_values(ops::cat({a, b, a}, 1), {2, 5}, dtypes::float32, {0, 1, -0.0, 0, 1, 2, 3, NAN, 2, 3});
    EXPECT_TRUE(std::signbit(value(ops::cat({a, b}, -1)).f[2]));
    expect_values(ops::cat({a, counted({0, 2}), counted({1, 2})}), {3, 2}, dtypes::int32, {0, 1, 2, 3, 0, 1});
    expect_values(ops::cat({Tensor::ones({2}), Tensor::zeros({1})}), {3}, dtypes::float32, {1, 1, 0});
    expect_values(ops::cat({Tensor::zeros({0}), Tensor::zeros({0})}), {0}, dtypes::float32, {});
    expect_error(ErrorKind::Shape, "[cat] shapes (2, 2) and (2, 1)", [&] { ops::cat({a, b}, 0); });
    expect_error(ErrorKind::Shape, "[cat] shapes (2, 2) and (2,)", [&] { ops::cat({a, counted({2})}, 0); });
    expect_error(ErrorKind::Usage, "[cat] at least one", [&] { ops::cat({}); });
}

TEST(Movement, Stacks) {
    Tensor a = counted({2}), b = a + 10;
    expect_values(ops::stack({a, b}), {2, 2}, dtypes::int32, {0, 1, 10, 11});
    expect_values(ops::stack({a, b}, -1), {2, 2}, dtypes::int32, {0, 10, 1, 11});
    expect_error(ErrorKind::Shape, "[stack] shapes (2,) and (3,) differ", [&] { ops::stack({a, counted({3})}); });
}

TEST(Movement, SplitsAndChunks) {
    Tensor x = counted({5, 2});
    std::vector<Tensor> parts = x.split(2);
    ASSERT_EQ(parts.size(), 3u);
    expect_values(parts[2], {1, 2}, dtypes::int32, {8, 9});
    EXPECT_EQ(x.split(std::vector<int64_t>{1, 0, 4})[1].shape(), (Shape{0, 2}));
    EXPECT_EQ(x.chunk(3).size(), 3u);
    EXPECT_EQ(x.chunk(4).size(), 3u);  // pieces of 2
    EXPECT_EQ(x.chunk(2, 1)[1].shape(), (Shape{5, 1}));
    EXPECT_EQ(Tensor::zeros({0}).split(3).size(), 1u);
    expect_error(ErrorKind::Shape, "[split] sizes (1, 2) do not add up to the 5",
                 [&] { x.split(std::vector<int64_t>{1, 2}); });
    expect_error(ErrorKind::Usage, "[split] pieces of 0", [&] { x.split(0); });
}

TEST(Movement, RepeatsTilesAndRolls) {
    Tensor x = counted({2, 2});
    expect_values(x.repeat(2, 0), {4, 2}, dtypes::int32, {0, 1, 0, 1, 2, 3, 2, 3});
    expect_values(x.repeat(2), {8}, dtypes::int32, {0, 0, 1, 1, 2, 2, 3, 3});
    expect_values(x.tile({2}), {2, 4}, dtypes::int32, {0, 1, 0, 1, 2, 3, 2, 3});
    expect_values(counted({2}).tile({2, 2}), {2, 4}, dtypes::int32, {0, 1, 0, 1, 0, 1, 0, 1});
    expect_values(x.tile({0, 1}), {0, 2}, dtypes::int32, {});
    expect_values(counted({5}).roll({2}, 0), {5}, dtypes::int32, {3, 4, 0, 1, 2});
    expect_values(counted({5}).roll({-7}, 0), {5}, dtypes::int32, {2, 3, 4, 0, 1});
}

TEST(Movement, FiveDimensionalChain) {
    Array a = varied({2, 3, 1, 5, 2}, dtypes::float32);
    Tensor x = tensor(a).permute({4, 2, 0, 3, 1}).flip({1, 3}).shrink({{0, 2}, {0, 1}, {1, 2}, {1, 4}, {0, 3}});
    std::vector<double> wanted;
    host::each_position({2, 1, 1, 3, 3}, [&](const std::vector<int64_t>& p) {
        wanted.push_back(a.f[host::offset(a.shape, {1, p[4], 0, 4 - (p[3] + 1), p[0]})]);
    });
    expect_values(x, {2, 1, 1, 3, 3}, dtypes::float32, wanted);
}

TEST(Movement, ContiguousIsIdempotent) {
    Tensor x = counted({2, 3}).T().contiguous();
    EXPECT_EQ(x.contiguous().uop(), x.uop());
    expect_values(x, {3, 2}, dtypes::int32, {0, 3, 1, 4, 2, 5});
}

}  // namespace
