#pragma once
#include <string_view>

namespace strata {

/// Whether the bytes are UTF-8: no stray bytes, no overlong forms, no surrogates.
bool is_utf8(std::string_view text);

}  // namespace strata
