// Copies of rows to arrays and from them.
#include "strata/hip/api/exports.h"
#include "strata/hip/memory/array.h"

namespace strata::hip::library {
namespace {

/// Memory of the array, at a place; nullptr: it ends before what is copied does.
char* in_array(const OwnArray& array, const Position& at, const Extent& bytes) {
    const auto fits = [](size_t start, size_t count, size_t all) { return start <= all && count <= all - start; };
    const bool inside = fits(at.x, bytes.width, array.row_bytes()) && fits(at.y, bytes.height, array.rows()) &&
                        fits(at.z, bytes.depth, array.slices());
    return inside ? static_cast<char*>(array.memory) + at.z * array.slice + at.y * array.pitch + at.x : nullptr;
}

char* start_of(const CopySide& side, const Extent& bytes) {
    if (side.array) return in_array(*side.array, side.at, bytes);
    return static_cast<char*>(const_cast<void*>(side.memory)) + side.at.z * side.slice + side.at.y * side.pitch +
           side.at.x;
}

}  // namespace

Code box_between(const CopySide& to, const CopySide& from, const Extent& bytes, int kind, Box& out) {
    const auto pitch = [](const CopySide& side) { return side.array ? side.array->pitch : side.pitch; };
    const auto slice = [](const CopySide& side) { return side.array ? side.array->slice : side.slice; };
    if ((!to.array && !to.memory) || (!from.array && !from.memory)) return hipErrorInvalidValue;
    char *const start = start_of(to, bytes), *const source = start_of(from, bytes);
    if (!start || !source) return hipErrorInvalidValue;
    const Rows rows = {bytes.width, bytes.height, bytes.depth, pitch(to), pitch(from), slice(to), slice(from)};
    out = {start, source, rows, kind};
    return hipSuccess;
}

namespace {

/// A copy with an array on one side at least, now or later.
Code copy_box(const CopySide& to, const CopySide& from, const Extent& bytes, int kind, bool later, void* stream) {
    Box box;
    Code code = box_between(to, from, bytes, kind, box);
    if (code == hipSuccess) code = check(box);
    if (code != hipSuccess) return code;
    const auto work = [=](Stream& own) { return copy_rows(own, box.to, box.from, box.rows); };
    return later ? on_stream(stream, NodeType::copy, work) : and_wait(stream, work);
}

Code array_side(const void* handle, size_t x, size_t y, CopySide& out) {
    out = {.at = {x, y, 0}, .array = array_at(handle)};
    return out.array ? hipSuccess : hipErrorInvalidHandle;
}
Code memory_side(const void* memory, size_t pitch, size_t width, CopySide& out) {
    out = {.memory = memory, .pitch = pitch};
    return !memory ? hipErrorInvalidValue : pitch < width || pitch == 0 ? hipErrorInvalidPitchValue : hipSuccess;
}
bool is_kind(int kind) { return (kind >= kHostToHost && kind <= kDefaultKind) || kind == kWithoutUnits; }

struct Place {
    size_t x, y;
};

Code to_array(void* array, Place at, const void* from, size_t pitch, Extent bytes, int kind, bool later = false,
              void* stream = nullptr) {
    CopySide there, here;
    if (!is_kind(kind)) return hipErrorInvalidMemcpyDirection;
    if (later && !stream_of(stream)) return hipErrorInvalidValue;
    Code code = memory_side(from, pitch, bytes.width, here);
    if (code == hipSuccess) code = array_side(array, at.x, at.y, there);
    return code == hipSuccess ? copy_box(there, here, bytes, kind, later, stream) : code;
}
Code from_array(void* to, size_t pitch, const void* array, Place at, Extent bytes, int kind, bool later = false,
                void* stream = nullptr) {
    CopySide there, here;
    if (!is_kind(kind)) return hipErrorInvalidMemcpyDirection;
    if (later && !stream_of(stream)) return hipErrorInvalidValue;
    Code code = array_side(array, at.x, at.y, here);
    if (code == hipSuccess) code = memory_side(to, pitch, bytes.width, there);
    return code == hipSuccess ? copy_box(there, here, bytes, kind, later, stream) : code;
}

/// `bytes` as whole rows of the array, as hipMemcpyToArray counts them, or as part of one.
Extent rows_of(const void* handle, size_t bytes) {
    const OwnArray* const array = array_at(handle);
    if (!array || bytes < array->row_bytes()) return {bytes, 1, 1};
    return {array->row_bytes(), bytes / array->row_bytes(), 1};
}

/// Calls of the driver's interface call what is no array a wrong value.
Code part_to_array(void* array, size_t at, const void* from, size_t bytes, bool later = false, void* stream = nullptr) {
    if (!array_at(array)) return hipErrorInvalidValue;
    return to_array(array, {at, 0}, from, bytes, {bytes, 1, 1}, kDefaultKind, later, stream);
}
Code part_from_array(void* to, const void* array, size_t at, size_t bytes, bool later = false, void* stream = nullptr) {
    if (!array_at(array)) return hipErrorInvalidValue;
    return from_array(to, bytes, array, {at, 0}, {bytes, 1, 1}, kDefaultKind, later, stream);
}
Code between(void* to, Place to_at, const void* from, Place from_at, Extent bytes, int kind) {
    CopySide there, here;
    if (!is_kind(kind)) return hipErrorInvalidMemcpyDirection;
    Code code = array_side(from, from_at.x, from_at.y, here);
    if (code == hipSuccess) code = array_side(to, to_at.x, to_at.y, there);
    return code == hipSuccess ? copy_box(there, here, bytes, kind, false, nullptr) : code;
}

}  // namespace
}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipMemcpy2DToArray(void* array, size_t x, size_t y, const void* from, size_t pitch, size_t width, size_t height,
                       int kind) {
    return entry("hipMemcpy2DToArray", [&] { return to_array(array, {x, y}, from, pitch, {width, height, 1}, kind); });
}
int hipMemcpy2DToArrayAsync(void* array, size_t x, size_t y, const void* from, size_t pitch, size_t width,
                            size_t height, int kind, void* stream) {
    return entry("hipMemcpy2DToArrayAsync",
                 [&] { return to_array(array, {x, y}, from, pitch, {width, height, 1}, kind, true, stream); });
}
int hipMemcpy2DFromArray(void* to, size_t pitch, const void* array, size_t x, size_t y, size_t width, size_t height,
                         int kind) {
    return entry("hipMemcpy2DFromArray",
                 [&] { return from_array(to, pitch, array, {x, y}, {width, height, 1}, kind); });
}
int hipMemcpy2DFromArrayAsync(void* to, size_t pitch, const void* array, size_t x, size_t y, size_t width,
                              size_t height, int kind, void* stream) {
    return entry("hipMemcpy2DFromArrayAsync",
                 [&] { return from_array(to, pitch, array, {x, y}, {width, height, 1}, kind, true, stream); });
}
int hipMemcpyToArray(void* array, size_t x, size_t y, const void* from, size_t bytes, int kind) {
    return entry("hipMemcpyToArray", [&] {
        const Extent extent = rows_of(array, bytes);
        return array ? to_array(array, {x, y}, from, extent.width, extent, kind) : hipErrorInvalidValue;
    });
}
int hipMemcpyFromArray(void* to, const void* array, size_t x, size_t y, size_t bytes, int kind) {
    return entry("hipMemcpyFromArray", [&] {
        const Extent extent = rows_of(array, bytes);
        return array ? from_array(to, extent.width, array, {x, y}, extent, kind) : hipErrorInvalidValue;
    });
}
int hipMemcpy2DArrayToArray(void* to, size_t to_x, size_t to_y, const void* from, size_t from_x, size_t from_y,
                            size_t width, size_t height, int kind) {
    return entry("hipMemcpy2DArrayToArray",
                 [&] { return between(to, {to_x, to_y}, from, {from_x, from_y}, {width, height, 1}, kind); });
}
int hipMemcpyAtoA(void* to, size_t to_x, void* from, size_t from_x, size_t bytes) {
    return entry("hipMemcpyAtoA", [&] {
        if (!array_at(to) || !array_at(from)) return hipErrorInvalidValue;
        return between(to, {to_x, 0}, from, {from_x, 0}, {bytes, 1, 1}, kDefaultKind);
    });
}
int hipMemcpyAtoH(void* to, void* array, size_t x, size_t bytes) {
    return entry("hipMemcpyAtoH", [&] { return part_from_array(to, array, x, bytes); });
}
int hipMemcpyAtoHAsync(void* to, void* array, size_t x, size_t bytes, void* stream) {
    return entry("hipMemcpyAtoHAsync", [&] { return part_from_array(to, array, x, bytes, true, stream); });
}
int hipMemcpyAtoD(void* to, void* array, size_t x, size_t bytes) {
    return entry("hipMemcpyAtoD", [&] { return part_from_array(to, array, x, bytes); });
}
int hipMemcpyHtoA(void* array, size_t x, const void* from, size_t bytes) {
    return entry("hipMemcpyHtoA", [&] { return part_to_array(array, x, from, bytes); });
}
int hipMemcpyHtoAAsync(void* array, size_t x, const void* from, size_t bytes, void* stream) {
    return entry("hipMemcpyHtoAAsync", [&] { return part_to_array(array, x, from, bytes, true, stream); });
}
int hipMemcpyDtoA(void* array, size_t x, void* from, size_t bytes) {
    return entry("hipMemcpyDtoA", [&] { return part_to_array(array, x, from, bytes); });
}
