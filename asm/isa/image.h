#pragma once
#include <bit>
#include <optional>

#include "strata/asm/isa/inst.h"

/// Image instructions (RDNA3 ISA 15.9, RDNA4 ISA 15.9 and 15.10: MIMG, VIMAGE, VSAMPLE), as decode() hands them over.
/// In the Inst, dst[0] is the data of loads and samples, and src = {T#, S# of samples and gathers, data of stores,
/// first address}. src_y is the second and third address where each has a register operand of its own. `offset` holds
/// an ImageForm.
namespace strata::isa {

/// SQ_RSRC_IMG_*, the `dim` of the instruction.
enum class ImageDim : uint8_t { d1, d2, d3, cube, d1_array, d2_array };
struct ImageDimInfo {
    std::string_view name;
    uint8_t coordinates;  ///< 0: not there
};
inline constexpr ImageDimInfo kImageDims[] = {{"SQ_RSRC_IMG_1D", 1},       {"SQ_RSRC_IMG_2D", 2},
                                              {"SQ_RSRC_IMG_3D", 3},       {"SQ_RSRC_IMG_CUBE", 0},
                                              {"SQ_RSRC_IMG_1D_ARRAY", 2}, {"SQ_RSRC_IMG_2D_ARRAY", 3}};
constexpr const ImageDimInfo& info(ImageDim dim) { return kImageDims[static_cast<size_t>(dim)]; }
/// By its name in the text, with the prefix or without it; none: it is not there.
std::optional<ImageDim> image_dim(std::string_view name);

/// A gather takes one component of four texels.
enum class ImageKind : uint8_t { load, store, sample, gather };

/// A row of images.def.
struct KnownImage {
    std::string_view mnemonic;
    ImageKind kind;
    uint8_t levels;  ///< addresses beside the coordinates
};
const KnownImage* known_image(std::string_view mnemonic);  ///< nullptr: it is not there
constexpr Type kImageDataTypes[] = {Type::none, Type::b32, Type::b64, Type::b96, Type::b128};  // by how many components

struct ImageForm {
    ImageKind kind = ImageKind::load;
    ImageDim dim = ImageDim::d1;
    uint8_t components = 0;  ///< dmask: which of X, Y, Z, W the data registers hold, one after the other
    uint8_t addresses = 0;   ///< coordinates, slice and level
    bool unnormalized = false;
    bool separate = false;  ///< each address has a register of its own

    bool has_sampler() const { return kind >= ImageKind::sample; }
    Type data_type() const { return kImageDataTypes[kind == ImageKind::gather ? 4 : std::popcount(components)]; }
    /// True if there is an instruction that wants these components.
    bool has_components() const {
        return kind == ImageKind::gather ? std::has_single_bit(components) : components != 0;
    }

    int32_t pack() const {
        return static_cast<int32_t>(kind) | static_cast<int32_t>(dim) << 2 | components << 5 | addresses << 9 |
               unnormalized << 12 | separate << 13;
    }
    static ImageForm unpack(int32_t bits) {
        return {static_cast<ImageKind>(bits & 3),
                static_cast<ImageDim>(bits >> 2 & 7),
                static_cast<uint8_t>(bits >> 5 & 15),
                static_cast<uint8_t>(bits >> 9 & 7),
                (bits >> 12 & 1) != 0,
                (bits >> 13 & 1) != 0};
    }
};

}  // namespace strata::isa
