#pragma once
#include "strata/asm/dsl/operand.h"
#include "strata/asm/dsl/text_p.h"

namespace strata::isa {

/// Modifiers whose value is a name: "th:TH_LOAD_NT", "scope:SCOPE_DEV", "format:[BUF_FMT_8_UINT]",
/// "offset:swizzle(SWAP,16)". False when the value is not such a name.
bool parse_named_value(std::string_view name, std::string_view value, Modifiers& modifiers);

/// Those of CDNA: "dst_sel:BYTE_0", "dst_unused:UNUSED_SEXT", "format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT]".
bool parse_cdna_value(std::string_view name, std::string_view value, Modifiers& modifiers);
/// The text in the parentheses of CDNA's "sendmsg(MSG_GS, GS_OP_CUT, 0)", as a value.
std::optional<uint16_t> parse_cdna_message(std::string_view inside);
/// The text in the parentheses of "gpr_idx(SRC0,DST)", as a value.
std::optional<uint16_t> parse_index_mode(std::string_view inside);

}  // namespace strata::isa
