#pragma once
#include <optional>

#include "strata/hip/api/structs.h"
#include "strata/hip/memory/copy.h"

/// Arrays: memory whose elements have a format, as images have it.
namespace strata::hip::library {

/// A row of texture_formats.def.
struct ElementFormat {
    struct Words {
        uint32_t channel_type, unified[3];
    };
    int code, bits, kind;
    Words as_elements, as_floats;

    size_t bytes(unsigned channels) const { return static_cast<size_t>(bits) / 8 * channels; }
};
/// By hipArray_Format; nullptr: it is none.
const ElementFormat* format_of(int code);
/// The format of channels of one width, and how many there are. Error: hipErrorInvalidValue.
Code format_of(const ChannelFormat& channels, const ElementFormat*& out, unsigned& count);
ChannelFormat channels_of(const ElementFormat& format, unsigned count);

/// hipArrayLayered, hipArraySurfaceLoadStore, hipArrayTextureGather.
inline constexpr unsigned kLayered = 1, kForSurfaces = 2, kForGather = 8;

struct OwnArray : Array {
    unsigned flags = 0;
    int device = 0;  ///< as the emulator counts
    const ElementFormat* element = nullptr;
    size_t pitch = 0, slice = 0;  ///< bytes from row to row, from slice or layer to the next

    size_t element_bytes() const { return element->bytes(count); }
    size_t row_bytes() const { return width * element_bytes(); }
    size_t rows() const { return height ? height : 1; }
    size_t slices() const { return depth ? depth : 1; }
    bool is_layered() const { return flags & kLayered; }
};
/// The array of a handle; nullptr: no array, or freed.
const OwnArray* array_at(const void* handle);
void forget_arrays(int device);  ///< whose memory is given back
/// True if a device has images: those of gfx11 and gfx12 do here.
bool has_images(int device);

/// One side of a copy of rows, at a place in bytes, rows and slices: memory of the program's or the library's, or an
/// array.
struct CopySide {
    const void* memory = nullptr;
    size_t pitch = 0, slice = 0;
    Position at = {};
    const OwnArray* array = nullptr;
};
/// Error: hipErrorInvalidValue for what is beyond an array.
Code box_between(const CopySide& to, const CopySide& from, const Extent& bytes, int kind, Box& out);

}  // namespace strata::hip::library
