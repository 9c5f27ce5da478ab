#pragma once
#include <optional>
#include <string>
#include <vector>

#include "strata/asm/object/code_object.h"
#include "strata/core/support/result.h"

namespace strata::hip::library {

/// The code object for a device in an image: the object itself, clang's offload bundle, or one that is compressed.
/// `size`: none if unknown, as of images in memory, which are read as far as memory is mapped. `arch`:
/// with what the device has of features, "gfx942:sramecc+:xnack-".
/// Errors: Unsupported, naming the archs that there is code for; Device: it is no image.
Result<isa::Bytes> code_for(const void* image, std::optional<size_t> size, std::string_view arch);

/// True if code for one target runs on another: the same arch, and no feature the other way round.
bool fits(std::string_view code, std::string_view arch);

enum class Compression : uint16_t { zlib = 0, zstd = 1 };
/// `bytes`: as many as there may be of the compressed ones, whose end the data says.
Result<isa::Bytes> decompress(Compression method, const uint8_t* data, size_t bytes, size_t unpacked);

}  // namespace strata::hip::library
