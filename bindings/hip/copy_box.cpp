#include "strata/bindings/hip/copy_p.h"
#include "strata/bindings/hip/exports_p.h"

namespace strata::hip::library {
namespace {

struct Position {
    size_t x, y, z;
};
/// hipMemcpy3DParms.
struct BoxParameters {
    void* from_array;
    Position from_at;
    PitchedPointer from;
    void* to_array;
    Position to_at;
    PitchedPointer to;
    Extent extent;
    int kind;
};
/// hip_Memcpy2D, and of its hipMemoryType only which memory an array would be.
struct RowsParameters {
    size_t from_x, from_y;
    int from_type;
    const void* from_host;
    void *from_device, *from_array;
    size_t from_pitch, to_x, to_y;
    int to_type;
    void *to_host, *to_device, *to_array;
    size_t to_pitch, width, height;
};

/// A copy that has not been done.
struct Box {
    void* to = nullptr;
    const void* from = nullptr;
    Rows rows = {};
    int kind = kDefaultKind;
};

Code check(const Box& box) {
    const Rows& rows = box.rows;
    if (rows.width == 0 || rows.height == 0 || rows.depth == 0) return hipSuccess;
    if (rows.width > rows.to_pitch || rows.width > rows.from_pitch) return hipErrorInvalidPitchValue;
    return check_copy(box.to, box.from, rows.width, box.kind);
}

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

char* in(const PitchedPointer& of, const Position& at) {
    return static_cast<char*>(of.memory) + at.x + (at.z * of.height + at.y) * of.pitch;
}

Code of_3d(const void* parameters, Box& out) {
    if (!parameters) return hipErrorInvalidValue;
    const auto& p = *static_cast<const BoxParameters*>(parameters);
    if (p.from_array || p.to_array) return hipErrorNotSupported;
    if (!p.from.memory || !p.to.memory) return hipErrorInvalidValue;
    const Extent& e = p.extent;
    out = {
        in(p.to, p.to_at),
        in(p.from, p.from_at),
        {e.width, e.height, e.depth, p.to.pitch, p.from.pitch, p.to.pitch * p.to.height, p.from.pitch * p.from.height},
        p.kind};
    return hipSuccess;
}

Code of_parameters(const void* parameters, Box& out) {
    if (!parameters) return hipErrorInvalidValue;
    const auto& p = *static_cast<const RowsParameters*>(parameters);
    if (p.from_array || p.to_array) return hipErrorNotSupported;
    const void* const from = p.from_device ? p.from_device : p.from_host;
    void* const to = p.to_device ? p.to_device : p.to_host;
    if (!from || !to) return hipErrorInvalidValue;
    const size_t from_pitch = p.from_pitch ? p.from_pitch : p.width, to_pitch = p.to_pitch ? p.to_pitch : p.width;
    out = of_2d(static_cast<char*>(to) + p.to_y * to_pitch + p.to_x, to_pitch,
                static_cast<const char*>(from) + p.from_y * from_pitch + p.from_x, from_pitch, p.width, p.height,
                kDefaultKind);
    return hipSuccess;
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
    return entry("hipMemcpy2DAsync",
                 [&] { return do_later(of_2d(to, to_pitch, from, from_pitch, width, height, kind), stream); });
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
    return entry("hipMemcpy3D", [&] { return with(parameters, of_3d, [](const Box& box) { return do_now(box); }); });
}
int hipMemcpy3DAsync(const void* parameters, void* stream) {
    return entry("hipMemcpy3DAsync",
                 [&] { return with(parameters, of_3d, [&](const Box& box) { return do_later(box, stream); }); });
}
