#pragma once
#include "strata/asm/isa/facts.h"

namespace strata::lint {

/// A row of waits.def.
struct WaitField {
    isa::FamilySet families;
    std::string_view mnemonic;
    uint16_t counter;
    uint8_t shift, bits, high_shift, high_bits;
};

/// The count that waits for nothing.
constexpr uint32_t most(const WaitField& field) { return (1u << (field.bits + field.high_bits)) - 1; }
constexpr uint32_t count_in(const WaitField& field, uint32_t immediate) {
    const uint32_t low = immediate >> field.shift & ((1u << field.bits) - 1);
    return low | (immediate >> field.high_shift & ((1u << field.high_bits) - 1)) << field.bits;
}
/// The bits of the immediate for a count.
constexpr uint32_t put(const WaitField& field, uint32_t count) {
    return (count & ((1u << field.bits) - 1)) << field.shift | count >> field.bits << field.high_shift;
}

inline constexpr WaitField kWaitFields[] = {
#define WAIT(which, mnemonic, count, ...) {isa::families::which, #mnemonic, isa::counter::count, __VA_ARGS__},
#include "strata/asm/lint/waits.def"
#undef WAIT
};

}  // namespace strata::lint
