#pragma once
#include <span>

#include "strata/asm/emu/memory/ops.h"

// Buffer descriptors (V#): where a lane's element lies and whether it is in range.
namespace strata::emu {

/// The 128 bits of a V#, decoded by generation. Members are forced inline, as handlers of all host widths use them.
struct BufferResource {
    [[gnu::always_inline]] BufferResource(const uint32_t* words, uint8_t flags);  ///< BufferFlag bits

    uint64_t base;
    uint32_t stride, records;
    uint32_t element;  ///< bytes of a swizzle element; 0: linear
    uint32_t index_stride;
    uint8_t out_of_range;  ///< OOB_SELECT; GFX9 has none
    bool add_tid, gfx9;
    bool bound;       ///< to memory: nothing is in range otherwise
    uint8_t format;   ///< GFX11+: unified; GFX9: data format | number format << 4
    uint16_t select;  ///< four times three bits of dst_sel

    /// The part of the scalar offset that counts in the range. GFX9 compares the instruction's and the lane's offset
    /// alone (CDNA3 ISA 9.1.5.1, "Raw Buffer"), as LLVM's intrinsics say too. RDNA takes it off the number of records.
    [[gnu::always_inline]] uint32_t checked(uint32_t soffset) const { return gfx9 ? 0 : soffset; }
    /// True if num_records counts bytes.
    [[gnu::always_inline]] bool raw(bool indexed) const {
        return gfx9 ? stride == 0 || !indexed : out_of_range == 3 && (element == 0 || stride == 0);
    }
    /// True if bytes are in range that end at `end` after their index's first one and at `place_end` after the base and
    /// the scalar offset. A place in range stays in range with smaller numbers.
    [[gnu::always_inline]] bool in_range(bool indexed, uint64_t index, uint64_t end, uint64_t place_end,
                                         uint32_t soffset) const {
        if (!bound) return false;
        if (gfx9 && add_tid && !indexed) return true;  // private memory has no limit
        if (raw(indexed)) return place_end + checked(soffset) <= records;
        if (!gfx9 && out_of_range == 2) return records != 0;
        const bool any_offset = gfx9 || out_of_range == 1 || (out_of_range == 0 && stride == 0);
        if (!gfx9 && out_of_range == 3) index += soffset;  // it reduces the number of records, whatever its unit
        return index < records && (any_offset || end <= stride);
    }
};

constexpr uint32_t kSwizzleElement[] = {0, 4, 8, 16};  // GFX11+: bits 63:62
constexpr uint32_t kStrideScale[] = {1, 4, 8, 32};     // RDNA4: bits 115:114

inline BufferResource::BufferResource(const uint32_t* v, uint8_t flags)
    : base(v[0] | uint64_t{v[1] & 0xffff} << 32),
      stride(v[1] >> 16 & 0x3fff),
      records(v[2]),
      index_stride(8u << (v[3] >> 21 & 3)),
      out_of_range(v[3] >> 28 & 3),
      add_tid(v[3] >> 23 & 1),
      gfx9(flags & kGfx9Resource),
      select(v[3] & 0xfff) {
    if (gfx9) {
        element = v[1] >> 31 ? 4 : 0;
        format = static_cast<uint8_t>((v[3] >> 15 & 15) | (v[3] >> 12 & 7) << 4);
        if (add_tid && !(flags & kFormatted)) stride |= (v[3] >> 15 & 15) << 14;  // the data format's bits extend it
    } else {
        element = kSwizzleElement[v[1] >> 30];
        format = v[3] >> 12 & 63;
        if (flags & kScaledStride) stride *= kStrideScale[v[3] >> 18 & 3];
    }
    bound = (gfx9 ? format & 15 : format) != 0 || (add_tid && !(flags & kInstructionFormat));
}

/// One buffer instruction of one wave: its descriptor, offsets and lane operands.
class BufferView {
  public:
    BufferView(const Wave* wave, const Op* op);

    const BufferResource& resource() const { return resource_; }
    /// True if `bytes` bytes from `at` on after the lane's first byte are in range (RDNA3 ISA, "Range Checking").
    bool inside(int lane, uint32_t at, uint32_t bytes) const;
    /// Address of the byte `at` after the lane's first one.
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
