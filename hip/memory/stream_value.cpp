// Streams that write values to memory, and wait for what others write there.
#include <fmt/format.h>

#include <atomic>

#include "strata/hip/api/exports.h"
#include "strata/hip/memory/blocks.h"
#include "strata/hip/stream/stream_waits.h"

namespace strata::hip::library {
namespace {

/// hipStreamWaitValueGte, ...Eq, ...And, ...Nor: of the bits that the mask lets through.
enum Comparison : unsigned { at_least, equal, common_bits, missing_bits };
constexpr const char* kTexts[] = {"are at least", "are", "have one bit of", "lack one bit beside those of"};

template <class T>
bool holds(T there, T value, unsigned comparison, T mask) {
    switch (comparison) {
        case at_least: return (there & mask) >= value;
        case equal: return (there & mask) == value;
        case common_bits: return (there & mask & value) != 0;
        default: return (~(there | value) & mask) != 0;
    }
}

/// True if a value of T lies in memory that devices use, and which the host may read or write too.
template <class T>
bool may_hold(const void* memory, bool writes) {
    const std::optional<Block> block = block_of(memory);
    return block && address(memory) % sizeof(T) == 0 && check_span(*block, memory, sizeof(T), writes) == hipSuccess;
}

template <class T>
T look(const void* memory) {
    return std::atomic_ref(*static_cast<T*>(const_cast<void*>(memory))).load(std::memory_order_acquire);
}

template <class T>
Code wait_for_value(void* handle, void* memory, T value, unsigned comparison, T mask) {
    if (!memory || comparison > missing_bits) return hipErrorInvalidValue;
    const std::shared_ptr<Stream> stream = stream_of(handle);
    if (!stream) return hipErrorContextIsDestroyed;
    if (!may_hold<T>(memory, false)) return hipErrorInvalidValue;
    if (stream->records) {
        invalidate(*stream);
        return hipErrorStreamCaptureUnsupported;
    }
    // Memory that is gone by then holds up nothing: it is an error of the stream.
    const auto ready = [=] { return !may_hold<T>(memory, false) || holds(look<T>(memory), value, comparison, mask); };
    const auto text = [=] {
        return fmt::format("until the {} bits at {} & {:#x} {} {:#x} (there is {:#x})", 8 * sizeof(T), memory, mask,
                           kTexts[comparison], value, look<T>(memory));
    };
    hold(*stream, {ready, text, memory},
         [=](Stream&) { return may_hold<T>(memory, false) ? hipSuccess : hipErrorInvalidValue; });
    return hipSuccess;
}

template <class T>
Code write_value(void* handle, void* memory, T value) {
    if (!memory) return hipErrorInvalidValue;
    if (!stream_of(handle)) return hipErrorContextIsDestroyed;
    if (!may_hold<T>(memory, true)) return hipErrorInvalidValue;
    return on_stream(handle, NodeType::fill, [=](Stream&) {
        if (!may_hold<T>(memory, true)) return hipErrorInvalidValue;  // no more: a graph's, or one that was held up
        std::atomic_ref(*static_cast<T*>(memory)).store(value, std::memory_order_release);
        return hipSuccess;
    });
}

}  // namespace
}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipStreamWaitValue32(void* stream, void* memory, uint32_t value, unsigned comparison, uint32_t mask) {
    return entry("hipStreamWaitValue32", [&] { return wait_for_value(stream, memory, value, comparison, mask); });
}
int hipStreamWaitValue64(void* stream, void* memory, uint64_t value, unsigned comparison, uint64_t mask) {
    return entry("hipStreamWaitValue64", [&] { return wait_for_value(stream, memory, value, comparison, mask); });
}
// Flags are reserved, and not looked at.
int hipStreamWriteValue32(void* stream, void* memory, uint32_t value, unsigned) {
    return entry("hipStreamWriteValue32", [&] { return write_value(stream, memory, value); });
}
int hipStreamWriteValue64(void* stream, void* memory, uint64_t value, unsigned) {
    return entry("hipStreamWriteValue64", [&] { return write_value(stream, memory, value); });
}
