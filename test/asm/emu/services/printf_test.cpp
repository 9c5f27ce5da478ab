#include "strata/asm/emu/services/printf.h"

#include <gtest/gtest.h>

#include <bit>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "strata/asm/emu/services/output.h"

namespace strata::emu {
namespace {

/// A kernel's message: words and strings in place.
class Sent {
  public:
    Sent& operator<<(double value) { return *this << std::bit_cast<uint64_t>(value); }
    Sent& operator<<(int value) { return *this << uint64_t{static_cast<uint32_t>(value)}; }  // as clang widens them
    Sent& operator<<(unsigned long long value) { return *this << uint64_t{value}; }
    Sent& operator<<(const void* pointer) { return *this << reinterpret_cast<uint64_t>(pointer); }
    Sent& operator<<(uint64_t value) {
        words.push_back(value);
        return *this;
    }
    Sent& operator<<(std::string_view text) {
        const size_t at = words.size();
        words.resize(at + text.size() / 8 + 1);
        memcpy(words.data() + at, text.data(), text.size());
        return *this;
    }
    std::vector<uint64_t> words;
};

std::string print(std::string_view format, const Sent& sent = {}) {
    const Printed all = format_printf(format, PrintfArguments{sent.words}, ~0ull);
    EXPECT_EQ(all.bytes, all.text.size());
    for (const uint64_t limit : {uint64_t{0}, uint64_t{1}, all.bytes / 2, all.bytes}) {
        const Printed cut = format_printf(format, PrintfArguments{sent.words}, limit);
        EXPECT_EQ(cut.text, all.text.substr(0, limit)) << format;
        EXPECT_EQ(cut.bytes, all.bytes) << format << " of which " << limit << " bytes are kept";
    }
    return all.text;
}

template <class... Args>
std::string by_host(const char* format, Args... args) {
    std::string text(static_cast<size_t>(snprintf(nullptr, 0, format, args...)), '\0');
    snprintf(text.data(), text.size() + 1, format, args...);
    return text;
}

TEST(Printf, WritesWhatTheHostsPrintfWrites) {
#define SAME(format, argument) EXPECT_EQ(print(format, Sent() << argument), by_host(format, argument)) << format
    for (int value : {0, 1, -1, 77, -123456, INT_MAX, INT_MIN}) {
        SAME("%d", value);
        SAME("[%+8d]", value);
        SAME("[%-8i]", value);
        SAME("% 08d", value);
        SAME("%.5d", value);
        SAME("%u", value);
        SAME("%#x", value);
        SAME("%#o %%", value);
        SAME("%08X", value);
        SAME("%hhd", value);
        SAME("%hu", value);
    }
    for (uint64_t value : {uint64_t{0}, uint64_t{1} << 40, ~uint64_t{0}}) {
        SAME("%llu", static_cast<unsigned long long>(value));
        SAME("%ld", value);
        SAME("%zx", value);
        SAME("%p", reinterpret_cast<void*>(value));
    }
    for (double value : {0.0, -0.0, 1.5, -2.25e-7, 1e300, static_cast<double>(INFINITY), 3.14159265358979}) {
        SAME("%f", value);
        SAME("%12.3e", value);
        SAME("%-10g|", value);
        SAME("%A", value);
        SAME("%.0f", value);
        SAME("%+G", value);
    }
#undef SAME
}

TEST(Printf, StringsAndLettersHaveWidthAndPrecision) {
    for (const char* text : {"", "a", "1234567", "12345678", "a longer text than a word"}) {
        for (const char* format : {"%s", "[%12s]", "[%-12s]", "%.3s", "[%10.2s]"}) {
            Sent sent;
            sent << std::string_view(text) << 5;
            EXPECT_EQ(print(std::string(format) + " %d", sent), by_host(format, text) + " 5") << format;
        }
    }
    EXPECT_EQ(print("%c%3c|%-3c|", Sent() << 'a' << 'b' << 'c'), "a  b|c  |");
}

TEST(Printf, StarsTakeArguments) {
    EXPECT_EQ(print("[%*d]", Sent() << 6 << 42), "[    42]");
    EXPECT_EQ(print("[%*d]", Sent() << -6 << 42), "[42    ]");
    EXPECT_EQ(print("[%.*f]", Sent() << 2 << 3.14159), "[3.14]");
    EXPECT_EQ(print("[%*.*f]", Sent() << 8 << 1 << 3.14159), "[     3.1]");
    EXPECT_EQ(print("[%.*s]", Sent() << 2 << std::string_view("abc")), "[ab]");
    EXPECT_EQ(print("[%.*d]", Sent() << -1 << 7), "[7]");
}

TEST(Printf, WhatCannotBeConvertedStandsAsWritten) {
    EXPECT_EQ(print("100%"), "100%");
    EXPECT_EQ(print("%d and %s", Sent() << 1), "1 and %s");
    EXPECT_EQ(print("%*d", Sent() << 1), "%*d");
    EXPECT_EQ(print("%k %y %d", Sent() << 3), "%k %y 3");
    EXPECT_EQ(print("%lls"), "%lls");
    EXPECT_EQ(print("%n%d", Sent() << 9 << 3), "3");
    EXPECT_EQ(print("%-+ #05"), "%-+ #05");
}

TEST(Printf, WidthsEnd) {
    EXPECT_EQ(print("%99999999999d", Sent() << 1).size(), 1u << 16);
    EXPECT_EQ(print("%*d", Sent() << INT_MIN << 1).size(), 1u << 16);
    EXPECT_LE(print("%.99999999f", Sent() << 0.1).size(), (1u << 16) + 2);
}

TEST(Printf, KeepsNoMoreThanItsLimit) {
    std::string format;
    Sent sent;
    for (int i = 0; i < 60000; ++i) format += "%65536d", sent << i;
    const Printed printed = format_printf(format, PrintfArguments{sent.words}, 1000);
    EXPECT_EQ(printed.text, std::string(1000, ' '));
    EXPECT_LT(printed.text.capacity(), 1u << 20);
    EXPECT_EQ(printed.bytes, 60000ull << 16);
}

/// As a kernel prints it.
Printed said(std::string text) { return {text, text.size()}; }

TEST(Output, StandsInTheOrderOfWorkgroups) {
    Output output(100);
    output.add(2, said("c"));
    output.add(0, said("a"));
    output.add(2, said("d"));
    output.add(1, said("b"));
    EXPECT_EQ(output.text(), "abcd");
}

TEST(Output, CountsWhatWasNotKept) {
    Output output(5);
    output.add(3, {"abcde", 70000});
    EXPECT_EQ(output.left(), 0u);
    output.add(1, {"", 10});
    EXPECT_EQ(output.text(), "abcde\n[70005 more bytes were printed; STRATA_EMU_OUTPUT keeps 5]\n");
}

TEST(Output, SaysHowMuchWasCut) {
    Output output(5);
    output.add(0, said("abc"));
    output.add(1, said("defg"));
    output.add(0, said("h"));
    EXPECT_EQ(output.text(), "abcde\n[3 more bytes were printed; STRATA_EMU_OUTPUT keeps 5]\n");
}

}  // namespace
}  // namespace strata::emu
