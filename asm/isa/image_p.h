#pragma once
#include "strata/asm/isa/image.h"
#include "strata/asm/isa/table_p.h"

namespace strata::isa {

/// The fields of MIMG of RDNA3 (15.9 of its ISA), VIMAGE and VSAMPLE of RDNA4 (15.9, 15.10). Fields of RDNA4's
/// addresses: the third word.
struct ImageLayout {
    uint32_t prefix;
    Field op, dim, unnormalized, components, data, resource, sampler, tfe, lwe, r128, a16, d16, glc, slc, dlc, th,
        scope;
    Field fifth;             ///< address, which nothing here has
    uint8_t resource_shift;  ///< registers of scalar groups are counted in groups
};
/// The layout of a row with format MIMG of RDNA3 or RDNA4.
const ImageLayout& image_layout(Family family, const Row& row);

}  // namespace strata::isa
