#include "strata/asm/emu/services/heap.h"

#include <cstring>

namespace strata::emu {
namespace {

constexpr uint64_t kPage = 4096, kSlab = 2u << 20;  // of the device library: an address tells a slab's block from pages
constexpr uint64_t kNotes = 128u << 10;

uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

}  // namespace

Result<void> DeviceHeap::place() {
    STRATA_TRY(notes_, memory_.reserve(kNotes));
    memset(reinterpret_cast<void*>(notes_), 0, kNotes);
    memory_.add({notes_, notes_ + kNotes, "notes of the device heap"});
    STRATA_TRY(range_, memory_.reserve(bytes_ + kSlab));
    base_ = round_up(range_, kSlab);
    return {};
}

DeviceHeap::~DeviceHeap() {
    if (notes_) memory_.release(notes_);
    if (range_) memory_.release(range_);
}

uint64_t DeviceHeap::allocate(uint64_t bytes) {
    if (bytes == 0 || bytes > bytes_) return 0;
    const uint64_t align = bytes % kSlab == 0 ? kSlab : kPage;
    uint64_t at = base_;
    for (const auto& [address, end] : used_) {
        if (address - at >= bytes && at <= address) break;
        at = round_up(end, align);
    }
    if (at - base_ > bytes_ - bytes) return 0;
    used_[at] = round_up(at + bytes, kPage);
    memset(reinterpret_cast<void*>(at), 0, bytes);
    memory_.add({at, at + bytes, bytes == kSlab ? "device heap" : "device malloc"});
    return at;
}

bool DeviceHeap::free(uint64_t address) {
    if (used_.erase(address) == 0) return false;
    memory_.remove(address);
    return true;
}

}  // namespace strata::emu
