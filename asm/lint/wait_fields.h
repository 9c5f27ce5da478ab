#pragma once
#include "strata/asm/isa/facts.h"

namespace strata::lint {

/// A row of waits.def.
struct WaitField {
    isa::FamilySet families;
    std::string_view mnemonic;
    uint16_t counter;
    uint8_t shift, bits, high_shift, high_bits;

    /// The count that waits for nothing.
    constexpr uint32_t most() const { return (1u << (bits + high_bits)) - 1; }
    constexpr uint32_t count_in(uint32_t immediate) const {
        return (immediate >> shift & ((1u << bits) - 1)) | (immediate >> high_shift & ((1u << high_bits) - 1)) << bits;
    }
    /// The bits of the immediate for a count.
    constexpr uint32_t put(uint32_t count) const {
        return (count & ((1u << bits) - 1)) << shift | count >> bits << high_shift;
    }
};
inline constexpr WaitField kWaitFields[] = {
#define WAIT(which, mnemonic, count, ...) {isa::families::which, #mnemonic, isa::counter::count, __VA_ARGS__},
#include "strata/asm/lint/waits.def"
#undef WAIT
};

}  // namespace strata::lint
