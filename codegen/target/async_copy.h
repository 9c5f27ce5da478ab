#pragma once
#include <cstdint>

#include "strata/codegen/target/target.h"
#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// How a chip copies from global to local memory without registers.
enum class AsyncCopy : uint8_t {
    none,
    by_lanes,  ///< the lanes of a wave fill neighbouring dwords, the first lane's first (CDNA3 ISA 9.1.9)
    cp_async,  ///< each thread by itself: PTX ISA, "cp.async"
};
AsyncCopy async_copy_of(const Target& target);
/// Whether it is of that width, in bits.
bool has_async_copy(const Target& target, int bits);

/// Bytes that the lanes of a wave fill with one copy, each.
inline constexpr int kBytesOfLane = 4;
/// Whether it is certain that neighbouring lanes have neighbouring dwords: an offset in elements of local memory, as it
/// depends on the threads' indices. Waves run along x, which has whole waves or all threads.
bool fills_by_lanes(UOp offset, int bytes_of_element, int wave_size);

}  // namespace strata::codegen
