#pragma once
#include <string>
#include <string_view>

namespace strata {

/// True if the bytes are UTF-8: no stray bytes, no overlong forms, no surrogates.
bool is_utf8(std::string_view text);

/// The text as UTF-8: bytes that are none are spelled "\xff".
std::string as_utf8(std::string_view text);

}  // namespace strata
