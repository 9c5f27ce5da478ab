#include "strata/core/uop/uop_map.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "strata/core/uop/build.h"

namespace strata {
namespace {

constexpr int64_t kMany = 3000;
UOp number(int64_t value) { return constant_int(dtypes::int32, value); }

UOpMap<std::string> texts(int64_t count) {
    UOpMap<std::string> map;
    for (int64_t i = 0; i < count; ++i) map[number(i)] = std::to_string(i);
    return map;
}

TEST(UOpMap, FindsWhatWasAddedAndNothingElse) {
    const UOpMap<std::string> map = texts(kMany);
    EXPECT_EQ(map.size(), static_cast<size_t>(kMany));
    for (int64_t i = 0; i < kMany; ++i) EXPECT_EQ(map.at(number(i)), std::to_string(i));
    EXPECT_FALSE(map.contains(number(kMany)));
    EXPECT_EQ(map.find(number(kMany)), map.end());
    EXPECT_THROW((void)map.at(number(kMany)), Exception);
    EXPECT_TRUE(UOpMap<int>().find(number(0)) == UOpMap<int>().end());
}

TEST(UOpMap, IsWalkedInTheOrderOfAdding) {
    UOpMap<int64_t> map;
    for (int64_t i = 0; i < kMany; ++i) map[number(i * 7919 % kMany)] = i;
    int64_t next = 0;
    for (const auto& [node, value] : map) {
        EXPECT_EQ(node, number(next * 7919 % kMany));
        EXPECT_EQ(value, next++);
    }
    EXPECT_EQ(next, kMany);
}

TEST(UOpMap, WhatWasAddedStaysWhereItIsWhileOthersAre) {
    UOpMap<std::unique_ptr<int>> map;  // neither copied nor assigned
    std::unique_ptr<int>& first = map[number(0)];
    first = std::make_unique<int>(5);
    for (int64_t i = 1; i < kMany; ++i) map.emplace(number(i), std::make_unique<int>(0));
    EXPECT_EQ(&first, &map.at(number(0)));
    EXPECT_EQ(*first, 5);
}

TEST(UOpMap, KeepsTheFirstOfTwoValues) {
    UOpMap<int> map{{number(1), 10}, {number(2), 20}, {number(1), 30}};
    EXPECT_EQ(map.size(), 2u);
    EXPECT_EQ(map.at(number(1)), 10);
    const auto [at, added] = map.try_emplace(number(2), 40);
    EXPECT_FALSE(added);
    EXPECT_EQ(at->second, 20);
    EXPECT_TRUE(map.try_emplace(number(3), 50).second);
}

TEST(UOpMap, CopiesAreTheirOwnAndMovedOnesAreWhole) {
    UOpMap<std::string> map = texts(100), copy = map;
    copy[number(5)] = "other";
    EXPECT_EQ(map.at(number(5)), "5");
    const UOpMap<std::string> moved = std::move(map);
    EXPECT_EQ(moved.size(), 100u);
    EXPECT_EQ(moved.at(number(99)), "99");
    copy = moved;
    EXPECT_EQ(copy.at(number(5)), "5");
    copy.clear();
    EXPECT_TRUE(copy.empty());
    EXPECT_FALSE(copy.contains(number(5)));
    copy[number(7)] = "again";
    EXPECT_EQ(copy.size(), 1u);
}

}  // namespace
}  // namespace strata
