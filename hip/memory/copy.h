#pragma once
#include "strata/hip/api/structs.h"
#include "strata/hip/stream/stream.h"

namespace strata::hip::library {

/// hipMemcpyKind; what is copied is found by the addresses, as AMD's library does.
inline constexpr int kHostToHost = 0, kDefaultKind = 4, kWithoutUnits = 1024;

/// Rows of bytes, some distance apart.
struct Rows {
    size_t width = 0, height = 1, depth = 1;
    size_t to_pitch = 0, from_pitch = 0, to_slice = 0, from_slice = 0;
};
/// Bytes from the first to the last of rows; none: more than there can be.
std::optional<size_t> span_of(const Rows& rows, size_t pitch, size_t slice);
/// Copies between any memories, one after the other. Error: hipErrorInvalidValue, as of what lies beyond a block.
Code copy_rows(Stream& stream, void* to, const void* from, const Rows& rows);
inline Code copy(Stream& stream, void* to, const void* from, size_t bytes) {
    return copy_rows(stream, to, from, {.width = bytes});
}
/// AMD's library checks this before it copies.
Code check_copy(const void* to, const void* from, size_t bytes, int kind);

/// A copy that has not been done.
struct Box {
    void* to = nullptr;
    const void* from = nullptr;
    Rows rows = {};
    int kind = kDefaultKind;
    std::optional<BoxParameters> given = {};  ///< where a side is an array
};
inline Code perform(Stream& stream, const Box& box) { return copy_rows(stream, box.to, box.from, box.rows); }
Code check(const Box& box);
/// True if both sides hold what is copied, as copy_rows() checks it too.
Code check_spans(const Box& box);
/// The box of hipMemcpy3DParms, and back. Error: hipErrorInvalidValue.
Code box_of(const void* parameters, Box& out);
void write_box(const Box& box, void* parameters);

}  // namespace strata::hip::library
