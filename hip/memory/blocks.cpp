#include "strata/hip/memory/blocks.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "strata/core/support/mutex.h"
#include "strata/hip/memory/graph_memory.h"
#include "strata/hip/memory/virtual_memory.h"
#include "strata/providers/emulated.h"

namespace strata::hip::library {
namespace {

struct Span {
    DevicePtr low = ~DevicePtr{0}, high = 0;
};

struct Blocks {
    Mutex mutex;
    std::map<DevicePtr, Block> all;
    std::map<int, size_t> used;
    std::map<int, Span> spans;  ///< of all that a device ever gave
};
Blocks& blocks() {
    static auto* all = new Blocks;
    return *all;
}

bool allocated(const Block& block) { return block.of_emulator() && block.kind != MemoryKind::variable; }

}  // namespace

void note(const Block& block) {
    Blocks& own = blocks();
    std::lock_guard lock(own.mutex);
    own.all[block.start] = block;
    if (allocated(block)) own.used[block.device] += block.bytes;
    if (!block.of_emulator()) return;
    Span& span = own.spans[block.device];
    span = {std::min(span.low, block.start), std::max(span.high, block.start + block.bytes)};
}

std::optional<Block> take_note(DevicePtr start) {
    Blocks& own = blocks();
    std::lock_guard lock(own.mutex);
    const auto found = own.all.find(start);
    if (found == own.all.end()) return {};
    const Block block = found->second;
    if (allocated(block)) own.used[block.device] -= block.bytes;
    own.all.erase(found);
    return block;
}

std::optional<Block> block_of(const void* memory) {
    Blocks& own = blocks();
    std::lock_guard lock(own.mutex);
    const auto after = own.all.upper_bound(address(memory));
    if (after == own.all.begin()) return {};
    const Block& block = std::prev(after)->second;
    return address(memory) - block.start < block.bytes ? std::optional(block) : std::nullopt;
}

bool belongs_to_device(const void* memory) {
    if (is_reserved(memory)) return true;
    Blocks& own = blocks();
    std::lock_guard lock(own.mutex);
    for (const auto& [device, span] : own.spans)
        if (address(memory) >= span.low && address(memory) < span.high) return true;
    return false;
}

bool overlaps_block(const void* memory, size_t bytes) {
    Blocks& own = blocks();
    std::lock_guard lock(own.mutex);
    const auto next = own.all.lower_bound(address(memory) + bytes);
    return next != own.all.begin() && std::prev(next)->second.start + std::prev(next)->second.bytes > address(memory);
}

size_t free_bytes(int device) {
    const size_t all = query(device).memory_bytes;
    Blocks& own = blocks();
    std::lock_guard lock(own.mutex);
    return all - std::min(all, own.used[device]);
}

void count_used(int device, int64_t bytes) {
    Blocks& own = blocks();
    std::lock_guard lock(own.mutex);
    own.used[device] += static_cast<size_t>(bytes);
}

Code check_span(const Block& block, const void* from, size_t bytes, bool writes) {
    if (block.kind == MemoryKind::mapped) return check_mapped(from, bytes, writes);
    return bytes > block.bytes_from(address(from)) ? hipErrorInvalidValue : hipSuccess;
}

std::vector<Block> blocks_of(int device) {
    Blocks& own = blocks();
    std::lock_guard lock(own.mutex);
    std::vector<Block> out;
    for (const auto& [start, block] : own.all)
        if (block.device == device && allocated(block)) out.push_back(block);
    return out;
}

Code allocate(int device, size_t bytes, MemoryKind kind, unsigned flags, void** out, void* pool) {
    if (!out) return hipErrorInvalidValue;
    *out = nullptr;
    if (bytes == 0) return hipSuccess;
    if (bytes > free_bytes(device)) return hipErrorOutOfMemory;
    DevicePtr at = 0;
    const bool may_be_shared = kind == MemoryKind::device;
    const Code code = give(may_be_shared ? allocate_pages(device, bytes) : emulator().malloc(device, bytes), &at,
                           hipErrorOutOfMemory);
    if (code != hipSuccess) return code;
    const Block block{at, bytes, device, kind, flags, pool};
    note(block);
    show_to_peers(block);
    *out = reinterpret_cast<void*>(at);
    return hipSuccess;
}

Code release(void* memory) {
    if (const std::optional<Code> code = free_graph_memory(memory)) return *code;
    const std::optional<Block> known = block_of(memory);
    if (!known || !allocated(*known) || known->start != address(memory)) return hipErrorInvalidValue;
    const std::optional<Block> block = take_note(known->start);
    if (!block) return hipErrorInvalidValue;  // another thread was first
    hide_from_peers(*block);
    count_returned(*block);
    return code_of(emulator().free(block->device, block->start), hipErrorInvalidValue);
}

}  // namespace strata::hip::library
