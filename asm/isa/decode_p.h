#pragma once
#include "strata/asm/isa/table_p.h"

namespace strata::isa {

/// Positions in Inst::src of a FLAT, SCRATCH or GLOBAL instruction's operands; -1 where it has none.
struct FlatShape {
    int8_t address = -1, data = -1, saddr = -1;
};
FlatShape flat_shape(const Row& row);

/// DS instructions whose 16 offset bits are two 8-bit offsets.
bool two_addresses(const Row& row);
/// The DS register field (0 address, 1 data0, 2 data1) of the first source operand.
size_t first_ds_field(const Row& row);

}  // namespace strata::isa
