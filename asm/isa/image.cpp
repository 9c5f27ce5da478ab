#include "strata/asm/isa/image.h"

#include <algorithm>

#include "strata/asm/isa/image_p.h"

namespace strata::isa {
namespace {

constexpr KnownImage kKnown[] = {
#define IMAGE(mnemonic, kind, levels) {#mnemonic, ImageKind::kind, levels},
#include "strata/asm/isa/images.def"
};

constexpr ImageLayout kMimg = {.prefix = 0xf0000000,
                               .op = {18, 8},
                               .dim = {2, 3},
                               .unnormalized = {7, 1},
                               .components = {8, 4},
                               .data = {40, 8},
                               .resource = {48, 5},
                               .sampler = {58, 5},
                               .tfe = {53, 1},
                               .lwe = {54, 1},
                               .r128 = {15, 1},
                               .a16 = {16, 1},
                               .d16 = {17, 1},
                               .glc = {14, 1},
                               .slc = {12, 1},
                               .dlc = {13, 1},
                               .resource_shift = 2};
constexpr ImageLayout kVimage = {.prefix = 0xd0000000,
                                 .op = {14, 8},
                                 .dim = {0, 3},
                                 .components = {22, 4},
                                 .data = {32, 8},
                                 .resource = {41, 9},
                                 .tfe = {55, 1},
                                 .r128 = {4, 1},
                                 .a16 = {6, 1},
                                 .d16 = {5, 1},
                                 .th = {52, 3},
                                 .scope = {50, 2},
                                 .fifth = {56, 8}};
constexpr ImageLayout kVsample = {.prefix = 0xe4000000,
                                  .op = {14, 8},
                                  .dim = {0, 3},
                                  .unnormalized = {13, 1},
                                  .components = {22, 4},
                                  .data = {32, 8},
                                  .resource = {41, 9},
                                  .sampler = {55, 9},
                                  .tfe = {3, 1},
                                  .lwe = {40, 1},
                                  .r128 = {4, 1},
                                  .a16 = {6, 1},
                                  .d16 = {5, 1},
                                  .th = {52, 3},
                                  .scope = {50, 2}};

}  // namespace

const KnownImage* known_image(std::string_view mnemonic) {
    const KnownImage* known = std::ranges::find(kKnown, mnemonic, &KnownImage::mnemonic);
    return known == std::end(kKnown) ? nullptr : known;
}

std::optional<ImageDim> image_dim(std::string_view name) {
    constexpr std::string_view kPrefix = "SQ_RSRC_IMG_";
    if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
    for (size_t i = 0; i < std::size(kImageDims); ++i)
        if (kImageDims[i].coordinates && kImageDims[i].name.substr(kPrefix.size()) == name)
            return static_cast<ImageDim>(i);
    return {};
}

const ImageLayout& image_layout(Family family, const Row& row) {
    constexpr uint16_t kFirstSample = 256;  // opcodes of VSAMPLE
    return family != Family::rdna4 ? kMimg : row.opcode < kFirstSample ? kVimage : kVsample;
}

}  // namespace strata::isa
