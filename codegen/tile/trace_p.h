#pragma once
#include "strata/core/uop/uop.h"

namespace strata::lang {

/// The kernel with values in place of loads of registers, where one store gives them.
UOp forward_registers(UOp sink);

}  // namespace strata::lang
