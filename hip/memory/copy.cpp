#include "strata/hip/memory/copy.h"

#include "strata/core/support/guarded.h"
#include "strata/hip/api/exports.h"
#include "strata/hip/memory/blocks.h"

namespace strata::hip::library {
namespace {

/// One side of a copy.
struct Side {
    std::optional<Block> block;  ///< none: the program's own memory
    bool on_device() const { return block && block->of_emulator(); }
};

/// Error: hipErrorInvalidValue for memory of a device that is not, or no longer, in use, or that ends before the copy
/// does. Missing memory of the program itself is found when it is copied.
Code look_at(const void* memory, const std::optional<size_t>& bytes, bool writes, Side& out) {
    if (!bytes) return hipErrorInvalidValue;
    out.block = block_of(memory);
    if (!out.block) return belongs_to_device(memory) ? hipErrorInvalidValue : hipSuccess;
    return check_span(*out.block, memory, *bytes, writes);
}

Code copy_row(const Side& there, const Side& here, void* to, const void* from, size_t bytes) {
    if (there.on_device() && here.on_device() && there.block->device == here.block->device)
        return code_of(emulator().memcpy_on_device(there.block->device, address(to), address(from), bytes),
                       hipErrorInvalidValue);
    if (there.on_device())
        return code_of(emulator().memcpy_to_device(there.block->device, address(to), from, bytes),
                       hipErrorInvalidValue);
    if (here.on_device())
        return code_of(emulator().memcpy_to_host(here.block->device, to, address(from), bytes), hipErrorInvalidValue);
    return copy_guarded(to, from, bytes) ? hipSuccess : hipErrorInvalidValue;
}

/// A kernel copies within a device.
bool is_within_device(const std::optional<Block>& to, const std::optional<Block>& from) {
    return to && from && !to->of_host() && !from->of_host() && to->device == from->device;
}

void spend_copy(Stream& stream, const Side& to, const Side& from, const Rows& rows) {
    const size_t bytes = rows.width * rows.height * rows.depth;
    if (is_within_device(to.block, from.block))
        return spend_launch(stream, time_within_device(to.block->device, 2 * bytes));
    spend(stream, time_over_link(stream.device, bytes, !to.block || !from.block));
}

}  // namespace

std::optional<size_t> span_of(const Rows& rows, size_t pitch, size_t slice) {
    size_t slices = 0, lines = 0, out = 0;
    const bool too_many = __builtin_mul_overflow(rows.depth - 1, slice, &slices) ||
                          __builtin_mul_overflow(rows.height - 1, pitch, &lines) ||
                          __builtin_add_overflow(slices, lines, &out) || __builtin_add_overflow(out, rows.width, &out);
    return too_many ? std::nullopt : std::optional(out);
}

Code check_copy(const void* to, const void* from, size_t bytes, int kind) {
    if ((kind < kHostToHost || kind > kDefaultKind) && kind != kWithoutUnits) return hipErrorInvalidMemcpyDirection;
    return bytes && (!to || !from) ? hipErrorInvalidValue : hipSuccess;
}

Code check_spans(const Box& box) {
    const Rows& rows = box.rows;
    Side side;
    const Code code = look_at(box.to, span_of(rows, rows.to_pitch, rows.to_slice), true, side);
    return code == hipSuccess ? look_at(box.from, span_of(rows, rows.from_pitch, rows.from_slice), false, side) : code;
}

Code copy_rows(Stream& stream, void* to, const void* from, const Rows& rows) {
    if (rows.width == 0 || rows.height == 0 || rows.depth == 0) return hipSuccess;
    Side there, here;
    Code code = look_at(to, span_of(rows, rows.to_pitch, rows.to_slice), true, there);
    if (code == hipSuccess) code = look_at(from, span_of(rows, rows.from_pitch, rows.from_slice), false, here);
    for (size_t z = 0; z < rows.depth && code == hipSuccess; ++z)
        for (size_t y = 0; y < rows.height && code == hipSuccess; ++y)
            code = copy_row(there, here, static_cast<char*>(to) + z * rows.to_slice + y * rows.to_pitch,
                            static_cast<const char*>(from) + z * rows.from_slice + y * rows.from_pitch, rows.width);
    if (code == hipSuccess) spend_copy(stream, there, here, rows);
    return code;
}

namespace {

Code copy_now(void* to, const void* from, size_t bytes, int kind, void* stream = nullptr) {
    const Code code = check_copy(to, from, bytes, kind);
    if (code != hipSuccess) return code;
    const HostClock host = is_within_device(block_of(to), block_of(from)) ? HostClock::goes_on : HostClock::waits;
    return and_wait(stream, [=](Stream& own) { return copy(own, to, from, bytes); }, host);
}

Code copy_later(void* to, const void* from, size_t bytes, int kind, void* stream) {
    const Code code = check_copy(to, from, bytes, kind);
    if (code != hipSuccess) return code;
    return on_stream(stream, NodeType::copy, [=](Stream& own) { return copy(own, to, from, bytes); });
}

}  // namespace
}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipMemcpy(void* to, const void* from, size_t bytes, int kind) {
    return entry("hipMemcpy", [&] { return copy_now(to, from, bytes, kind); });
}
int hipMemcpyAsync(void* to, const void* from, size_t bytes, int kind, void* stream) {
    return entry("hipMemcpyAsync", [&] { return copy_later(to, from, bytes, kind, stream); });
}
int hipMemcpyWithStream(void* to, const void* from, size_t bytes, int kind, void* stream) {
    return entry("hipMemcpyWithStream", [&] { return copy_now(to, from, bytes, kind, stream); });
}
int hipMemcpyHtoD(void* to, void* from, size_t bytes) {
    return entry("hipMemcpyHtoD", [&] { return copy_now(to, from, bytes, kDefaultKind); });
}
int hipMemcpyDtoH(void* to, void* from, size_t bytes) {
    return entry("hipMemcpyDtoH", [&] { return copy_now(to, from, bytes, kDefaultKind); });
}
int hipMemcpyDtoD(void* to, void* from, size_t bytes) {
    return entry("hipMemcpyDtoD", [&] { return copy_now(to, from, bytes, kDefaultKind); });
}
int hipMemcpyHtoDAsync(void* to, void* from, size_t bytes, void* stream) {
    return entry("hipMemcpyHtoDAsync", [&] { return copy_later(to, from, bytes, kDefaultKind, stream); });
}
int hipMemcpyDtoHAsync(void* to, void* from, size_t bytes, void* stream) {
    return entry("hipMemcpyDtoHAsync", [&] { return copy_later(to, from, bytes, kDefaultKind, stream); });
}
int hipMemcpyDtoDAsync(void* to, void* from, size_t bytes, void* stream) {
    return entry("hipMemcpyDtoDAsync", [&] { return copy_later(to, from, bytes, kDefaultKind, stream); });
}
