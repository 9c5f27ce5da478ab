#pragma once
#include "strata/asm/dsl/operand.h"

namespace strata::isa {

/// A constant as the hardware takes it: an inline constant's code, or code::literal and the word that follows.
struct Constant {
    uint16_t code = 0;
    uint32_t literal = 0;
};

/// Chooses the encoding of an integer or real operand for an operand of `type`; `literal_only` for fields that are
/// always a literal word. Error: the value does not fit.
Result<Constant> encode_constant(const DynOperand& operand, Type type, bool literal_only = false);

}  // namespace strata::isa
