#pragma once

#include <cstdint>
#include <span>

namespace strata {

/// True if each byte is a bool as kernels read them, 0 or 1: memory of others may hold any for true.
inline bool are_bools(std::span<const uint8_t> bytes) {
    uint8_t all = 0;
    for (uint8_t byte : bytes) all |= byte;
    return all <= 1;
}

}  // namespace strata
