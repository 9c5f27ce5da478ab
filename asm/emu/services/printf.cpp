#include "strata/asm/emu/services/printf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <utility>

// A kernel's format never reaches the host's printf. Conversions are taken apart, and each is rewritten for its one
// argument, whose type is the conversion's.
namespace strata::emu {

uint64_t PrintfArguments::number() {
    const uint64_t value = words_.front();
    words_ = words_.subspan(1);
    return value;
}

std::string_view PrintfArguments::string() {
    const std::string_view rest(reinterpret_cast<const char*>(words_.data()), words_.size_bytes());
    const size_t length = std::min(rest.find('\0'), rest.size());
    words_ = words_.subspan(std::min(length / 8 + 1, words_.size()));
    return rest.substr(0, length);
}

namespace {

constexpr int kWidest = 1 << 16;  // a field's width and precision end here

/// One conversion: %[flags][width][.precision][length]type.
struct Conversion {
    std::string flags;
    int width = 0, precision = -1;
    bool star_width = false, star_precision = false;
    int bits = 32;  ///< of an integer, by the length
    char type = 0;  ///< 0: none that C knows

    bool is(std::string_view types) const { return type && types.find(type) != types.npos; }
};

class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text) {}

    Conversion parse() {
        Conversion c;
        while (at_ < text_.size() && std::string_view("-+ #0").find(text_[at_]) != std::string_view::npos) {
            if (c.flags.find(text_[at_]) == std::string::npos) c.flags += text_[at_];
            ++at_;
        }
        c.star_width = take("*");
        if (!c.star_width) c.width = number();
        if (take(".")) {
            c.star_precision = take("*");
            c.precision = c.star_precision ? -1 : number();
        }
        c.bits = length();
        constexpr std::string_view kTypes = "diouxXfFeEgGaAcspn";
        if (at_ < text_.size() && kTypes.find(text_[at_]) != kTypes.npos) c.type = text_[at_++];
        return c;
    }
    size_t consumed() const { return at_; }

  private:
    bool take(std::string_view word) {
        if (!text_.substr(at_).starts_with(word)) return false;
        at_ += word.size();
        return true;
    }
    int number() {
        int value = 0;
        for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
            value = std::min(value * 10 + (text_[at_] - '0'), kWidest);
        return value;
    }
    int length() {
        struct Length {
            std::string_view word;
            int bits;
        };
        constexpr Length kLengths[] = {{"hh", 8}, {"h", 16}, {"ll", 64}, {"l", 64}, {"j", 64},
                                       {"z", 64}, {"t", 64}, {"q", 64},  {"L", 64}};
        for (const Length& row : kLengths)
            if (take(row.word)) return row.bits;
        return 32;
    }

    std::string_view text_;
    size_t at_ = 0;
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
template <class T>
std::string print(const Conversion& c, std::string_view length, T value) {
    std::string format = "%" + c.flags + "*";
    if (c.precision >= 0) format += ".*";
    format += length;
    format += c.type;
    auto write = [&](char* to, size_t size) {
        return c.precision >= 0 ? snprintf(to, size, format.c_str(), c.width, c.precision, value)
                                : snprintf(to, size, format.c_str(), c.width, value);
    };
    std::string text(static_cast<size_t>(std::max(write(nullptr, 0), 0)), '\0');
    write(text.data(), text.size() + 1);
    return text;
}
#pragma GCC diagnostic pop

int64_t sign_extended(uint64_t value, int bits) { return static_cast<int64_t>(value << (64 - bits)) >> (64 - bits); }
uint64_t zero_extended(uint64_t value, int bits) { return value << (64 - bits) >> (64 - bits); }

/// Strings may hold more than a zero byte ends: width and precision are applied here.
std::string pad(const Conversion& c, std::string_view text) {
    const size_t width = static_cast<size_t>(c.width);
    const std::string fill(width > text.size() ? width - text.size() : 0, ' ');
    const bool left = c.flags.find('-') != std::string::npos;
    return left ? std::string(text) + fill : fill + std::string(text);
}

std::string convert(const Conversion& c, PrintfArguments& arguments) {
    if (c.type == 's') {
        const std::string_view text = arguments.string();
        return pad(c, c.precision < 0 ? text : text.substr(0, static_cast<size_t>(c.precision)));
    }
    const uint64_t value = arguments.number();
    if (c.is("di")) return print(c, "ll", static_cast<long long>(sign_extended(value, c.bits)));
    if (c.is("ouxX")) return print(c, "ll", static_cast<unsigned long long>(zero_extended(value, c.bits)));
    if (c.type == 'c') {
        const char letter = static_cast<char>(value);
        return pad(c, {&letter, 1});
    }
    if (c.type == 'p') return print(c, "", reinterpret_cast<const void*>(value));
    return c.type == 'n' ? std::string() : print(c, "", std::bit_cast<double>(value));
}

/// Takes the arguments of * first; a negative width is the flag '-', a negative precision none.
bool take_stars(Conversion& c, PrintfArguments& arguments) {
    auto star = [&](int& to) {
        if (arguments.empty()) return false;
        to = std::clamp(static_cast<int>(arguments.number()), -kWidest, kWidest);
        return true;
    };
    if (c.star_width && !star(c.width)) return false;
    if (c.star_precision && !star(c.precision)) return false;
    if (c.width < 0) {
        c.flags += '-';
        c.width = -c.width;
    }
    return !arguments.empty();
}

}  // namespace

Printed format_printf(std::string_view format, PrintfArguments arguments, uint64_t limit) {
    Printed out;
    const auto write = [&](std::string_view text) {
        out.text += text.substr(0, static_cast<size_t>(std::min<uint64_t>(text.size(), limit - out.text.size())));
        out.bytes += text.size();
    };
    while (!format.empty()) {
        const size_t percent = std::min(format.find('%'), format.size());
        write(format.substr(0, percent));
        format.remove_prefix(percent);
        if (format.empty()) break;
        if (format.starts_with("%%")) {
            write("%");
            format.remove_prefix(2);
            continue;
        }
        Parser parser(format.substr(1));
        Conversion conversion = parser.parse();
        const std::string_view written = format.substr(0, parser.consumed() + 1);
        format.remove_prefix(written.size());
        if (!conversion.type || !take_stars(conversion, arguments)) {
            write(written);
        } else if (out.text.size() < limit) {
            write(convert(conversion, arguments));
        } else {  // counted without its blanks and leading zeros
            const auto width = static_cast<size_t>(std::exchange(conversion.width, 0));
            const size_t bytes = convert(conversion, arguments).size();
            out.bytes += conversion.type == 'n' ? bytes : std::max(bytes, width);
        }
    }
    return out;
}

}  // namespace strata::emu
