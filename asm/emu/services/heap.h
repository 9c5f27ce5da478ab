#pragma once
#include <cstdint>
#include <unordered_map>

#include "strata/asm/emu/machine/device_memory.h"

namespace strata::emu {

/// The memory that malloc() in kernels gives out: blocks of one range. The device library takes slabs of 2 MiB, which
/// it divides into small blocks, and whole pages for large ones. Its notes about the slabs live here too, from launch
/// to launch. Code without that library (codegen/toolchain/clang/device_libs_overrides.c) asks for small blocks too.
class DeviceHeap {
  public:
    DeviceHeap(DeviceMemory& memory, uint64_t bytes) : memory_(memory), bytes_(bytes) {}
    ~DeviceHeap();
    DeviceHeap(const DeviceHeap&) = delete;

    /// Reserves the range; before the first use.
    Result<void> place();
    uint64_t bytes() const { return bytes_; }
    /// The address of the device library's notes: the argument hidden_heap_v1.
    uint64_t notes() const { return notes_; }
    /// 0: there is no room.
    uint64_t allocate(uint64_t bytes);
    /// False: no address that allocate() gave.
    bool free(uint64_t address);

  private:
    DeviceMemory& memory_;
    uint64_t bytes_ = 0, notes_ = 0, range_ = 0;
    FreeRanges free_;
    std::unordered_map<uint64_t, uint64_t> used_;  ///< address -> bytes taken
};

}  // namespace strata::emu
