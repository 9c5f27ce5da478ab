#include "strata/core/support/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace strata {
namespace {

TEST(Utf8, OfEveryCodePointIsTakenAndItsTruncationIsNot) {
    for (uint32_t code = 0; code < 0x110000; code += code < 0x1000 ? 1 : 37) {
        if (code >= 0xd800 && code < 0xe000) continue;
        std::string text;
        auto byte = [&](uint32_t value) { text += static_cast<char>(value); };
        if (code < 0x80) byte(code);
        if (code >= 0x80 && code < 0x800) byte(0xc0 | code >> 6);
        if (code >= 0x800 && code < 0x10000) byte(0xe0 | code >> 12), byte(0x80 | (code >> 6 & 63));
        if (code >= 0x10000) byte(0xf0 | code >> 18), byte(0x80 | (code >> 12 & 63)), byte(0x80 | (code >> 6 & 63));
        if (code >= 0x80) byte(0x80 | (code & 63));
        ASSERT_TRUE(is_utf8("a" + text + "b")) << code;
        if (code >= 0x80) ASSERT_FALSE(is_utf8("a" + text.substr(0, text.size() - 1))) << code;
        if (code >= 0x80) ASSERT_FALSE(is_utf8(text.substr(1))) << code;
    }
}

TEST(Utf8, KnowsOverlongFormsSurrogatesAndWhatIsBeyondTheLastCodePoint) {
    for (const char* text : {"\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\xed\xa0\x80", "\xed\xbf\xbf",
                             "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xfe", "\x80"})
        EXPECT_FALSE(is_utf8(text));
}

TEST(Utf8, IsMadeOfAnyBytes) {
    EXPECT_EQ(as_utf8(""), "");
    EXPECT_EQ(as_utf8("k\xc3\xa4se.hip"), "k\xc3\xa4se.hip");
    EXPECT_EQ(as_utf8("k\xe4se.hip"), "k\\xe4se.hip");
    EXPECT_EQ(as_utf8("\xff\xe2\x82"), "\\xff\\xe2\\x82");
    for (int first = 0; first < 256; ++first)
        for (int second = 0; second < 256; ++second) {
            const std::string text{'a', static_cast<char>(first), static_cast<char>(second), 'b'};
            EXPECT_TRUE(is_utf8(as_utf8(text)));
            EXPECT_EQ(as_utf8(text) == text, is_utf8(text));
        }
}

}  // namespace
}  // namespace strata
