#include "strata/core/support/utf8.h"

#include <cstdint>

namespace strata {

bool is_utf8(std::string_view text) {
    constexpr uint32_t kSmallest[] = {0, 0x80, 0x800, 0x10000};  // by the bytes that follow the first
    for (size_t i = 0; i < text.size();) {
        const auto first = static_cast<uint8_t>(text[i++]);
        if (first < 0x80) continue;
        const int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
        if (first < 0xc2 || first > 0xf4) return false;
        uint32_t code = first & (0x3fu >> more);
        for (int k = 0; k < more; ++k) {
            if (i == text.size() || (text[i] & 0xc0) != 0x80) return false;
            code = code << 6 | (text[i++] & 0x3f);
        }
        if (code < kSmallest[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
    }
    return true;
}

}  // namespace strata
