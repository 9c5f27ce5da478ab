#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "strata/core/uop/reference.h"

namespace strata {
namespace {

constexpr size_t kCount = 24;

struct Values {
    std::vector<double> f = std::vector<double>(kCount);
    std::vector<int64_t> i = std::vector<int64_t>(kCount);
    ConstArg at(size_t k) const { return {i[k], f[k]}; }
    ReferenceArray array() const { return {f.data(), i.data()}; }
};

Values numbers(DType type, std::mt19937_64& random) {
    Values out;
    for (size_t k = 0; k < kCount; ++k) {
        if (type.is_float())
            out.f[k] = round_to(type, k == 0   ? NAN
                                      : k == 1 ? INFINITY
                                               : static_cast<double>(random() % 4001) / 100 - 20);
        else
            out.i[k] = wrap_to(type, static_cast<int64_t>(k % 2 ? random() : random() % 9));
    }
    return out;
}

bool same(DType type, const ConstArg& a, double f, int64_t i) {
    return type.is_float() ? a.f == f || (std::isnan(a.f) && std::isnan(f)) : a.i == i;
}

TEST(ReferenceArrays, GiveWhatTheScalarReferenceGives) {
    std::mt19937_64 random(5);
    for (int row = 0; row < kOpCount; ++row) {
        const Op op = static_cast<Op>(row);
        if (!info(op).elementwise()) continue;
        const auto arity = static_cast<size_t>(info(op).arity);
        for (const DType source : all_dtypes()) {
            const DType type = info(op).rule == TypeRule::cmp ? DType(dtypes::boolean) : source;
            std::vector<Values> given;
            std::vector<ReferenceArray> arrays;
            for (size_t s = 0; s < arity; ++s)
                given.push_back(numbers(op == Op::where && !s ? dtypes::boolean : source, random));
            for (const Values& values : given) arrays.push_back(values.array());
            Values out;
            const size_t missing = reference(op, type, source, arrays, kCount, out.f.data(), out.i.data());
            size_t first = kCount;
            for (size_t k = kCount; k-- > 0;) {
                std::vector<ConstArg> each;
                for (const Values& values : given) each.push_back(values.at(k));
                const auto wanted = reference(op, type, source, each);
                if (!wanted) first = k;
                if (wanted && missing != 0) {
                    ASSERT_TRUE(same(type, *wanted, out.f[k], out.i[k])) << info(op).name << " of " << source.name();
                }
            }
            ASSERT_EQ(missing, first) << info(op).name << " of " << source.name();
        }
    }
}

TEST(ReferenceArrays, TakeOneElementForAll) {
    const std::vector<double> many{1, 2, 3}, one{10};
    const std::array given{ReferenceArray{many.data()}, ReferenceArray{one.data(), nullptr, 0}};
    std::vector<double> out(3);
    EXPECT_EQ(reference(Op::mul, dtypes::float32, dtypes::float32, given, 3, out.data(), nullptr), 3u);
    EXPECT_EQ(out, (std::vector<double>{10, 20, 30}));
}

TEST(ReferenceArrays, ConvertEveryTypeToEveryOther) {
    std::mt19937_64 random(6);
    for (const DType source : all_dtypes())
        for (const DType type : all_dtypes()) {
            const Values given = numbers(source, random);
            const std::array arrays{given.array()};
            Values out;
            EXPECT_EQ(reference(Op::cast, type, source, arrays, kCount, out.f.data(), out.i.data()), kCount);
            for (size_t k = 0; k < kCount; ++k) {
                const std::array each{given.at(k)};
                EXPECT_TRUE(same(type, reference(Op::cast, type, source, each).value(), out.f[k], out.i[k]))
                    << source.name() << " to " << type.name();
            }
        }
}

}  // namespace
}  // namespace strata
