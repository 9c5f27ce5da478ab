#include "helpers.h"
#include "strata/ops/index_error.h"

using namespace strata;
using namespace strata::test;

namespace {

const std::nullopt_t none = std::nullopt;

Tensor counted(Shape shape) {
    int64_t n = 1;
    for (int64_t d : shape) n *= d;
    std::vector<double> v;
    for (int64_t k = 0; k < n; ++k) v.push_back(static_cast<double>(k));
    return tensor(std::move(shape), dtypes::int32, v.empty() ? std::vector<double>{0} : v);
}
Index at(int64_t i) { return Index::at(i); }
Index all() { return Index::slice(); }
Index ids(const std::vector<double>& v, DType t = dtypes::int64) { return Index::tensor(vec(v, t)); }

/// Python's slice.indices.
std::vector<int64_t> python_slice(int64_t n, std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step) {
    std::vector<int64_t> out;
    int64_t low = step < 0 ? -1 : 0, high = step < 0 ? n - 1 : n;
    auto fix = [&](std::optional<int64_t> v, int64_t absent) {
        if (!v) return absent;
        int64_t w = *v < 0 ? *v + n : *v;
        return w < low ? low : w > high ? high : w;
    };
    int64_t a = fix(start, step < 0 ? high : low), b = fix(stop, step < 0 ? low : high);
    for (int64_t i = a; step < 0 ? i > b : i < b; i += step) out.push_back(i);
    return out;
}

TEST(Indexing, EverySliceOfASmallAxisIsPythons) {
    std::vector<std::optional<int64_t>> ends = {none, -9, -7, -4, -1, 0, 1, 3, 6, 7, 8, 12};
    for (int64_t n : {0, 1, 2, 7}) {
        Tensor x = counted({n, 2});
        for (auto start : ends)
            for (auto stop : ends)
                for (int64_t step : {1, 2, 3, 8, -1, -2, -5}) {
                    std::vector<double> wanted;
                    std::vector<int64_t> rows = python_slice(n, start, stop, step);
                    for (int64_t r : rows) wanted.insert(wanted.end(), {double(2 * r), double(2 * r + 1)});
                    SCOPED_TRACE(
                        fmt::format("n {} start {} stop {} step {}", n, start.value_or(99), stop.value_or(99), step));
                    expect_values(x.index({Index::slice(start, stop, step)}), {static_cast<int64_t>(rows.size()), 2},
                                  dtypes::int32, wanted);
                }
    }
}

TEST(Indexing, IntegersNewAxesAndEllipsis) {
    Tensor x = counted({2, 3, 4});
    expect_values(x.index({at(1), at(-1), at(0)}), {}, dtypes::int32, {20});
    expect_values(x.index({Index::ellipsis(), at(1)}), {2, 3}, dtypes::int32, {1, 5, 9, 13, 17, 21});
    EXPECT_EQ(x.index({Index::new_axis(), Index::ellipsis(), Index::new_axis(), at(0)}).shape(), (Shape{1, 2, 3, 1}));
    EXPECT_EQ(x.index({}).uop(), x.uop());
    EXPECT_EQ(x.index({all(), all(), all()}).uop(), x.uop());
    EXPECT_EQ(x.index({Index::ellipsis(), all(), all(), all()}).uop(), x.uop());
    expect_values(x.index({at(0), Index::slice({}, {}, -2), Index::slice(1, 3)}), {2, 2}, dtypes::int32, {9, 10, 1, 2});
    expect_values(Tensor::ones({3, 4}).index({at(0), Index::slice(1, none, 2)}), {2}, dtypes::float32, {1, 1});
}

TEST(Indexing, WrongIndicesAreNamed) {
    Tensor x = counted({2, 3});
    expect_error(ErrorKind::Usage, "[index] index 2 is out of range for axis 0 of size 2", [&] { x.index({at(2)}); });
    expect_error(ErrorKind::Usage, "[index] index -4 is out of range for axis 1 of size 3",
                 [&] { x.index({at(0), at(-4)}); });
    expect_error(ErrorKind::Usage, "[index] 3 indices for the 2 axes of shape (2, 3)",
                 [&] { x.index({at(0), at(0), at(0)}); });
    expect_error(ErrorKind::Usage, "more than one ellipsis", [&] { x.index({Index::ellipsis(), Index::ellipsis()}); });
    expect_error(ErrorKind::Usage, "step 0", [&] { x.index({Index::slice({}, {}, 0)}); });
    expect_error(ErrorKind::Shape, "[index] a mask of shape (3,) at axis 0",
                 [&] { x.index({ids({1, 0, 1}, dtypes::boolean)}); });
    expect_error(ErrorKind::Usage, "3 indices for the 2 axes",
                 [&] { x.index({at(0), at(0), ids({1, 0}, dtypes::boolean)}); });
    expect_error(ErrorKind::DType, "[index] indices are float32", [&] { x.index({ids({1, 0}, dtypes::float32)}); });
    expect_error(ErrorKind::Shape, "[index] shapes (2,) and (3,)", [&] { x.index({ids({0, 1}), ids({0, 1, 2})}); });
}

TEST(Indexing, AnIndexWithoutAPlaceIsAnIndexException) {
    const Tensor x = counted({2});
    EXPECT_THROW(x.index({at(2)}), IndexException);
    EXPECT_THROW(x.index({ids({1, 0, 1}, dtypes::boolean)}), IndexException);
    EXPECT_THROW(x.with({ids({1, 0, 1}, dtypes::boolean)}, 1), IndexException);
    EXPECT_THROW(Tensor::ones({}).index({ids({1}, dtypes::boolean)}), IndexException);
}

TEST(Indexing, OneIntegerTensor) {
    Tensor x = counted({3, 2});
    expect_values(x.index({ids({2, 0, -1})}), {3, 2}, dtypes::int32, {4, 5, 0, 1, 4, 5});
    expect_values(x.index({all(), ids({1, 1, 0}, dtypes::uint8)}), {3, 3}, dtypes::int32, {1, 1, 0, 3, 3, 2, 5, 5, 4});
    Tensor two = tensor({2, 2}, dtypes::int32, {0, 1, 2, -3});
    expect_values(x.index({Index::tensor(two), at(1)}), {2, 2}, dtypes::int32, {1, 3, 5, 1});
    expect_values(x.index({Index::slice(none, none, -1), ids({1})}), {3, 1}, dtypes::int32, {5, 3, 1});
}

TEST(Indexing, SeveralIntegerTensorsPlaceTheirAxesAsNumPy) {
    Array a = varied({2, 3, 4, 5}, dtypes::int32);
    auto element = [&](int64_t i, int64_t j, int64_t k, int64_t l) {
        return double(a.i[host::offset(a.shape, {i, j, k, l})]);
    };
    Tensor x = tensor(a);
    std::vector<double> i0 = {1, 0, -1}, i1 = {2, 0, 3};
    std::vector<double> adjacent, apart, with_integer;
    for (int64_t i = 0; i < 2; ++i)
        for (int p = 0; p < 3; ++p)
            for (int64_t l = 0; l < 5; ++l)
                adjacent.push_back(element(i, i0[p] < 0 ? 2 : int64_t(i0[p]), int64_t(i1[p]), l));
    expect_values(x.index({all(), ids(i0), ids(i1)}), {2, 3, 5}, dtypes::int32, adjacent);
    for (int p = 0; p < 3; ++p)
        for (int64_t i = 0; i < 2; ++i)
            for (int64_t k = 0; k < 4; ++k)
                apart.push_back(element(i, i0[p] < 0 ? 2 : int64_t(i0[p]), k, int64_t(i1[p])));
    expect_values(x.index({all(), ids(i0), all(), ids(i1)}), {3, 2, 4}, dtypes::int32, apart);
    for (int p = 0; p < 3; ++p)
        for (int64_t j = 0; j < 3; ++j)
            for (int64_t l = 0; l < 5; ++l) with_integer.push_back(element(1, j, int64_t(i1[p]), l));
    expect_values(x.index({at(1), all(), ids(i1)}), {3, 3, 5}, dtypes::int32, with_integer);
    Tensor column = tensor({2, 1}, dtypes::int64, {0, 1});
    EXPECT_EQ(x.index({Index::tensor(column), ids(i1)}).shape(), (Shape{2, 3, 4, 5}));
}

TEST(Indexing, Takes) {
    Tensor x = counted({2, 3});
    expect_values(x.take(vec({-1, 0}, dtypes::int32), 1), {2, 2}, dtypes::int32, {2, 0, 5, 3});
    expect_values(x.take(vec({5, 1}, dtypes::int32)), {2}, dtypes::int32, {5, 1});
    expect_values(x.take(Tensor::full({}, 1), 0), {3}, dtypes::int32, {3, 4, 5});
    expect_values(x.take(tensor({0}, dtypes::int32, {0}), 0), {0, 3}, dtypes::int32, {});
    expect_error(ErrorKind::Shape, "[take] axis 2", [&] { x.take(vec({0}, dtypes::int32), 2); });
    expect_error(ErrorKind::Shape, "no elements to take",
                 [&] { Tensor::zeros({0, 2}).take(vec({0}, dtypes::int32), 0); });
}

TEST(Indexing, GathersAlongAnAxis) {
    Array a = varied({3, 4, 2}, dtypes::float32);
    Array i = array({3, 2, 2}, dtypes::int64, {0, 3, 2, -1, 1, 0, 3, 3, 2, 2, -4, 1});
    std::vector<double> wanted;
    host::each_position({3, 2, 2}, [&](const std::vector<int64_t>& p) {
        int64_t j = i.i[host::offset(i.shape, p)];
        wanted.push_back(a.f[host::offset(a.shape, {p[0], j < 0 ? j + 4 : j, p[2]})]);
    });
    expect_values(tensor(a).gather(1, tensor(i)), {3, 2, 2}, dtypes::float32, wanted);
    expect_values(counted({3, 1}).gather(0, tensor({1, 2}, dtypes::int32, {2, 0})), {1, 2}, dtypes::int32, {2, 0});
    expect_error(ErrorKind::Shape, "[gather] shapes (2, 3) and (2,)",
                 [] { counted({2, 3}).gather(0, vec({0, 1}, dtypes::int32)); });
    expect_error(ErrorKind::Shape, "[gather] shapes (2, 1) and (3, 1)",
                 [] { counted({2, 3}).gather(1, tensor({3, 1}, dtypes::int32, {0})); });
}

TEST(Indexing, OneHot) {
    expect_values(vec({2, 0}, dtypes::int32).one_hot(3), {2, 3}, dtypes::int64, {0, 0, 1, 1, 0, 0});
    expect_values(vec({1}, dtypes::uint8).one_hot(2, dtypes::float32), {1, 2}, dtypes::float32, {0, 1});
    EXPECT_EQ(Tensor::zeros({0}, dtypes::int32).one_hot(3).shape(), (Shape{0, 3}));
}

}  // namespace
