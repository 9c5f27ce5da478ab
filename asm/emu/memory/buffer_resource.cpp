#include "strata/asm/emu/memory/buffer_resource.h"

// CDNA3 ISA 9.1 and RDNA3 ISA 9.4, "Buffer Addressing", "Range Checking", "Swizzled Buffer Addressing". A swizzled
// layout interleaves indices: where nothing tells one (idxen, add_tid) it is linear, as AMD's simulator has it of gfx11
// and gfx12 (ROCm/rocm-systems, rocjitsu/isa/arch/amdgpu/shared/addr_calc_buffer.h). A V# without a format is unbound
// (RDNA3 ISA 9.6, "Unbound Resources"): whatever the instruction's format, nothing is in range.
namespace strata::emu {
namespace {

const uint32_t* words_at(const Wave* wave, uint32_t place) {
    return reinterpret_cast<const uint32_t*>(reinterpret_cast<const char*>(wave) + place);
}

}  // namespace

BufferView::BufferView(const Wave* wave, const Op* op)
    : resource_(words_at(wave, op->memory().base), op->memory().buffer().modes),
      imm_(op->memory().offset),
      lanes_(wave->lanes) {
    const BufferFields& buffer = op->memory().buffer();
    const uint32_t* rows = words_at(wave, op->memory().address);
    index_rows_ = buffer.modes & kIdxen ? rows : nullptr;
    offset_rows_ = !(buffer.modes & kOffen) ? nullptr : index_rows_ ? rows + lanes_ : rows;
    if (!index_rows_ && !resource_.add_tid) resource_.element = 0;
    soffset_ = buffer.modes & kConstantSoffset ? buffer.soffset : *words_at(wave, buffer.soffset);
}

uint64_t BufferView::index(int lane) const {
    return (index_rows_ ? uint64_t{index_rows_[lane]} : 0) + (resource_.add_tid ? static_cast<uint64_t>(lane) : 0);
}

/// In GFX9's scratch the sum wraps: compilers index with a negative register and a positive immediate.
uint64_t BufferView::offset(int lane, uint32_t at) const {
    const uint64_t sum = uint64_t{imm_} + at + (offset_rows_ ? offset_rows_[lane] : 0);
    return resource_.gfx9 && resource_.add_tid ? static_cast<uint32_t>(sum) : sum;
}

uint64_t BufferView::place(uint64_t index, uint64_t offset) const {
    const BufferResource& r = resource_;
    if (r.element == 0) return index * r.stride + offset;
    const uint64_t rows = index / r.index_stride * r.stride + offset / r.element * r.element;
    return rows * r.index_stride + index % r.index_stride * r.element + offset % r.element;
}

bool BufferView::inside(int lane, uint32_t at, uint32_t bytes) const {
    const uint64_t i = index(lane), o = offset(lane, at);
    return resource_.in_range(index_rows_, i, o + bytes, place(i, o) + bytes, soffset_);
}

uint64_t BufferView::address(int lane, uint32_t at) const {
    return resource_.base + soffset_ + place(index(lane), offset(lane, at));
}

uint64_t BufferView::lanes(uint32_t bytes, uint64_t* addresses) const {
    uint64_t in_range = 0;
    const BufferResource& r = resource_;
    if (offset_rows_ && !index_rows_ && r.bound && r.element == 0 && !r.add_tid && r.raw(false)) {  // the common case
        const uint64_t start = r.base + soffset_ + imm_, end = uint64_t{r.checked(soffset_)} + imm_ + bytes;
        for (int lane = 0; lane < lanes_; ++lane) addresses[lane] = start + offset_rows_[lane];
        for (int lane = 0; lane < lanes_; ++lane) in_range |= uint64_t{offset_rows_[lane] + end <= r.records} << lane;
        return in_range;
    }
    for (int lane = 0; lane < lanes_; ++lane) {
        addresses[lane] = address(lane, 0);
        in_range |= uint64_t{inside(lane, 0, bytes)} << lane;
    }
    return in_range;
}

uint64_t BufferView::consecutive_address(uint32_t at) const {
    const BufferResource& r = resource_;
    if (index_rows_ || offset_rows_ || !r.add_tid || r.element != 4 || (imm_ + at) % 4 != 0) return 0;
    if (r.index_stride < static_cast<uint32_t>(lanes_)) return 0;
    return address(0, at);
}

}  // namespace strata::emu
