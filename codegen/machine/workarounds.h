#pragma once
#include <cstdint>
#include <string_view>

#include "strata/asm/isa/row.h"
#include "strata/codegen/target/target.h"

namespace strata::codegen {

/// A row of workarounds.def.
enum class Workaround : uint8_t {
#define WORKAROUND(name, ...) name,
#include "strata/codegen/machine/workarounds.def"
#undef WORKAROUND
};

/// 0: the target does not need it.
int value_of(Workaround workaround, const Target& target);
std::string_view source_of(Workaround workaround);  ///< where the fault is known from

/// Why an instruction's first destination may share no register with its sources; "" where it may.
std::string_view must_keep_sources(const Target& target, const isa::Row& row);

/// MachineFunction::user_sgprs of a kernel with `workgroup_ids` ids: the arguments' address and padding.
/// Workgroup ids stand right after it.
int user_scalars(const Target& target, int workgroup_ids);

}  // namespace strata::codegen
