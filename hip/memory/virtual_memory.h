#pragma once
#include "strata/hip/api/state.h"

namespace strata::hip::library {

/// True if an address lies in a range that hipMemAddressReserve gave.
bool is_reserved(const void* memory);
/// True if bytes from an address on are mapped, to parts that some device may read, or write. Error:
/// hipErrorInvalidValue.
Code check_mapped(const void* memory, size_t bytes, bool writes);
/// Unmaps and forgets the memory of a device.
void forget_mapped(int device);

}  // namespace strata::hip::library
