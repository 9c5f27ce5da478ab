#include <algorithm>

#include "strata/core/support/guarded.h"
#include "strata/hip/api/exports.h"
#include "strata/hip/memory/blocks.h"
#include "strata/hip/memory/copy.h"
#include "strata/hip/memory/fill.h"

namespace strata::hip::library {
namespace {

Code fill_row(const Block& block, char* to, const Pattern& p) {
    if (p.element == 1 && block.of_emulator())
        return code_of(emulator().memset(block.device, address(to), static_cast<int>(p.value), p.width()),
                       hipErrorInvalidValue);
    return fill_guarded(to, &p.value, p.element, p.count) ? hipSuccess : hipErrorInvalidValue;
}

}  // namespace

Code fill(Stream& stream, const Pattern& p) {
    const std::optional<Block> block = block_of(p.to);
    const std::optional<size_t> span = span_of({p.width(), p.height, p.depth}, p.pitch, p.slice);
    if (!block || !span) return hipErrorInvalidValue;
    if (const Code code = check_span(*block, p.to, *span, true); code != hipSuccess) return code;
    for (size_t z = 0; z < p.depth; ++z)
        for (size_t y = 0; y < p.height; ++y)
            if (const Code code = fill_row(*block, static_cast<char*>(p.to) + z * p.slice + y * p.pitch, p);
                code != hipSuccess)
                return code;
    spend_launch(stream, time_within_device(stream.device, p.width() * p.height * p.depth));
    return hipSuccess;
}

namespace {

bool is_nothing(const Pattern& p) { return p.count == 0 || p.height == 0 || p.depth == 0; }
Code check(const Pattern& p) {
    return !p.to || p.count > SIZE_MAX / p.element || (p.height > 1 && p.width() > p.pitch) ? hipErrorInvalidValue
                                                                                            : hipSuccess;
}

Code now(const Pattern& p) {
    if (is_nothing(p)) return hipSuccess;
    if (const Code code = check(p); code != hipSuccess) return code;
    return and_wait(nullptr, [=](Stream& own) { return fill(own, p); }, HostClock::goes_on);
}
Code later(const Pattern& p, void* stream) {
    if (is_nothing(p)) return hipSuccess;
    if (const Code code = check(p); code != hipSuccess) return code;
    return on_stream(stream, NodeType::fill, [=](Stream& own) { return fill(own, p); });
}

Pattern bytes_of(void* to, int value, size_t count) { return {to, static_cast<uint8_t>(value), 1, count}; }
Pattern of_2d(void* to, size_t pitch, int value, size_t width, size_t height) {
    return {to, static_cast<uint8_t>(value), 1, width, pitch, height};
}
Pattern of_3d(const PitchedPointer& to, int value, const Extent& e) {
    return {to.memory, static_cast<uint8_t>(value), 1, e.width, to.pitch, e.height, to.pitch * to.height, e.depth};
}

}  // namespace
}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipMemset(void* to, int value, size_t bytes) {
    return entry("hipMemset", [&] { return now(bytes_of(to, value, bytes)); });
}
int hipMemsetAsync(void* to, int value, size_t bytes, void* stream) {
    return entry("hipMemsetAsync", [&] { return later(bytes_of(to, value, bytes), stream); });
}
int hipMemsetD8(void* to, unsigned char value, size_t count) {
    return entry("hipMemsetD8", [&] { return now(bytes_of(to, value, count)); });
}
int hipMemsetD8Async(void* to, unsigned char value, size_t count, void* stream) {
    return entry("hipMemsetD8Async", [&] { return later(bytes_of(to, value, count), stream); });
}
int hipMemsetD16(void* to, unsigned short value, size_t count) {
    return entry("hipMemsetD16", [&] { return now({to, value, 2, count}); });
}
int hipMemsetD16Async(void* to, unsigned short value, size_t count, void* stream) {
    return entry("hipMemsetD16Async", [&] { return later({to, value, 2, count}, stream); });
}
int hipMemsetD32(void* to, int value, size_t count) {
    return entry("hipMemsetD32", [&] { return now({to, static_cast<uint32_t>(value), 4, count}); });
}
int hipMemsetD32Async(void* to, int value, size_t count, void* stream) {
    return entry("hipMemsetD32Async", [&] { return later({to, static_cast<uint32_t>(value), 4, count}, stream); });
}
int hipMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
    return entry("hipMemset2D", [&] { return now(of_2d(to, pitch, value, width, height)); });
}
int hipMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height, void* stream) {
    return entry("hipMemset2DAsync", [&] { return later(of_2d(to, pitch, value, width, height), stream); });
}
int hipMemset3D(PitchedPointer to, int value, Extent extent) {
    return entry("hipMemset3D", [&] { return now(of_3d(to, value, extent)); });
}
int hipMemset3DAsync(PitchedPointer to, int value, Extent extent, void* stream) {
    return entry("hipMemset3DAsync", [&] { return later(of_3d(to, value, extent), stream); });
}
