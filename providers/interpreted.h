#pragma once
#include <cstdint>
#include <span>

#include "strata/providers/hip_api.h"

namespace strata::providers {

/// Memory of a device of the interpreter from an address to the end of its allocation. Empty: the address is in none.
std::span<uint8_t> interpreted_memory(int device, DevicePtr address);

}  // namespace strata::providers
