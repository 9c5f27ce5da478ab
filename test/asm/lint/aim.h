#pragma once
#include "wave_state.h"

// Makes a random memory instruction one whose accesses lie in memory that is there.
namespace strata::lint::harness {

class Aim {
  public:
    Aim(isa::Arch arch, isa::Inst& inst, WaveState& state, uint64_t seed)
        : cdna_(isa::is_cdna(isa::info(arch).family)), inst_(inst), state_(state), numbers_(seed) {}

    void take() {
        const isa::Row& row = *inst_.row;
        state_.wave.m0 = 64;
        if (row.modifiers & isa::mod::gds_only) return;
        inst_.gds = false;
        if (row.format != isa::Format::DS || row.modifiers & isa::mod::offset)
            inst_.offset = static_cast<int32_t>(numbers_.below(16)) * 16;
        if (!row.src_kind[0]) return;
        switch (row.format) {
            case isa::Format::SMEM: return scalar();
            case isa::Format::DS: return local();
            case isa::Format::MUBUF:
            case isa::Format::MTBUF: return buffer();
            case isa::Format::SCRATCH: return flat(0);
            default: return flat(kMapped);
        }
    }

  private:
    void set_pair(size_t at, uint64_t value) {
        state_.wave.sgpr[at] = static_cast<uint32_t>(value),
        state_.wave.sgpr[at + 1] = static_cast<uint32_t>(value >> 32);
    }
    void set_descriptor() {
        const bool indexed = inst_.idxen;
        set_pair(8, kMapped | uint64_t{indexed ? 256u : 0u} << 48);
        state_.wave.sgpr[10] = indexed ? 100 : 30000;
        state_.wave.sgpr[11] = cdna_ ? 7u << 12 | 4u << 15 : (indexed ? 1u : 3u) << 28 | 22u << 12;
    }
    /// Puts base + 64 * lane + something small into an address of one or two registers.
    void set_address(const isa::Operand& address, uint64_t base) {
        for (size_t lane = 0; lane < state_.lanes(); ++lane) {
            const uint64_t value = base + 256 * lane + 16 * numbers_.below(4);
            state_.vector(address.code, lane) = static_cast<uint32_t>(value);
            if (isa::span_of(address.type) == 2)
                state_.vector(static_cast<uint16_t>(address.code + 1), lane) = static_cast<uint32_t>(value >> 32);
        }
    }

    void scalar() {
        const bool data = inst_.row->flags & (isa::kStore | isa::kAtomic);
        inst_.src[0].code = 8;
        set_descriptor();
        if (isa::span_of(inst_.src[0].type) == 2) set_pair(8, kMapped);
        if (inst_.src[1].code != isa::code::null) inst_.src[1].code = 12, state_.wave.sgpr[12] = 64;
        if (data) inst_.src[2].code = 20;
        if (inst_.dst[0].present()) inst_.dst[0].code = data ? 20 : 32;
    }
    void local() {
        if (isa::first_ds_field(*inst_.row) == 0) set_address(inst_.src[0], 0);
    }
    void buffer() {
        set_descriptor();
        inst_.src[1].code = 8;
        if (inst_.src[2].is_sgpr()) inst_.src[2].code = 12, state_.wave.sgpr[12] = 32;
        if (!inst_.src[0].present()) return;
        set_address({inst_.src[0].code, isa::Type::u32}, 0);
        for (size_t lane = 0; lane < state_.lanes() && inst_.idxen; ++lane) {
            state_.vector(inst_.src[0].code, lane) = static_cast<uint32_t>(lane);
            if (inst_.offen) state_.vector(static_cast<uint16_t>(inst_.src[0].code + 1), lane) = 16 * numbers_.below(4);
        }
    }
    void flat(uint64_t base) {
        const isa::FlatShape shape = isa::flat_shape(*inst_.row);
        const bool scalar = shape.saddr >= 0 && inst_.src[static_cast<size_t>(shape.saddr)].present();
        if (scalar) {
            isa::Operand& operand = inst_.src[static_cast<size_t>(shape.saddr)];
            operand.code = 8;
            state_.wave.sgpr[8] = 32;
            if (isa::span_of(operand.type) == 2) set_pair(8, base + 32);
        }
        if (shape.address >= 0 && inst_.src[static_cast<size_t>(shape.address)].present())
            set_address(inst_.src[static_cast<size_t>(shape.address)], scalar ? 0 : base);
    }

    bool cdna_;
    isa::Inst& inst_;
    WaveState& state_;
    Numbers numbers_;
};

}  // namespace strata::lint::harness
