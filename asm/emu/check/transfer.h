#pragma once
#include <string_view>

#include "strata/asm/emu/check/known.h"

namespace strata::emu {

/// A row of transfers.def.
using Transfer = Known (*)(Known a, Known b, Known c);
/// nullptr: the instruction has no row.
Transfer transfer_of(std::string_view handler);

}  // namespace strata::emu
