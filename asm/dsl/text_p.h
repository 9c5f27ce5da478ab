#pragma once
#include <string_view>

namespace strata::isa {

inline constexpr std::string_view kBlank = " \t\r\n";

/// The text without the blanks around it.
inline std::string_view trim(std::string_view text) {
    const size_t first = text.find_first_not_of(kBlank);
    if (first == text.npos) return {};
    return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

}  // namespace strata::isa
