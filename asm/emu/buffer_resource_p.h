#pragma once
#include <span>

#include "strata/asm/emu/memory_ops_p.h"

// Buffer descriptors (V#): where a lane's element lies and whether it is in range.
namespace strata::emu {

/// The 128 bits of a V#, decoded by generation.
struct BufferResource {
    BufferResource(const uint32_t* words, uint8_t flags);  ///< BufferFlag bits

    uint64_t base;
    uint32_t stride, records;
    uint32_t element = 0;  ///< bytes of a swizzle element; 0: linear
    uint32_t index_stride;
    uint8_t out_of_range;  ///< OOB_SELECT; GFX9 has none
    bool add_tid, gfx9;
    bool bound;       ///< to memory: nothing is in range otherwise
    uint8_t format;   ///< GFX11+: unified; GFX9: data format | number format << 4
    uint16_t select;  ///< four times three bits of dst_sel
};

/// One buffer instruction of one wave: its descriptor, offsets and lane operands.
class BufferView {
  public:
    BufferView(const Wave* wave, const Op* op);

    const BufferResource& resource() const { return resource_; }
    /// Whether `bytes` bytes from `at` on behind the lane's first byte are in range (RDNA3 ISA, "Range Checking").
    bool inside(int lane, uint32_t at, uint32_t bytes) const;
    /// Address of the byte `at` behind the lane's first one.
    uint64_t address(int lane, uint32_t at) const;
    /// Addresses of all lanes; returns those of which `bytes` bytes are in range.
    uint64_t lanes(uint32_t bytes, uint64_t* addresses) const;
    /// Lane 0's address where the lanes' dwords lie one after the other, as in GFX9's scratch; 0 where they do not.
    uint64_t consecutive_address(uint32_t at) const;

  private:
    uint64_t index(int lane) const;
    uint64_t offset(int lane, uint32_t at) const;
    uint64_t place(uint64_t index, uint64_t offset) const;

    BufferResource resource_;
    const uint32_t* index_rows_;   ///< nullptr without idxen
    const uint32_t* offset_rows_;  ///< nullptr without offen
    uint32_t imm_, soffset_;
    int lanes_;
};

/// The components that a load in a data format gives a lane's registers; false after a fault.
bool load_components(Wave* wave, const Op* op, const BufferView& view, int lane, std::span<uint32_t> values);

}  // namespace strata::emu
