#pragma once
#include "strata/asm/isa/table_p.h"

namespace strata::isa {

struct ImageForm;

/// One call of decode: the words, and what has been read of them.
class Decoder {
  public:
    /// absent: RowFlag bits of rows that the arch lacks.
    Decoder(const FamilyTable& table, std::span<const uint32_t> words, int wave_size, uint32_t absent)
        : table_(table), words_(words), wave_size_(wave_size), absent_(absent) {}

    /// Fills `inst`; false when the bits are no instruction (failure() says why).
    bool run(Inst& inst);
    const char* failure() const { return failure_; }

  private:
    const Rules& rules() const { return table_.rules; }
    bool fail(const char* why) {
        failure_ = why;
        return false;
    }
    bool finish(Inst& inst);
    /// Resolves a register or constant code against what the operand may be.
    [[gnu::always_inline]] bool operand(Operand& out, uint32_t code, Type type, uint8_t kind) {
        uint8_t have = rules().kinds[code];
        if (!(have & kind)) [[unlikely]]
            return fail("operand code is not allowed here");
        bool plain = rules().span(type) <= 1 && !(have & (kRenamed | kLiteralConstant)) && kind != kAgpr;
        if (!plain && !resolve(code, type, kind)) return false;
        out = {static_cast<uint16_t>(code), type};
        return true;
    }
    bool resolve(uint32_t& code, Type type, uint8_t kind);
    uint32_t get(const Field& field) const {
        if (field.shift < 64) return field.get(word_);
        return third_ >> (field.shift - 64) & ((uint32_t{1} << field.bits) - 1);
    }
    /// True if a load, or an atomic that returns.
    bool returns(const Inst& inst) const {
        bool asked = !(inst.row->flags & kAtomic) || (layout_->th.bits ? inst.th & 1 : inst.glc);
        return inst.row->dst_kind[0] && asked && !inst.lds;
    }
    bool vector(Operand& out, const Field& field, Type type, uint8_t kind = kVgpr) {
        return operand(out, code::vgpr0 + get(field), type, kind);
    }
    /// A data register: an accumulation register where the instruction says so and the row allows it.
    bool data(Operand& out, const Field& field, Type type, uint8_t kind) {
        return vector(out, field, type, kind & kAgpr && layout_->acc.get(word_) ? kAgpr : kVgpr);
    }

    bool decode_alu(Inst& inst);
    bool decode_destinations(Inst& inst);
    bool decode_source(Inst& inst, size_t index, size_t field);
    void decode_modifiers(Inst& inst) const;
    bool decode_dpp(Inst& inst, uint32_t code);
    bool dpp_modifiers(Inst& inst);
    bool decode_sdwa(Inst& inst);
    bool decode_matrix(Inst& inst);
    bool decode_vopd(const Layout& layout, Inst& inst);
    bool vopd_sources(const Row& row, const Field* fields, Operand* out);

    bool decode_memory(Inst& inst);
    bool decode_smem(Inst& inst);
    bool decode_cdna_smem(Inst& inst);
    bool decode_ds(Inst& inst);
    bool decode_flat(Inst& inst);
    bool decode_buffer(Inst& inst);
    bool decode_image(Inst& inst, const Layout& layout);
    bool image_vectors(Inst& inst, const ImageForm& form, bool rdna4, uint32_t number);
    bool image_scalars(Inst& inst, const ImageForm& form, uint32_t resource, uint32_t sampler);

    const FamilyTable& table_;
    std::span<const uint32_t> words_;
    int wave_size_;
    uint32_t absent_;
    const Layout* layout_ = nullptr;
    const RowBits* bits_ = nullptr;
    uint64_t word_ = 0;
    uint32_t third_ = 0;       ///< word of the three-word formats
    size_t next_ = 0;          ///< words read so far
    uint32_t extra_word_ = 0;  ///< of DPP or SDWA
    bool literal_ = false;
    bool names_halves_ = false;  ///< bit 7 of a 16-bit operand's register number is the half
    const char* failure_ = "";
};

}  // namespace strata::isa
