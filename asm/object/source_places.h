#pragma once
#include <span>
#include <string>
#include <vector>

#include "strata/asm/object/code_object.h"
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
/// True if what a loader takes of both is the same; sections for tools may differ.
bool same_but_for_places(const CodeObject& a, const CodeObject& b);

}  // namespace strata::isa
