#pragma once
#include <span>
#include <string_view>

#include "strata/asm/isa/family.h"

namespace strata::isa {

/// A row of dpp16.def.
struct Dpp16Pattern {
    FamilySet families;
    std::string_view text;
    uint16_t control;     ///< of text:first
    uint8_t first, last;  ///< numbers after the text; none where last is 0
    constexpr bool has(uint32_t ctrl) const { return ctrl >= control && ctrl <= uint32_t{control} + last - first; }
};
inline constexpr Dpp16Pattern kDpp16Patterns[] = {
#define DPP16(which, name, text, control, first, last) {families::which, text, control, first, last},
#include "strata/asm/isa/dpp16.def"
#undef DPP16
};

/// The control of each row's first number: row_shl is row_shl:1.
namespace dpp16 {
#define DPP16(which, name, text, control, ...) inline constexpr uint16_t name = control;
#include "strata/asm/isa/dpp16.def"
#undef DPP16
inline constexpr uint16_t quad_perms = 0x100;  ///< controls below permute quads
}  // namespace dpp16

/// True if a control names a lane pattern.
constexpr bool knows_dpp16(Family family, uint32_t ctrl) {
    for (const Dpp16Pattern& row : kDpp16Patterns)
        if (row.families.has(family) && row.has(ctrl)) return true;
    return ctrl < dpp16::quad_perms;
}

}  // namespace strata::isa
