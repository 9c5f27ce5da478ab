#pragma once
#include <span>
#include <string>
#include <vector>

#include "strata/asm/object/line_table.h"

namespace strata::isa {

/// Places in a source for the lines of a listing that a line table names: of kernels that were traced, not parsed.
struct SourcePlaces {
    std::string listing;            ///< how the names of files of those lines end
    std::vector<uint32_t> of_line;  ///< by line of the listing, from line 1: which of the places, from 1; 0: none
    std::vector<SourceLine> places;

    bool operator==(const SourcePlaces&) const = default;
};

/// The code object with the places in a section of its own, which LineTable reads. The code stays where it is.
Result<Bytes> with_places(std::span<const uint8_t> object, const SourcePlaces& places);

}  // namespace strata::isa
