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

}  // namespace
}  // namespace strata
