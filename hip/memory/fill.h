#pragma once
#include "strata/hip/api/structs.h"
#include "strata/hip/stream/stream.h"

namespace strata::hip::library {

/// `count` elements of `element` bytes in each row, some distance apart.
struct Pattern {
    void* to = nullptr;
    uint32_t value = 0;
    size_t element = 1, count = 0;
    size_t pitch = 0, height = 1, slice = 0, depth = 1;

    size_t width() const { return element * count; }
};
Code fill(Stream& stream, const Pattern& pattern);
inline Code perform(Stream& stream, const FillParameters& p) {
    return fill(stream, {p.to, p.value, p.element, p.width, p.pitch, p.height});
}

}  // namespace strata::hip::library
