#pragma once
#include <string>
#include <string_view>

namespace strata::executable {

/// SHA-256 (FIPS 180-4) as 64 hex digits: of files that others can check.
std::string sha256(std::string_view bytes);

}  // namespace strata::executable
