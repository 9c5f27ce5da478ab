#include <algorithm>

#include "strata/hip/api/exports.h"
#include "strata/hip/memory/array.h"

namespace strata::hip::library {

Code check(const Box& box) {
    const Rows& rows = box.rows;
    if (rows.width == 0 || rows.height == 0 || rows.depth == 0) return hipSuccess;
    if (rows.width > rows.to_pitch || rows.width > rows.from_pitch) return hipErrorInvalidPitchValue;
    return check_copy(box.to, box.from, rows.width, box.kind);
}

Code box_of(const void* parameters, Box& out) {
    if (!parameters) return hipErrorInvalidValue;
    const auto& p = *static_cast<const BoxParameters*>(parameters);
    const OwnArray *const to = array_at(p.to_array), *const from = array_at(p.from_array);
    if ((p.to_array && (!to || p.to.memory)) || (p.from_array && (!from || p.from.memory))) return hipErrorInvalidValue;
    if (to && from && to->element_bytes() != from->element_bytes()) return hipErrorInvalidValue;
    // In elements where it is of an array; the extent as soon as one side is.
    const auto side = [](const PitchedPointer& memory, const Position& at, const OwnArray* array) {
        const size_t bytes = array ? array->element_bytes() : 1;
        return CopySide{memory.memory, memory.pitch, memory.pitch * memory.height, {at.x * bytes, at.y, at.z}, array};
    };
    const size_t bytes = to ? to->element_bytes() : from ? from->element_bytes() : 1;
    if (std::max({p.extent.width, p.to_at.x, p.from_at.x}) > SIZE_MAX / bytes) return hipErrorInvalidValue;
    const Extent extent = {p.extent.width * bytes, p.extent.height, p.extent.depth};
    const Code code = box_between(side(p.to, p.to_at, to), side(p.from, p.from_at, from), extent, p.kind, out);
    if (to || from) out.given = p;
    return code;
}

void write_box(const Box& box, void* parameters) {
    auto& out = *static_cast<BoxParameters*>(parameters);
    if (box.given) {
        out = *box.given;
        return;
    }
    const Rows& r = box.rows;
    const auto pitched = [&](const void* memory, size_t pitch, size_t slice) {
        return PitchedPointer{const_cast<void*>(memory), pitch, r.width, pitch ? slice / pitch : 0};
    };
    out = {nullptr,
           {0, 0, 0},
           pitched(box.from, r.from_pitch, r.from_slice),
           nullptr,
           {0, 0, 0},
           pitched(box.to, r.to_pitch, r.to_slice),
           {r.width, r.height, r.depth},
           box.kind};
}

namespace {

Code do_now(const Box& box, void* stream = nullptr) {
    const Code code = check(box);
    if (code != hipSuccess) return code;
    return and_wait(stream, [=](Stream& own) { return copy_rows(own, box.to, box.from, box.rows); });
}
Code do_later(const Box& box, void* stream) {
    const Code code = check(box);
    if (code != hipSuccess) return code;
    return on_stream(stream, NodeType::copy, [=](Stream& own) { return copy_rows(own, box.to, box.from, box.rows); });
}

Box of_2d(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, int kind) {
    return {to, from, {width, height, 1, to_pitch, from_pitch}, kind};
}

/// A side of a driver's copy, by its hipMemoryType: memory of the host, or that of the device which any other names, or
/// an array.
struct DriverSide {
    int type;
    const void *host, *device, *array;
    size_t pitch, height;
    Position at;
};
Code side_of(const DriverSide& is, size_t width, CopySide& out) {
    const bool is_new = major_version() >= 6;
    const int host = is_new ? 1 : 0, array = is_new ? 10 : 2;
    const size_t pitch = is.pitch ? is.pitch : is.at.x + width;
    out = {is.type == host ? is.host : is.device, pitch, pitch * is.height, is.at};
    if (is.type != array) return hipSuccess;
    out.array = array_at(is.array);
    return out.array ? hipSuccess : hipErrorInvalidValue;
}
Code box_of_driver(const DriverSide& to, const DriverSide& from, const Extent& bytes, Box& out) {
    CopySide there, here;
    Code code = side_of(to, bytes.width, there);
    if (code == hipSuccess) code = side_of(from, bytes.width, here);
    return code == hipSuccess ? box_between(there, here, bytes, kDefaultKind, out) : code;
}

Code of_parameters(const void* parameters, Box& out) {
    if (!parameters) return hipErrorInvalidValue;
    const auto& p = *static_cast<const RowsParameters*>(parameters);
    return box_of_driver(
        {p.to_type, p.to_host, p.to_device, p.to_array, p.to_pitch, 0, {p.to_x, p.to_y, 0}},
        {p.from_type, p.from_host, p.from_device, p.from_array, p.from_pitch, 0, {p.from_x, p.from_y, 0}},
        {p.width, p.height, 1}, out);
}

template <class Size>
Code of_sized_box(const void* parameters, Box& out) {
    const auto& p = *static_cast<const DriverBoxParameters<Size>*>(parameters);
    return box_of_driver(
        {p.to_type, p.to_host, p.to_device, p.to_array, p.to_pitch, p.to_height, {p.to_x, p.to_y, p.to_z}},
        {p.from_type,
         p.from_host,
         p.from_device,
         p.from_array,
         p.from_pitch,
         p.from_height,
         {p.from_x, p.from_y, p.from_z}},
        {p.width, p.height, p.depth}, out);
}
Code of_driver_box(const void* parameters, Box& out) {
    if (!parameters) return hipErrorInvalidValue;
    return major_version() >= 6 ? of_sized_box<size_t>(parameters, out) : of_sized_box<unsigned>(parameters, out);
}

template <class Read, class Do>
Code with(const void* parameters, Read&& read, Do&& act) {
    Box box;
    const Code code = read(parameters, box);
    return code == hipSuccess ? act(box) : code;
}

}  // namespace
}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, int kind) {
    return entry("hipMemcpy2D", [&] { return do_now(of_2d(to, to_pitch, from, from_pitch, width, height, kind)); });
}
int hipMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                     int kind, void* stream) {
    return entry("hipMemcpy2DAsync", [&] {
        if (!stream_of(stream)) return hipErrorInvalidValue;
        return do_later(of_2d(to, to_pitch, from, from_pitch, width, height, kind), stream);
    });
}
int hipMemcpyParam2D(const void* parameters) {
    return entry("hipMemcpyParam2D",
                 [&] { return with(parameters, of_parameters, [](const Box& box) { return do_now(box); }); });
}
int hipMemcpyParam2DAsync(const void* parameters, void* stream) {
    return entry("hipMemcpyParam2DAsync", [&] {
        return with(parameters, of_parameters, [&](const Box& box) { return do_later(box, stream); });
    });
}
int hipMemcpy3D(const void* parameters) {
    return entry("hipMemcpy3D", [&] { return with(parameters, box_of, [](const Box& box) { return do_now(box); }); });
}
int hipMemcpy3DAsync(const void* parameters, void* stream) {
    return entry("hipMemcpy3DAsync",
                 [&] { return with(parameters, box_of, [&](const Box& box) { return do_later(box, stream); }); });
}
int hipDrvMemcpy3D(const void* parameters) {
    return entry("hipDrvMemcpy3D",
                 [&] { return with(parameters, of_driver_box, [](const Box& box) { return do_now(box); }); });
}
int hipDrvMemcpy3DAsync(const void* parameters, void* stream) {
    return entry("hipDrvMemcpy3DAsync", [&] {
        return with(parameters, of_driver_box, [&](const Box& box) { return do_later(box, stream); });
    });
}
int hipDrvMemcpy2DUnaligned(const void* parameters) {
    return entry("hipDrvMemcpy2DUnaligned",
                 [&] { return with(parameters, of_parameters, [](const Box& box) { return do_now(box); }); });
}
