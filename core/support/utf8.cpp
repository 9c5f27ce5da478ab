#include "strata/core/support/utf8.h"

#include <fmt/format.h>

#include <cstdint>

namespace strata {
namespace {

/// Bytes of the character at the start of a text; 0: they are no UTF-8.
size_t first_character(std::string_view text) {
    constexpr uint32_t kSmallest[] = {0, 0x80, 0x800, 0x10000};  // by the bytes that follow the first
    const auto first = static_cast<uint8_t>(text.front());
    if (first < 0x80) return 1;
    const size_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    if (first < 0xc2 || first > 0xf4 || text.size() <= more) return 0;
    uint32_t code = first & (0x3fu >> more);
    for (size_t i = 1; i <= more; ++i) {
        if ((text[i] & 0xc0) != 0x80) return 0;
        code = code << 6 | (text[i] & 0x3f);
    }
    const bool surrogate = code >= 0xd800 && code < 0xe000;
    return code < kSmallest[more] || code > 0x10ffff || surrogate ? 0 : more + 1;
}

}  // namespace

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const size_t bytes = first_character(text);
        if (!bytes) return false;
        text.remove_prefix(bytes);
    }
    return true;
}

std::string as_utf8(std::string_view text) {
    std::string all;
    all.reserve(text.size());
    while (!text.empty()) {
        const size_t bytes = first_character(text);
        if (bytes)
            all += text.substr(0, bytes);
        else
            all += fmt::format("\\x{:02x}", static_cast<uint8_t>(text.front()));
        text.remove_prefix(bytes ? bytes : 1);
    }
    return all;
}

}  // namespace strata
