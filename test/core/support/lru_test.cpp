#include "strata/core/support/lru.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace strata {
namespace {

using Words = Lru<int, std::string>;

TEST(Lru, KeepsWhatFitsAndLetsTheOneUnusedForLongestGo) {
    Words words;
    EXPECT_TRUE(words.put(1, "one", 40, 100).empty());
    EXPECT_TRUE(words.put(2, "two", 40, 100).empty());
    EXPECT_EQ(*words.find(1), "one");
    EXPECT_EQ(words.put(3, "three", 40, 100), std::vector<std::string>{"two"});
    EXPECT_FALSE(words.find(2));
    EXPECT_EQ(*words.find(1), "one");
    EXPECT_EQ(*words.find(3), "three");
    EXPECT_EQ(words.size(), 2u);
    EXPECT_EQ(words.bytes(), 80u);
    EXPECT_EQ(words.evictions(), 1u);
}

TEST(Lru, TakesOneThatIsLargerThanTheBudgetAlone) {
    Words words;
    (void)words.put(1, "one", 10, 100);
    EXPECT_EQ(words.put(2, "huge", 1000, 100), std::vector<std::string>{"one"});
    EXPECT_EQ(*words.find(2), "huge");
    EXPECT_EQ(words.put(3, "small", 1, 100), std::vector<std::string>{"huge"});
    EXPECT_EQ(words.bytes(), 1u);
}

TEST(Lru, ReplacesAValueOfTheSameKey) {
    Words words;
    (void)words.put(1, "one", 10, 100);
    EXPECT_EQ(words.put(1, "uno", 20, 100), std::vector<std::string>{"one"});
    EXPECT_EQ(*words.find(1), "uno");
    EXPECT_EQ(words.size(), 1u);
    EXPECT_EQ(words.bytes(), 20u);
    EXPECT_EQ(words.evictions(), 0u);
}

}  // namespace
}  // namespace strata
