#pragma once
#include <cstdint>

#include "strata/asm/isa/inst.h"
#include "valu_model.h"

// Bits of sources and results, as the check reads them.
namespace strata::emu::rows {

/// Bits of the destination that a result fills.
int width_of(Bits bits);
/// NaN agrees with any NaN, other floats when at most `steps` representable numbers apart, the rest bit by bit.
bool agrees(Bits bits, uint64_t want, uint64_t got, int64_t steps);
/// Clamp of a float result: to [0, 1].
uint64_t clamped(Bits bits, uint64_t d, bool nan_to_zero);
/// The float or floats with zeros in place of denormals.
uint64_t without_denormals(uint64_t bits, isa::Type type);
/// True if a float of the result is the least normal one. Where denormals are flushed no document says whether a value
/// rounded up to it counts as a denormal.
bool least_normal(Bits bits, uint64_t d);

/// The byte or word of a source that SDWA selects.
uint64_t field(uint64_t x, int select, bool sign);
/// A result where SDWA puts it.
uint32_t placed(uint32_t result, uint32_t old, const isa::Sdwa& sdwa);

}  // namespace strata::emu::rows
