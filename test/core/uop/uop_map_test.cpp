#include "strata/core/uop/uop_map.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "strata/core/uop/build.h"

namespace strata {
namespace {

constexpr int64_t kMany = 3000;
UOp node_of(int64_t value) { return constant_int(dtypes::int32, value); }

UOpMap<std::string> texts(int64_t count) {
    UOpMap<std::string> map;
    for (int64_t i = 0; i < count; ++i) map[node_of(i)] = std::to_string(i);
    return map;
}

TEST(UOpMap, FindsWhatWasAddedAndNothingElse) {
    const UOpMap<std::string> map = texts(kMany);
    EXPECT_EQ(map.size(), static_cast<size_t>(kMany));
    for (int64_t i = 0; i < kMany; ++i) EXPECT_EQ(map.at(node_of(i)), std::to_string(i));
    EXPECT_FALSE(map.contains(node_of(kMany)));
    EXPECT_EQ(map.find(node_of(kMany)), map.end());
    EXPECT_THROW((void)map.at(node_of(kMany)), Exception);
    EXPECT_TRUE(UOpMap<int>().find(node_of(0)) == UOpMap<int>().end());
}

TEST(UOpMap, IsWalkedInTheOrderOfAdding) {
    UOpMap<int64_t> map;
    for (int64_t i = 0; i < kMany; ++i) map[node_of(i * 7919 % kMany)] = i;
    int64_t next = 0;
    for (const auto& [node, value] : map) {
        EXPECT_EQ(node, node_of(next * 7919 % kMany));
        EXPECT_EQ(value, next++);
    }
    EXPECT_EQ(next, kMany);
}

TEST(UOpMap, WhatWasAddedStaysWhereItIsWhileOthersAre) {
    UOpMap<std::unique_ptr<int>> map;  // neither copied nor assigned
    std::unique_ptr<int>& first = map[node_of(0)];
    first = std::make_unique<int>(5);
    for (int64_t i = 1; i < kMany; ++i) map.emplace(node_of(i), std::make_unique<int>(0));
    EXPECT_EQ(&first, &map.at(node_of(0)));
    EXPECT_EQ(*first, 5);
}

TEST(UOpMap, KeepsTheFirstOfTwoValues) {
    UOpMap<int> map{{node_of(1), 10}, {node_of(2), 20}, {node_of(1), 30}};
    EXPECT_EQ(map.size(), 2u);
    EXPECT_EQ(map.at(node_of(1)), 10);
    const auto [at, added] = map.try_emplace(node_of(2), 40);
    EXPECT_FALSE(added);
    EXPECT_EQ(at->second, 20);
    EXPECT_TRUE(map.try_emplace(node_of(3), 50).second);
}

TEST(UOpMap, CopiesAreTheirOwnAndMovedOnesAreWhole) {
    UOpMap<std::string> map = texts(100), copy = map;
    copy[node_of(5)] = "other";
    EXPECT_EQ(map.at(node_of(5)), "5");
    const UOpMap<std::string> moved = std::move(map);
    EXPECT_EQ(moved.size(), 100u);
    EXPECT_EQ(moved.at(node_of(99)), "99");
    copy = moved;
    EXPECT_EQ(copy.at(node_of(5)), "5");
    copy.clear();
    EXPECT_TRUE(copy.empty());
    EXPECT_FALSE(copy.contains(node_of(5)));
    copy[node_of(7)] = "again";
    EXPECT_EQ(copy.size(), 1u);
}

}  // namespace
}  // namespace strata
