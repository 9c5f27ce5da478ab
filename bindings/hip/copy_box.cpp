#include "strata/bindings/hip/copy_p.h"
#include "strata/bindings/hip/exports_p.h"

namespace strata::hip::library {
namespace {

char* in(const PitchedPointer& of, const Position& at) {
    return static_cast<char*>(of.memory) + at.x + (at.z * of.height + at.y) * of.pitch;
}

}  // namespace

Code check(const Box& box) {
    const Rows& rows = box.rows;
    if (rows.width == 0 || rows.height == 0 || rows.depth == 0) return hipSuccess;
    if (rows.width > rows.to_pitch || rows.width > rows.from_pitch) return hipErrorInvalidPitchValue;
    return check_copy(box.to, box.from, rows.width, box.kind);
}

Code box_of(const void* parameters, Box& out) {
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

void write_box(const Box& box, void* parameters) {
    const Rows& r = box.rows;
    const auto pitched = [&](const void* memory, size_t pitch, size_t slice) {
        return PitchedPointer{const_cast<void*>(memory), pitch, r.width, pitch ? slice / pitch : 0};
    };
    *static_cast<BoxParameters*>(parameters) = {nullptr,
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

Code of_parameters(const void* parameters, Box& out) {
    if (!parameters) return hipErrorInvalidValue;
    const auto& p = *static_cast<const RowsParameters*>(parameters);
    if (p.from_array || p.to_array) return hipErrorNotSupported;
    const int host = major_version() >= 6 ? 1 : 0;
    const void* const from = p.from_type == host ? p.from_host : p.from_device;
    void* const to = p.to_type == host ? p.to_host : p.to_device;
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
    return entry("hipMemcpy3D", [&] { return with(parameters, box_of, [](const Box& box) { return do_now(box); }); });
}
int hipMemcpy3DAsync(const void* parameters, void* stream) {
    return entry("hipMemcpy3DAsync",
                 [&] { return with(parameters, box_of, [&](const Box& box) { return do_later(box, stream); }); });
}
