#pragma once
#include "strata/asm/object/source_places.h"

namespace strata::isa {

constexpr std::string_view kPlacesSection = ".strata_places";

/// Of the contents of that section.
Result<SourcePlaces> read_places(std::span<const uint8_t> bytes);

}  // namespace strata::isa
