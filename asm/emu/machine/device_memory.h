#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "strata/asm/emu/machine/free_ranges.h"
#include "strata/core/support/result.h"

namespace strata::emu {

/// One live or recently freed range of device memory.
struct Allocation {
    uint64_t low = 0, high = 0;  ///< half-open, exact
    std::string label = {};
    bool writable = true, live = true;
    uint64_t bias = 0;            ///< host address - device address; 0 for all but memory mapped by map()
    bool of_host = false;         ///< the host uses it, or gives it out, while kernels run
    bool closed = false;          ///< kernels may not use it
    bool read_by_launch = false;  ///< the launch that runs may not write it
    bool mapped = false;          ///< by map(): the host may take its pages away while a kernel runs
};

/// Device memory: a reserved range of host addresses, device address == host address. Blocks carry red zones, wide
/// ones those made in strict mode, freed blocks rest in quarantine before their addresses are used again. Pages of free
/// blocks go back to the host beyond settings().emu_pool_mb. Not thread-safe; the Gpu locks.
class DeviceMemory {
  public:
    static constexpr size_t kAlign = 256, kPage = 4096;  ///< as hipMalloc; of the host

    explicit DeviceMemory(uint64_t capacity);
    ~DeviceMemory();
    DeviceMemory(const DeviceMemory&) = delete;

    /// `align`: a power of two; the block has the last part of such size to itself.
    Result<uint64_t> allocate(size_t bytes, std::string_view label, size_t align = kAlign);
    Result<void> free(uint64_t address);
    size_t allocated() const { return allocated_; }
    /// Bytes that are not allocated and may have pages of the host: blocks in quarantine, and free ones. Any thread may
    /// ask.
    size_t pooled() const { return pooled_.load(std::memory_order_relaxed); }

    /// A block whose parts are entered by add(): segments of a code object.
    Result<uint64_t> reserve(size_t bytes);
    void add(Allocation part);
    void remove(uint64_t low);    ///< takes one part out of the table
    void release(uint64_t base);  ///< gives a reserved block back, with its parts

    /// The live allocation that holds [address, address + bytes), or nullptr.
    const Allocation* find(uint64_t address, size_t bytes) const;
    /// Where an address lies relative to the nearest allocation, for messages.
    std::string describe(uint64_t address, size_t bytes) const;

    bool overlaps(uint64_t address, uint64_t bytes) const;
    /// Memory owned by the host that the device may use as it is.
    void map(uint64_t address, void* host, uint64_t bytes, std::string label);
    /// True if exactly this range is mapped.
    bool is_mapped(uint64_t address, uint64_t bytes) const;
    /// Sets what kernels may do from now on with the memory that starts at `address`.
    void permit(uint64_t address, bool readable, bool writable);
    /// The launch that runs, or from now on none, may only read an allocation that starts there.
    void read_by_launch(uint64_t address, bool read);

  private:
    struct Block {
        uint64_t base = 0;
        size_t bytes = 0;       ///< of the block with its red zones
        bool reserved = false;  ///< by reserve()
    };
    Result<uint64_t> take(const FreeRanges::Request& request);
    void give(Block block);
    void rest(uint64_t address);
    Result<void> commit(uint64_t end);

    uint64_t base_ = 0, top_ = 0, committed_ = 0, end_ = 0;
    uint64_t capacity_ = 0;
    size_t allocated_ = 0;
    std::map<uint64_t, Allocation> table_;  ///< by low
    std::map<uint64_t, Block> blocks_;      ///< by the address that was handed out
    FreeRanges free_;
    std::deque<Block> quarantine_;
    size_t quarantined_ = 0;
    std::atomic<size_t> pooled_{0};
};

}  // namespace strata::emu
