#pragma once
#include <span>
#include <string_view>

#include "strata/asm/isa/arch.h"

namespace strata::isa {

/// A row of names.def.
struct ImmediateName {
    uint32_t families;  ///< bit i: the family numbered i has it
    uint32_t number;
    std::string_view name;
    bool of(Family family) const { return families >> static_cast<uint32_t>(family) & 1; }
};
std::span<const ImmediateName> message_names();
std::span<const ImmediateName> hardware_register_names();

/// The name of a number, empty when the family has none.
std::string_view name_of(std::span<const ImmediateName> names, Family family, uint32_t number);

}  // namespace strata::isa
