#pragma once
#include "strata/hip/memory/array.h"
#include "strata/hip/texture/image_words.h"

namespace strata::hip::library {

struct TextureObject {
    int device = 0;
    ResourceDescription resource = {};
    TextureDescription sampling = {};
    ViewDescription view = {};
};
/// Errors: as hipCreateTextureObject's; hipErrorNotSupported where the device has no images, for mipmaps, anisotropy
/// and a bias.
Code create_texture(void** out, const ResourceDescription* resource, const TextureDescription* sampling,
                    const ViewDescription* view);
Code destroy_texture(void* texture);
/// The object of a texture that is there. Errors: hipErrorInvalidValue, hipErrorNotSupported.
Code texture_at(void* texture, TextureObject& out);

void forget_textures(int device);  ///< whose memory is given back
void forget_surfaces(int device);

/// hipResourceType.
enum ResourceKind { kOfArray, kOfMipmaps, kOfLine, kOfRows };
/// Textures, surfaces and their memory begin at multiples of it.
inline constexpr size_t kTextureAlignment = 256;

/// The image that an array is.
Texels texels_of(const OwnArray& array);
/// Words in memory of a device, for kernels.
Code write_object(int device, const ObjectWords& words, void** out);

}  // namespace strata::hip::library
