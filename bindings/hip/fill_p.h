#pragma once
#include "strata/bindings/hip/stream_p.h"

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

}  // namespace strata::hip::library
