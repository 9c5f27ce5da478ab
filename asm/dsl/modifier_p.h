#pragma once
#include "strata/asm/dsl/operand.h"

namespace strata::isa {

/// Modifiers whose value is a name: "th:TH_LOAD_NT", "scope:SCOPE_DEV", "format:[BUF_FMT_8_UINT]",
/// "offset:swizzle(SWAP,16)". False when the value is not such a name.
bool parse_named_value(std::string_view name, std::string_view value, Modifiers& modifiers);

}  // namespace strata::isa
