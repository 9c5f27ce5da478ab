#include "strata/core/uop/uop_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "strata/core/uop/build.h"

namespace strata {
namespace {

std::vector<UOp> some_nodes(int count) {
    std::vector<UOp> nodes;
    for (int i = 0; i < count; ++i) nodes.push_back(constant_int(dtypes::int32, i));
    return nodes;
}

TEST(UOpSet, HoldsWhatWasInsertedOnceInOrder) {
    const std::vector<UOp> nodes = some_nodes(1000);
    std::mt19937 random(1);
    UOpSet set;
    std::set<size_t> reference;
    std::vector<UOp> order;
    for (int i = 0; i < 3000; ++i) {
        const size_t at = random() % nodes.size();
        const bool is_new = reference.insert(at).second;
        if (is_new) order.push_back(nodes[at]);
        const auto [where, added] = set.insert(nodes[at]);
        EXPECT_EQ(added, is_new);
        EXPECT_EQ(*where, nodes[at]);
    }
    EXPECT_EQ(std::vector<UOp>(set.begin(), set.end()), order);
    for (size_t i = 0; i < nodes.size(); ++i) EXPECT_EQ(set.contains(nodes[i]), reference.contains(i));
}

TEST(UOpSet, AnEmptyOneHasNothing) {
    UOpSet set;
    const UOp node = constant_int(dtypes::int32, 1);
    EXPECT_TRUE(set.empty());
    EXPECT_FALSE(set.contains(node));
    set.insert(node);
    EXPECT_EQ(set.size(), 1u);
    set.clear();
    EXPECT_FALSE(set.contains(node));
    EXPECT_TRUE(set.insert(node).second);
}

TEST(UOpSet, IsMadeOfRangesAndLists) {
    const std::vector<UOp> nodes = some_nodes(20);
    const UOpSet all(nodes.begin(), nodes.end()), two{nodes[3], nodes[5], nodes[3]};
    EXPECT_EQ(all.size(), 20u);
    EXPECT_EQ(two.size(), 2u);
    EXPECT_TRUE(two.contains(nodes[5]));
    EXPECT_FALSE(two.contains(nodes[4]));
}

}  // namespace
}  // namespace strata
