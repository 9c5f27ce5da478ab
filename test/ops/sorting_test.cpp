#include <algorithm>
#include <numeric>

#include "device_values.h"

using namespace strata;
using namespace strata::test;

namespace {

/// Counting orders up to 64, or 2^22 comparisons; above, runs are merged.
constexpr size_t kSizes[] = {1, 2, 64, 65, 1000, 3000};

template <class T, class Before>
std::vector<int64_t> stable_order(const std::vector<T>& values, Before before) {
    std::vector<int64_t> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    const auto value = [&](int64_t i) { return values[static_cast<size_t>(i)]; };
    std::ranges::sort(order, [&](int64_t a, int64_t b) {
        return before(value(a), value(b)) || (!before(value(b), value(a)) && a < b);
    });
    return order;
}

TEST(Sorting, IsAStableSortInBothDirections) {
    for (size_t n : kSizes) {
        const std::vector<int32_t> x = drawn<int32_t>(n, 50);
        EXPECT_EQ(computed<int64_t>(on_device(x).argsort()), stable_order(x, std::less<>())) << n;
        EXPECT_EQ(computed<int64_t>(on_device(x).argsort(-1, true)), stable_order(x, std::greater<>())) << n;
        std::vector<int32_t> ordered = x;
        std::ranges::sort(ordered);
        EXPECT_EQ(computed<int32_t>(on_device(x).sort()), ordered) << n;
    }
}

TEST(Sorting, RowsAreOrderedEachByItself) {
    const std::vector<float> x = drawn<float>(60, 9);
    std::vector<float> rows = x, columns = x;
    for (auto row = rows.begin(); row != rows.end(); row += 12) std::sort(row, row + 12);
    EXPECT_EQ(computed<float>(on_device(x, {5, 12}).sort(1)), rows);
    for (size_t c = 0; c < 12; ++c) {
        std::vector<float> column;
        for (size_t r = 0; r < 5; ++r) column.push_back(x[r * 12 + c]);
        std::ranges::sort(column);
        for (size_t r = 0; r < 5; ++r) columns[r * 12 + c] = column[r];
    }
    EXPECT_EQ(computed<float>(on_device(x, {5, 12}).sort(0)), columns);
}

TEST(Sorting, NaNComesLastAndMinusZeroIsZero) {
    const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> x{0.0f, nan, -0.0f, infinity, -infinity, -1.0f};
    EXPECT_EQ(computed<int64_t>(on_device(x).argsort()), (std::vector<int64_t>{4, 5, 0, 2, 3, 1}));
    EXPECT_EQ(computed<int64_t>(on_device(x).argsort(-1, true)), (std::vector<int64_t>{1, 3, 0, 2, 5, 4}));
}

TEST(Sorting, TopkIsTheBeginningOfTheOrder) {
    const std::vector<int32_t> x = drawn<int32_t>(200, 30, 2);
    for (bool largest : {true, false}) {
        auto [values, places] = on_device(x).topk(7, -1, largest);
        std::vector<int64_t> order = largest ? stable_order(x, std::greater<>()) : stable_order(x, std::less<>());
        order.resize(7);
        std::vector<int32_t> wanted;
        for (int64_t at : order) wanted.push_back(x[static_cast<size_t>(at)]);
        EXPECT_EQ(computed<int64_t>(places), order);
        EXPECT_EQ(computed<int32_t>(values), wanted);
    }
    expect_error(ErrorKind::Usage, "[topk] 201 of the 200", [&] { on_device(x).topk(201); });
}

TEST(Sorting, SearchsortedIsStdsBounds) {
    std::vector<int32_t> x = drawn<int32_t>(500, 100, 3), values = drawn<int32_t>(80, 110, 4);
    std::ranges::sort(x);
    std::vector<int64_t> left, right;
    for (int32_t v : values) {
        left.push_back(std::ranges::lower_bound(x, v) - x.begin());
        right.push_back(std::ranges::upper_bound(x, v) - x.begin());
    }
    EXPECT_EQ(computed<int64_t>(on_device(x).searchsorted(on_device(values), false)), left);
    EXPECT_EQ(computed<int64_t>(on_device(x).searchsorted(on_device(values), true)), right);
    expect_error(ErrorKind::Shape, "one ordered axis",
                 [&] { on_device(x, {5, 100}).searchsorted(on_device(values), false); });
}

TEST(Sorting, NonzeroAndItsCountAreThoseOfALoop) {
    const std::vector<int32_t> x = drawn<int32_t>(120, 2, 5);
    std::vector<int64_t> rows, columns, flat;
    for (size_t i = 0; i < x.size(); ++i) {
        if (!x[i]) continue;
        flat.push_back(static_cast<int64_t>(i));
        rows.push_back(static_cast<int64_t>(i / 10));
        columns.push_back(static_cast<int64_t>(i % 10));
    }
    Tensor t = on_device(x, {12, 10});
    const std::vector<Tensor> found = t.nonzero();
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(computed<int64_t>(found[0]), rows);
    EXPECT_EQ(computed<int64_t>(found[1]), columns);
    EXPECT_EQ(computed<int64_t>(t.flat_nonzero()), flat);
    EXPECT_EQ(computed<int64_t>(t.count_nonzero()), std::vector<int64_t>{static_cast<int64_t>(flat.size())});
    EXPECT_EQ(on_device(std::vector<int32_t>(4, 0)).flat_nonzero().numel(), 0);
}

}  // namespace
