#include "strata/asm/emu/launch/scratch.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "strata/asm/emu/machine/device_memory.h"

namespace strata::emu {
namespace {

constexpr size_t kRow = 128;
/// A wave's bytes from which the host's pages are given back instead of written: below, writing is quicker even where
/// they were not used.
constexpr size_t kByPages = size_t{1} << 19;

}  // namespace

Scratch::Scratch(size_t wave_bytes, uint32_t waves)
    : wave_bytes_(wave_bytes),
      stride_(wave_bytes >= kByPages
                  ? (wave_bytes + DeviceMemory::kPage - 1) / DeviceMemory::kPage * DeviceMemory::kPage
                  : wave_bytes),
      bytes_(stride_ * waves) {
    if (bytes_ == 0) return;
    if (stride_ < kByPages) {
        memory_ = static_cast<uint8_t*>(std::aligned_alloc(kRow, (bytes_ + kRow - 1) / kRow * kRow));
    } else {
        void* at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at != MAP_FAILED) memory_ = static_cast<uint8_t*>(at);
    }
    if (!memory_) throw std::bad_alloc();
}

Scratch::~Scratch() {
    if (memory_ && stride_ >= kByPages)
        munmap(memory_, bytes_);
    else
        std::free(memory_);
}

uint8_t* Scratch::cleared(uint32_t wave) {
    uint8_t* const place = memory_ + wave * stride_;
    if (stride_ >= kByPages)
        madvise(place, stride_, MADV_DONTNEED);
    else if (wave_bytes_)
        memset(place, 0, wave_bytes_);
    return place;
}

}  // namespace strata::emu
