#pragma once
#include "buffer_format_model.h"
#include "memory_run.h"

// One typed buffer instruction of one wave: where its lanes' elements lie, and the comparison with the model.
namespace strata::emu::harness {

/// The access of a typed buffer instruction, by its mnemonic.
struct TypedAccess {
    bool store, typed, half, high, to_local;
    int count;
    explicit TypedAccess(std::string_view name)
        : store(name.find("_store_") != name.npos),
          typed(name.starts_with("tbuffer_")),
          half(name.find("_d16_") != name.npos),
          high(name.find("_d16_hi_") != name.npos),
          to_local(name.find("_lds_") != name.npos),
          count(static_cast<int>(name.size() - name.rfind('_') - 1)) {}
    int rows() const { return half ? (count + 1) / 2 : count; }
    /// Register and shift of a component.
    int row(int i) const { return half ? i / 2 : i; }
    int shift(int i) const { return half && (high || i % 2) ? 16 : 0; }
};

/// Addresses of the lanes' elements, and a descriptor that makes them.
class Elements {
  public:
    enum Kind : uint8_t { structured, within_records, raw, swizzled, unchecked };

    Elements(MemoryRun& m, uint32_t bytes) : bytes_(bytes), cdna_(m.scalars.cdna()) {
        kind_ = static_cast<Kind>(m.values.below(cdna_ ? 3 : 5));
        const auto lanes = static_cast<uint32_t>(m.lanes());
        imm_ = m.values.below(2) * 16, soffset_ = m.values.below(3) * 8;
        stride_ = kind_ == raw ? 0 : 32;
        records_ = kind_ == raw ? 16 * lanes + (cdna_ ? 0 : m.values.below(24)) : lanes / 2 + m.values.below(8);
        if (kind_ == unchecked) records_ = m.values.below(2);
        if (kind_ == swizzled) unit_ = m.values.below(2) ? 16 : 4, group_ = 8u << m.values.below(4);
        static constexpr uint32_t kModes[5][3] = {{0, 1, 1}, {0, 0, 0}, {3, 3, 3}, {0, 1, 3}, {2, 2, 2}};
        mode_ = kModes[kind_][m.values.below(3)];
        const uint32_t turn = m.values.below(lanes), step = 2 * m.values.below(16) + 1;
        for (uint32_t lane = 0; lane < lanes; ++lane) {
            const uint32_t place = (lane * step + turn) % lanes;
            index_.push_back(idxen() ? place : 0);
            // Past the end of a record lie bytes of others: only where the mode checks that.
            const bool past = offen() && !cdna_ && !(kind_ == swizzled && mode_ == 1);
            offset_.push_back(kind_ == raw ? place * 32 : past ? m.values.below(8) * 4 : 0);
            if (offen()) m.v(idxen(), static_cast<int>(lane)) = offset_.back();
            if (idxen()) m.v(0, static_cast<int>(lane)) = place;
        }
        m.wave.sgpr[12] = soffset_;
    }
    bool offen() const { return kind_ == within_records || kind_ == raw || kind_ == swizzled; }
    bool idxen() const { return kind_ != raw; }
    uint32_t immediate() const { return imm_; }
    std::string name() const {
        static const char* const kNames[] = {"idxen", "idxen and offen", "offen", "swizzled", "unchecked"};
        return std::string(kNames[kind_]) + " in mode " + std::to_string(mode_);
    }
    /// `select` is the descriptor's dst_sel, `format` its format.
    void describe(MemoryRun& m, uint32_t select, uint32_t format) const {
        const uint32_t swizzle = unit_ == 16 ? 3 : unit_ == 4 ? 1 : 0;
        static constexpr uint32_t kScales[] = {1, 4, 8, 32};  // RDNA4 ISA 9.6, "Stride Scale"
        const uint32_t scale = m.scalars.family() == isa::Family::rdna4 ? m.values.below(4) : 0;
        m.set_pair(8, MemoryRun::kMapped | uint64_t{stride_ / kScales[scale]} << 48 | uint64_t{swizzle} << 62);
        m.wave.sgpr[10] = records_;
        const uint32_t index_stride = static_cast<uint32_t>(std::countr_zero(group_ / 8));
        m.wave.sgpr[11] = cdna_ ? select | (format >> 4) << 12 | (format & 15) << 15
                                : select | format << 12 | scale << 18 | index_stride << 21 | mode_ << 28;
    }
    /// RDNA3 and RDNA4 ISA, "Buffer Out Of Bounds Selection"; CDNA3 ISA 9.1.5.1. Elements are in range or not as a
    /// whole.
    bool inside(int lane) const {
        const uint32_t index = index_[static_cast<size_t>(lane)];
        const uint32_t end = imm_ + offset_[static_cast<size_t>(lane)] + bytes_;
        if (kind_ == unchecked) return records_ != 0;
        if (kind_ == raw) return end + (cdna_ ? 0 : soffset_) <= records_;
        if (cdna_ || mode_ == 1) return index < records_;
        return index + (mode_ == 3 ? soffset_ : 0) < records_ && end <= stride_;
    }
    /// Where the byte `at` of a lane's element lies (RDNA3 ISA 9.4.2, "Swizzled Buffer Addressing").
    size_t place(int lane, uint32_t at) const {
        const uint32_t index = index_[static_cast<size_t>(lane)],
                       offset = imm_ + offset_[static_cast<size_t>(lane)] + at;
        if (kind_ != swizzled) return soffset_ + index * stride_ + offset;
        return soffset_ + (index / group_ * stride_ + offset / unit_ * unit_) * group_ + index % group_ * unit_ +
               offset % unit_;
    }

  private:
    uint32_t bytes_;
    bool cdna_;
    Kind kind_;
    uint32_t imm_, soffset_, stride_, records_, mode_, unit_ = 0, group_ = 8;
    std::vector<uint32_t> index_, offset_;
};

/// Bits of a memory that elements of a format lie in.
class ElementBits {
  public:
    ElementBits(std::vector<uint8_t>& memory, const Elements& elements, const DataFormat& format)
        : memory_(memory), elements_(elements), format_(format) {}
    uint32_t get(int lane, int component) const {
        uint32_t value = 0;
        each(lane, component, [&](uint8_t& byte, int bit, int i) { value |= (byte >> bit & 1u) << i; });
        return value;
    }
    void put(int lane, int component, uint32_t value) {
        each(lane, component, [&](uint8_t& byte, int bit, int i) {
            byte = static_cast<uint8_t>((byte & ~(1u << bit)) | (value >> i & 1u) << bit);
        });
    }

  private:
    template <class F>
    void each(int lane, int component, F&& use) const {
        const uint32_t from = format_.bits_before(component);
        for (int i = 0; i < format_.widths[static_cast<size_t>(component)]; ++i) {
            const uint32_t bit = from + static_cast<uint32_t>(i);
            use(memory_.at(elements_.place(lane, bit / 8)), static_cast<int>(bit % 8), i);
        }
    }
    std::vector<uint8_t>& memory_;
    const Elements& elements_;
    const DataFormat& format_;
};

/// A component's bits: limits of its range, of floats, and random ones.
inline uint32_t any_component(ScalarValues& values, int width, Number n) {
    const uint32_t top = ones(width), infinity = n == Number::real ? float_format(width).infinity() : top / 3;
    const uint32_t choices[] = {0, 1, top, top / 2, top / 2 + 1, top / 2 + 2, infinity, infinity + 1, infinity - 1};
    const uint32_t kind = values.below(16);
    const auto random = static_cast<uint32_t>(values.any64() * 0x9e3779b97f4a7c15ull >> 32);
    return (kind < std::size(choices) ? choices[kind] : random) & top;
}

/// A register component for a store: what a load makes of a component, near it, or anything.
inline uint32_t any_stored(ScalarValues& values, int width, Number n, bool half) {
    const uint32_t kind = values.below(8);
    if (kind >= 5) return values.any32() & (half ? 0xffff : ~0u);
    const uint32_t raw = any_component(values, width, n);
    if (is_integer(n))
        return static_cast<uint32_t>(n == Number::uint ? raw : static_cast<uint32_t>(extended(raw, width))) &
               (half ? 0xffff : ~0u);
    double number = number_in(raw, width, n);
    if (kind == 4) number *= 1.5;
    const uint32_t bits = rounded(number, half ? kHalf : kSingle, Rounding::nearest);
    return kind == 3 ? (bits + values.below(3) - 1) & (half ? 0xffff : ~0u) : bits;
}

}  // namespace strata::emu::harness
