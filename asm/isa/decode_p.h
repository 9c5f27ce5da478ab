#pragma once
#include "strata/asm/isa/table_p.h"

namespace strata::isa {

/// Positions in Inst::src of a FLAT, SCRATCH or GLOBAL instruction's operands; -1 where it has none.
struct FlatShape {
    int8_t address = -1, data = -1, saddr = -1;
};
inline FlatShape flat_shape(const Row& row) {
    FlatShape shape;
    bool has_data = row.flags & (kStore | kAtomic), has_saddr = row.format != Format::FLAT;
    int8_t next = 0;
    if (row.src_kind[size_t{has_data} + has_saddr]) shape.address = next++;  // the addtid forms have none
    if (has_data) shape.data = next++;
    if (has_saddr) shape.saddr = next;
    return shape;
}

/// The DS register field (0 address, 1 data0, 2 data1) of the first source operand: ds_store_addtid has data only.
inline size_t first_ds_field(const Row& row) { return row.flags & kStore && !row.src_kind[1] ? 1 : 0; }

/// One call of decode: the words, and what has been read of them.
class Decoder {
  public:
    Decoder(const FamilyTable& table, std::span<const uint32_t> words, int wave_size)
        : table_(table), words_(words), wave_size_(wave_size) {}

    /// Fills `inst`; false when the bits are no instruction (failure() says why).
    bool run(Inst& inst);
    const char* failure() const { return failure_; }

  private:
    bool fail(const char* why) {
        failure_ = why;
        return false;
    }
    bool finish(Inst& inst);
    /// Resolves a register or constant code against what the operand may be.
    bool operand(Operand& out, uint32_t code, Type type, uint8_t kind) {
        if (!(kCodeKinds[code] & kind)) [[unlikely]]
            return fail("operand code is not allowed here");
        if (span_of(type) > 1 && !group(code, type)) return false;
        literal_ |= code == code::literal;
        out = {static_cast<uint16_t>(code), type};
        return true;
    }
    bool group(uint32_t& code, Type type);
    uint32_t get(const Field& field) const {
        if (field.shift < 64) return field.get(word_);
        return third_ >> (field.shift - 64) & ((uint32_t{1} << field.bits) - 1);
    }
    /// Whether a load, or an atomic that returns.
    bool returns(const Inst& inst) const {
        bool asked = !(inst.row->flags & kAtomic) || (layout_->th.bits ? inst.th & 1 : inst.glc);
        return inst.row->dst_kind[0] && asked;
    }
    bool vector(Operand& out, const Field& field, Type type) {
        return operand(out, code::vgpr0 + get(field), type, kVgpr);
    }

    bool decode_alu(Inst& inst);
    bool decode_destinations(Inst& inst);
    bool decode_source(Inst& inst, size_t index, size_t field);
    void decode_modifiers(Inst& inst) const;
    bool decode_dpp(Inst& inst, uint32_t code);
    bool dpp_modifiers(Inst& inst);
    bool decode_vopd(const Layout& layout, Inst& inst);
    bool vopd_sources(const Row& row, const Field* fields, Operand* out);

    bool decode_memory(Inst& inst);
    bool decode_smem(Inst& inst);
    bool decode_ds(Inst& inst);
    bool decode_flat(Inst& inst);
    bool decode_buffer(Inst& inst);

    const FamilyTable& table_;
    std::span<const uint32_t> words_;
    int wave_size_;
    const Layout* layout_ = nullptr;
    uint64_t word_ = 0;
    uint32_t third_ = 0;  ///< word of the three-word formats
    size_t next_ = 0;     ///< words read so far
    uint32_t dpp_word_ = 0;
    bool literal_ = false;
    bool names_halves_ = false;  ///< bit 7 of a 16-bit operand's register number is the half
    const char* failure_ = "";
};

/// The same for CDNA2 and CDNA3, whose encodings differ (decode_cdna.cpp).
class CdnaDecoder {
  public:
    CdnaDecoder(const FamilyTable& table, std::span<const uint32_t> words) : table_(table), words_(words) {}

    bool run(Inst& inst);
    const char* failure() const { return failure_; }

  private:
    bool fail(const char* why) {
        failure_ = why;
        return false;
    }
    bool finish(Inst& inst);
    bool operand(Operand& out, uint32_t code, Type type, uint8_t kind);
    bool data(Operand& out, const Field& field, Type type, uint8_t kind);

    bool decode_alu(Inst& inst);
    bool decode_destinations(Inst& inst);
    bool decode_source(Inst& inst, size_t index, const Field& field);
    void decode_modifiers(Inst& inst) const;
    bool decode_dpp(Inst& inst);
    bool decode_sdwa(Inst& inst);
    bool decode_matrix(Inst& inst);

    bool decode_memory(Inst& inst);
    bool decode_smem(Inst& inst);
    bool decode_ds(Inst& inst);
    bool decode_flat(Inst& inst);
    bool decode_buffer(Inst& inst);

    const FamilyTable& table_;
    std::span<const uint32_t> words_;
    const Layout* layout_ = nullptr;
    uint64_t word_ = 0;
    size_t next_ = 0;  ///< words read so far
    uint32_t sdwa_word_ = 0;
    bool literal_ = false;
    const char* failure_ = "";
};

}  // namespace strata::isa
