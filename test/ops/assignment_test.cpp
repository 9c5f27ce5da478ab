#include <numeric>

#include "device_values.h"

using namespace strata;
using namespace strata::test;

namespace {

/// (places, values): the products of the first are below 2^24, those of the second above, where what is scattered is
/// ordered.
constexpr std::pair<size_t, size_t> kSizes[] = {{40, 70}, {70, 40}, {5000, 4000}};

TEST(Assignment, OfSeveralValuesForOnePlaceTheLastIsThere) {
    for (auto [n, m] : kSizes) {
        const std::vector<int64_t> at = drawn<int64_t>(m, static_cast<int>(n / 2));
        const std::vector<float> x = drawn<float>(n, 100), values = drawn<float>(m, 100, 2);
        std::vector<float> wanted = x;
        for (size_t j = 0; j < m; ++j) wanted[static_cast<size_t>(at[j])] = values[j];
        EXPECT_EQ(computed<float>(on_device(x).scatter(0, on_device(at), on_device(values))), wanted) << n;
        EXPECT_EQ(computed<float>(on_device(x).with({Index::tensor(on_device(at))}, on_device(values))), wanted) << n;
    }
}

TEST(Assignment, ScatterAddAddsAllThatGoesToAPlace) {
    for (auto [n, m] : kSizes) {
        const std::vector<int64_t> at = drawn<int64_t>(m, static_cast<int>(n / 8));  // some places get many
        const std::vector<int32_t> whole = drawn<int32_t>(m, 1000, 2);
        const std::vector<float> x = drawn<float>(n, 100), values = drawn<float>(m, 1000, 3);  // sums are exact
        std::vector<int32_t> counted(n, 5);
        std::vector<float> wanted = x;
        for (size_t j = 0; j < m; ++j) {
            counted[static_cast<size_t>(at[j])] += whole[j];
            wanted[static_cast<size_t>(at[j])] += values[j];
        }
        Tensor fives = on_device(std::vector<int32_t>(n, 5));
        EXPECT_EQ(computed<int32_t>(fives.scatter_add(0, on_device(at), on_device(whole))), counted) << n;
        EXPECT_EQ(computed<float>(on_device(x).scatter_add(0, on_device(at), on_device(values))), wanted) << n;
        EXPECT_EQ(computed<float>(on_device(x).index_add(0, on_device(at), on_device(values))), wanted) << n;
    }
}

TEST(Assignment, RowsGetTheirOwnValuesHoweverManyThereAre) {
    for (auto [rows, n, m] : {std::array<size_t, 3>{3, 6, 9}, {40, 700, 700}}) {
        const std::vector<int64_t> at = drawn<int64_t>(rows * m, static_cast<int>(n - 1));
        const std::vector<int32_t> x = drawn<int32_t>(rows * n, 9), values = drawn<int32_t>(rows * m, 1000, 2);
        std::vector<int32_t> put = x, added = x;
        for (size_t j = 0; j < rows * m; ++j) {
            const size_t place = j / m * n + static_cast<size_t>(at[j]);
            put[place] = values[j];
            added[place] += values[j];
        }
        const Shape from{static_cast<int64_t>(rows), static_cast<int64_t>(m)}, to{from[0], static_cast<int64_t>(n)};
        Tensor t = on_device(x, to), indices = on_device(at, from), v = on_device(values, from);
        EXPECT_EQ(computed<int32_t>(t.scatter(1, indices, v)), put) << rows;
        EXPECT_EQ(computed<int32_t>(t.scatter_add(1, indices, v)), added) << rows;
        EXPECT_EQ(computed<int32_t>(t.T().contiguous().scatter_add(0, indices.T(), v.T()).T()), added) << rows;
    }
}

TEST(Assignment, SlicesAndIntegersAreWrittenWhereTheyAreRead) {
    std::vector<int32_t> x(24), wanted;
    std::iota(x.begin(), x.end(), 0);
    wanted = x;
    for (size_t i = 1; i < 4; i += 2)
        for (size_t j = 0; j < 6; ++j) wanted[i * 6 + 5 - j] = static_cast<int32_t>(100 + j);
    const Tensor t = on_device(x, {4, 6}), v = on_device(std::vector<int32_t>{100, 101, 102, 103, 104, 105});
    EXPECT_EQ(computed<int32_t>(t.with({Index::slice(1, {}, 2), Index::slice({}, {}, -1)}, v)), wanted);
    wanted = x;
    wanted[2 * 6 + 5] = -7;
    EXPECT_EQ(computed<int32_t>(t.with({Index::at(2), Index::at(-1)}, -7)), wanted);
    EXPECT_EQ(computed<int32_t>(t), x);  // the tensor is a value
}

TEST(Assignment, MasksFillWhereTheyAreTrue) {
    const std::vector<int32_t> x = drawn<int32_t>(50, 9);
    std::vector<int32_t> wanted = x;
    for (int32_t& v : wanted) v = v > 4 ? -1 : v;
    Tensor t = on_device(x);
    EXPECT_EQ(computed<int32_t>(t.masked_fill(ops::gt(t, 4), -1)), wanted);
    EXPECT_EQ(computed<int32_t>(t.with({Index::tensor(ops::gt(t, 4))}, -1)), wanted);
}

TEST(Assignment, WhatDoesNotFitIsRefused) {
    Tensor t = on_device(std::vector<int32_t>{1, 2, 3}), two = on_device(std::vector<int32_t>{1, 2});
    Tensor places = on_device(std::vector<int64_t>{0, 1, 2});
    expect_error(ErrorKind::Shape, "the value has shape (2,), the place (3,)", [&] { t.with({Index::slice()}, two); });
    expect_error(ErrorKind::DType, "cast the value first", [&] { t.with({Index::slice()}, 0.5); });
    expect_error(ErrorKind::Shape, "[scatter]", [&] { t.scatter(0, places, two); });
    expect_error(ErrorKind::DType, "not bool",
                 [&] { t.cast(dtypes::boolean).scatter_add(0, places, t.cast(dtypes::boolean)); });
    expect_error(ErrorKind::Shape, "one axis", [&] { t.index_add(0, places.reshape({3, 1}), t); });
}

}  // namespace
