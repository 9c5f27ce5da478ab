#include "strata/asm/emu/services/heap.h"

#include <cstring>

namespace strata::emu {
namespace {

constexpr uint64_t kPage = 4096, kSlab = 2u << 20;  // of the device library: an address tells a slab's block from pages
constexpr uint64_t kGranule = 16, kMostSmall = 3072;  // above it, the library too asks the host
constexpr uint64_t kNotes = 128u << 10;

uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

}  // namespace

Result<void> DeviceHeap::place() {
    STRATA_TRY(notes_, memory_.reserve(kNotes));
    memset(reinterpret_cast<void*>(notes_), 0, kNotes);
    memory_.add({.low = notes_, .high = notes_ + kNotes, .label = "notes of the device heap", .of_host = true});
    STRATA_TRY(range_, memory_.reserve(bytes_ + kSlab));
    free_.add(round_up(range_, kSlab), bytes_, 0);
    return {};
}

DeviceHeap::~DeviceHeap() {
    if (notes_) memory_.release(notes_);
    if (range_) memory_.release(range_);
}

uint64_t DeviceHeap::allocate(uint64_t bytes) {
    if (bytes == 0 || bytes > bytes_) return 0;
    const uint64_t granule = bytes > kMostSmall ? kPage : kGranule, taken = round_up(bytes, granule);
    const auto at = free_.take({taken, 0, bytes % kSlab == 0 ? kSlab : granule});
    if (!at) return 0;
    used_[*at] = taken;
    memset(reinterpret_cast<void*>(*at), 0, bytes);
    memory_.add(
        {.low = *at, .high = *at + bytes, .label = bytes == kSlab ? "device heap" : "device malloc", .of_host = true});
    return *at;
}

bool DeviceHeap::free(uint64_t address) {
    const auto block = used_.find(address);
    if (block == used_.end()) return false;
    free_.add(address, block->second, block->second);
    used_.erase(block);
    memory_.remove(address);
    return true;
}

}  // namespace strata::emu
