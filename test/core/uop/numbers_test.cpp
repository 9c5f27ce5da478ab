#include "strata/core/uop/numbers.h"

#include <gtest/gtest.h>

#include "strata/core/uop/build.h"

namespace strata {
namespace {

UOp number(int64_t value) { return constant_int(dtypes::int32, value); }

TEST(NodeNumbers, AreTheOrderInWhichNodesWereAddedHoweverManyThereAre) {
    NodeNumbers numbers(1);
    constexpr int64_t kMany = 5000;
    for (int64_t i = 0; i < kMany; ++i) {
        EXPECT_EQ(numbers.find(number(i)), NodeNumbers::kNone);
        EXPECT_EQ(numbers.add(number(i)), static_cast<uint32_t>(i));
    }
    EXPECT_EQ(numbers.size(), static_cast<uint32_t>(kMany));
    for (int64_t i = kMany; i-- > 0;) {
        EXPECT_EQ(numbers.find(number(i)), static_cast<uint32_t>(i));
        EXPECT_EQ(numbers.add(number(i)), static_cast<uint32_t>(i));
    }
    EXPECT_EQ(numbers.size(), static_cast<uint32_t>(kMany));
    EXPECT_EQ(numbers.find(number(kMany)), NodeNumbers::kNone);
}

TEST(NodeNumbers, OfNothingKnowNoNode) {
    EXPECT_EQ(NodeNumbers(0).find(number(1)), NodeNumbers::kNone);
    EXPECT_EQ(NodeNumbers(0).size(), 0u);
}

}  // namespace
}  // namespace strata
