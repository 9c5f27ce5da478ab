#pragma once
#include <random>

#include "strata/asm/isa/table_p.h"

namespace strata::isa {

/// Maker for the rows of CDNA2 and CDNA3. Groups of vector registers start at even ones, and a vector instruction reads
/// one scalar register or literal. Data registers of a memory instruction lie in one file; native forms may have DPP or
/// SDWA.
class CdnaMaker {
  public:
    CdnaMaker(Family family, uint32_t seed) : family_(family), random_(seed) {}

    Inst make(const Row& row) {
        Inst inst;
        inst.row = &row;
        inst.encoding = row.format;
        scalar_ = static_cast<uint16_t>(4 * pick(22));
        accumulator_ = pick(2);
        literal_ = random32();
        if (row.flags & kLiteral) inst.literal = literal_;
        if (row.format == Format::MFMA) {
            matrix(inst);
        } else if (row.flags & kMemory) {
            memory(inst);
        } else {
            alu(inst);
        }
        return inst;
    }

  private:
    uint32_t random32() { return static_cast<uint32_t>(random_()); }
    uint32_t pick(uint32_t count) { return random32() % count; }
    uint8_t pick8(uint32_t count) { return static_cast<uint8_t>(pick(count)); }
    bool one_in(uint32_t count) { return pick(count) == 0; }

    /// Dwords, of which groups start at even registers.
    Operand vector(Type type, bool accumulator = false) {
        const auto span = static_cast<uint32_t>(dwords(type, 64));
        uint32_t first = pick(257 - span);
        if (span > 1) first &= ~1u;
        return {static_cast<uint16_t>((accumulator ? code::agpr0 : code::vgpr0) + first), type};
    }
    Operand scalar(Type type) const { return {scalar_, type}; }
    Operand constant(Type type) {
        const uint32_t which = pick(90);
        const uint32_t code = which < 81 ? code::inline_zero + which : code::inline_half + which - 81;
        return {static_cast<uint16_t>(code), type};
    }
    /// A vector register of the file that the kind allows; of the instruction's file where it allows both.
    Operand vector_of(Type type, uint8_t kind) {
        return vector(type, (kind & kAgpr) && (accumulator_ || !(kind & kVgpr)));
    }

    Operand operand(Type type, uint8_t kind, Inst& inst) {
        uint8_t choices[5];
        uint32_t count = 0;
        for (uint8_t bit : {kVgpr, kAgpr, kSgpr, kInline, kLiteralConstant})
            if (kind & bit) choices[count++] = bit;
        switch (choices[pick(count)]) {
            case kVgpr: return vector(type);
            case kAgpr: return vector(type, true);
            case kSgpr: return scalar(type);
            case kInline: return constant(type);
            default: inst.literal = literal_; return {code::literal, type};
        }
    }

    void alu(Inst& inst) {
        const Row& row = *inst.row;
        const bool native = has_half_registers(row.format), vector_alu = row.format >= Format::VOP1;
        const uint32_t takes = row.modifiers & (mod::dpp | mod::sdwa);
        if (native && takes && !one_in(3)) {
            const bool sdwa = takes == mod::sdwa || (takes & mod::sdwa && one_in(2));
            inst.sdwa.present = sdwa;
            if (!sdwa) inst.dpp.kind = DppKind::dpp16;
        }
        for (size_t i = 0; i < 2 && row.dst_kind[i]; ++i) {
            const bool implied = native && row.dst[i] == Type::lanes;
            if (implied)
                inst.dst[i] = {code::vcc_lo, Type::lanes};
            else
                inst.dst[i] = row.dst_kind[i] == kSgpr ? scalar(row.dst[i]) : vector_of(row.dst[i], row.dst_kind[i]);
        }
        sources(inst, vector_alu);
        if (row.modifiers & mod::simm) {
            inst.offset = static_cast<int16_t>(random32());
            if (row.format == Format::SOPC) inst.offset = static_cast<int32_t>(pick(256));
        }
        const bool extra = inst.sdwa.present || inst.dpp.kind != DppKind::none;
        if (vector_alu && (!native || extra)) modifiers(inst);
        if (inst.sdwa.present) sdwa(inst);
        if (inst.dpp.kind != DppKind::none) dpp(inst);
    }

    void sources(Inst& inst, bool vector_alu) {
        const Row& row = *inst.row;
        const bool native = has_half_registers(row.format), masked = row.format == Format::VOP2;
        bool scalar_free = vector_alu && !(row.flags & (kReadsVcc | kLiteral));
        for (size_t i = 0; i < 4; ++i)  // a source that is scalar in any case has the only place
            if (row.src_kind[i] == kSgpr) scalar_free = false;
        for (size_t i = 0; i < 4 && row.src_kind[i]; ++i) {
            uint8_t kind = row.src_kind[i];
            if (native && row.src[i] == Type::lanes && masked) {
                inst.src[i] = {code::vcc_lo, Type::lanes};
                continue;
            }
            if (inst.dpp.kind != DppKind::none && i == 0) kind = kVgpr;
            if (inst.sdwa.present) kind = kVgpr | kSgpr;
            const uint8_t without = kind & static_cast<uint8_t>(~(kSgpr | kLiteralConstant));
            if (vector_alu && !scalar_free && without) kind = without;
            inst.src[i] = operand(row.src[i], kind, inst);
            if (inst.src[i].is_sgpr() || inst.src[i].is_literal()) scalar_free = false;
        }
    }

    void modifiers(Inst& inst) {
        const uint32_t takes = inst.row->modifiers, some = takes & random32();
        inst.neg = some & 7;
        inst.abs = some >> 3 & 7;
        inst.op_sel = some >> 6 & 15;
        inst.op_sel_hi = (some >> 10 & 7) | table(family_).bits_of(*inst.row).op_sel_hi_default;
        inst.neg_hi = some >> 13 & 7;
        if (inst.dpp.kind != DppKind::none) return;  // its word holds no more
        inst.clamp = some & mod::clamp;
        if (some & mod::omod) inst.omod = pick8(4);
    }

    void sdwa(Inst& inst) {
        const Row& row = *inst.row;
        Sdwa& sdwa = inst.sdwa;
        const bool compares = row.format == Format::VOPC;
        sdwa.src_sel[0] = pick8(7);
        if (row.src_kind[1] && row.src[1] != Type::lanes) sdwa.src_sel[1] = pick8(7);
        sdwa.sext = sext_sources(row) & pick8(4);
        if (!compares && !sdwa_whole_destination(row)) {
            sdwa.dst_sel = pick8(7);
            sdwa.dst_unused = pick8(3);
        }
        if (compares && pick(2)) inst.dst[0] = scalar(Type::lanes);
        inst.op_sel = 0;
    }

    void dpp(Inst& inst) {
        static constexpr uint16_t controls[] = {0x1b,  0xe4,  0x101, 0x10f, 0x11f, 0x128, 0x130, 0x134, 0x138,
                                                0x13c, 0x140, 0x141, 0x142, 0x143, 0x150, 0x155, 0x15f};
        const uint32_t first = cdna_dpp_wide(*inst.row) ? 14 : 0;  // 64-bit operations: row_newbcast
        inst.dpp.ctrl = controls[first + pick(static_cast<uint32_t>(std::size(controls)) - first)];
        inst.dpp.row_mask = pick8(16);
        inst.dpp.bank_mask = pick8(16);
        inst.dpp.bound_ctrl = pick(2);
    }

    void matrix(Inst& inst) {
        const Row& row = *inst.row;
        const bool sparse = row.src[2] == Type::b32;
        inst.dst[0] = vector_of(row.dst[0], row.dst_kind[0]);
        for (size_t i = 0; i < 2; ++i) inst.src[i] = vector(row.src[i], row.src_kind[i] & kAgpr && pick(2));
        const bool inline_c = row.src_kind[2] & kInline && one_in(3);
        inst.src[2] = inline_c ? constant(row.src[2]) : vector_of(row.src[2], row.src_kind[2]);
        inst.cbsz = pick8(8);
        inst.abid = pick8(16);
        if (!sparse) (blgp_negates(row) ? inst.neg : inst.blgp) = pick8(8);
    }

    void memory(Inst& inst) {
        const Row& row = *inst.row;
        const uint32_t some = row.modifiers & random32();
        inst.glc = some & mod::glc;
        inst.slc = some & mod::slc;
        inst.sc1 = some & mod::sc1;
        inst.gds = row.modifiers & mod::gds_only;
        inst.lds = stores_from_lds(row) || some & mod::lds;
        if (inst.lds) accumulator_ = false;
        const bool returns = row.format == Format::DS || !(row.flags & kAtomic) || inst.glc;
        if (row.dst_kind[0] && returns && !inst.lds)
            inst.dst[0] = row.dst_kind[0] == kSgpr ? scalar(row.dst[0]) : vector_of(row.dst[0], row.dst_kind[0]);
        for (size_t i = 0; i < 4 && row.src_kind[i]; ++i)
            inst.src[i] = row.src_kind[i] & (kVgpr | kAgpr) ? vector_of(row.src[i], row.src_kind[i])
                                                            : operand(row.src[i], row.src_kind[i], inst);
        switch (row.format) {
            case Format::SMEM: return smem(inst);
            case Format::DS: return ds(inst);
            case Format::MUBUF:
            case Format::MTBUF: return buffer(inst);
            default: return flat(inst);
        }
    }

    void smem(Inst& inst) {
        const Row& row = *inst.row;
        if (!row.src_kind[0]) return;
        if (row.mnemonic.starts_with("s_atc_probe")) inst.offset1 = pick8(128);
        inst.src[1] = pick(2) ? scalar(Type::u32) : Operand{code::null, Type::u32};
        if (inst.src[1].code == code::null || pick(2)) inst.offset = static_cast<int32_t>(pick(1 << 21)) - (1 << 20);
    }

    void ds(Inst& inst) {
        const bool two = inst.row->modifiers & mod::two_offsets;
        if (inst.row->modifiers & mod::offset) inst.offset = static_cast<int32_t>(pick(two ? 256 : 65536));
        if (two) inst.offset1 = pick8(256);
    }

    void buffer(Inst& inst) {
        const Row& row = *inst.row;
        if (!row.src_kind[0]) return;
        inst.offset = static_cast<int32_t>(pick(4096));
        if (row.format == Format::MTBUF) inst.buffer_format = pick8(128);
        inst.offen = !stores_from_lds(row) && pick(2);
        inst.idxen = !stores_from_lds(row) && pick(2);
        inst.src[0] = inst.offen || inst.idxen ? vector(inst.offen && inst.idxen ? Type::b64 : Type::u32) : Operand{};
        if (row.flags & kAtomic && inst.glc) inst.dst[0] = {inst.src[3].code, row.dst[0]};
    }

    /// Scratch of CDNA2 has one address register, of CDNA3 up to two.
    void flat(Inst& inst) {
        const Row& row = *inst.row;
        inst.offset = static_cast<int32_t>(pick(row.format == Format::FLAT ? 4096 : 8192));
        if (row.format == Format::FLAT) return;
        inst.offset -= 4096;
        const auto saddr = static_cast<size_t>(flat_shape(row).saddr);
        const bool off = pick(2), scratch = row.format == Format::SCRATCH;
        if (off) inst.src[saddr] = {};
        if (!off && !scratch) inst.src[0] = vector(Type::u32);
        const bool one_address = family_ == Family::cdna2;
        if (scratch && (one_address ? !off : pick(2) == 0)) inst.src[0] = {};
    }

    Family family_;
    std::mt19937 random_;
    uint16_t scalar_ = 0;
    uint32_t literal_ = 0;
    bool accumulator_ = false;
};

}  // namespace strata::isa
