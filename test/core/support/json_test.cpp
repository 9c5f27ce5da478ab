#include "strata/core/support/json.h"

#include <gtest/gtest.h>

#include <random>

namespace strata {
namespace {

TEST(Json, TextBecomesTheValueThatItSays) {
    const Json read =
        Json::parse(R"( {"b": [1, -2, 18446744073709551615, true, null], "a": "x\n\u00e9\ud83d\ude00"} )").value();
    EXPECT_EQ(*read.find("a")->text(), "x\n\xc3\xa9\xf0\x9f\x98\x80");
    const Json::Array& items = *read.find("b")->array();
    ASSERT_EQ(items.size(), 5u);
    uint64_t whole = 0;
    int64_t with_sign = 0;
    EXPECT_TRUE(items[2].whole(whole) && whole == ~uint64_t{0});
    EXPECT_FALSE(items[1].whole(whole));
    EXPECT_TRUE(items[1].whole(with_sign) && with_sign == -2);
    EXPECT_FALSE(items[2].whole(with_sign));
    EXPECT_TRUE(*items[3].flag() && items[4].is_null());
    EXPECT_EQ(read.find("c"), nullptr);
}

TEST(Json, MembersAreWrittenSortedAndInAscii) {
    const Json value =
        Json::Object{{"z", 1}, {"a", Json::list(std::vector<int64_t>{3, -4})}, {"\xc3\xa9\"", "\xf0\x9f\x98\x80\x01"}};
    EXPECT_EQ(value.dump(), R"({"a":[3,-4],"z":1,"\u00e9\"":"\ud83d\ude00\u0001"})");
    EXPECT_EQ(Json::parse(value.dump()).value().dump(), value.dump());
}

TEST(Json, NumbersThatAreNotWholeAreNoWholeNumbers) {
    for (const char* text : {"1.5", "1e3", "-0.25", "18446744073709551616"}) {
        uint64_t whole = 0;
        EXPECT_FALSE(Json::parse(text).value().whole(whole)) << text;
    }
}

TEST(Json, OtherTextIsRefusedWithItsPlace) {
    for (const char* text : {"",
                             "{",
                             "[1,]",
                             "{\"a\" 1}",
                             "{\"a\":1,\"a\":2}",
                             "01",
                             "1.",
                             "+1",
                             "nul",
                             "\"\\x\"",
                             "\"\\ud800\"",
                             "\"\n\"",
                             "\"",
                             "[1] 2",
                             "--1",
                             ".5",
                             "'a'",
                             "{1:2}",
                             "\xff",
                             "\"\xc3\""}) {
        const auto read = Json::parse(text);
        ASSERT_FALSE(read) << text;
        EXPECT_EQ(read.error().kind, ErrorKind::Usage);
    }
    EXPECT_NE(Json::parse("[1, x]").error().message.find("byte 4"), std::string::npos);
    EXPECT_FALSE(Json::parse(std::string(100'000, '[')));
    EXPECT_TRUE(Json::parse(std::string(60, '[') + std::string(60, ']')));
}

TEST(Json, DamagedTextIsReadOrRefused) {
    const std::string text = R"({"a":[1,2.5,"x\u0041",{"b":null}],"c":-7,"d":{"e":[true,false]}})";
    std::mt19937 random(7);
    for (int i = 0; i < 20'000; ++i) {
        std::string damaged = text;
        for (unsigned k = random() % 3 + 1; k > 0; --k)
            damaged[random() % damaged.size()] = static_cast<char>(random());
        if (random() % 4 == 0) damaged.resize(random() % damaged.size());
        if (const auto read = Json::parse(damaged)) EXPECT_EQ(Json::parse(read->dump()).value().dump(), read->dump());
    }
}

}  // namespace
}  // namespace strata
