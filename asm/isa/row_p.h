#pragma once
#include "strata/asm/isa/inst.h"

/// Questions about a row whose answer is in its columns or its name.
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

/// Dwords of an operand, a lane mask counted as one.
constexpr std::array<uint8_t, 22> kSpans = {0, 1, 1, 2, 3, 4, 8, 16, 1, 1, 2, 1, 1, 2, 1, 1, 2, 1, 1, 1, 32, 2};
constexpr int span_of(Type type) { return kSpans[static_cast<size_t>(type)]; }

constexpr bool is_memory(Format format) {
    return format == Format::SMEM || format == Format::DS || format == Format::MUBUF || format == Format::MTBUF ||
           format == Format::FLAT || format == Format::SCRATCH || format == Format::GLOBAL;
}

/// Formats whose 16-bit vector operands are seven bits of register and one of half in RDNA.
constexpr bool has_half_registers(Format format) {
    return format == Format::VOP1 || format == Format::VOP2 || format == Format::VOPC;
}
constexpr bool is_half(Type type) {
    return type == Type::f16 || type == Type::i16 || type == Type::u16 || type == Type::b16;
}

/// Whether a source may be scalar in an instruction with DPP: all but the first, and those of v_dot4 and v_fma_mix
/// that are VGPRs in LLVM's tables.
constexpr bool dpp_takes_scalar(const Row& row, size_t index) {
    if (index == 0 || row.format != Format::VOP3P) return index != 0;
    return !row.mnemonic.starts_with("v_dot4") && (index == 2 || !row.mnemonic.starts_with("v_fma_mix"));
}

/// Whether CDNA's DPP knows row_newbcast only: operations on 64-bit values.
constexpr bool cdna_dpp_wide(const Row& row) {
    for (Type type : {row.dst[0], row.src[0], row.src[1]})
        if (span_of(type) == 2) return true;
    return false;
}

/// The sources of VOP1, VOP2 and VOPC that SDWA may sign-extend: those whose sign it cannot change.
constexpr uint8_t sext_sources(const Row& row) {
    uint32_t sources = row.src_kind[1] && row.src[1] != Type::lanes ? 3 : 1;
    return static_cast<uint8_t>(sources & ~row.modifiers);
}

/// Conversions from 8-bit floats select in the source only.
inline bool sdwa_whole_destination(const Row& row) {
    return row.mnemonic.ends_with("p8") || row.mnemonic.ends_with("f8");
}

/// CDNA's store from LDS, which has neither address nor data register: LDS is read at M0.
constexpr bool stores_from_lds(const Row& row) {
    return row.format == Format::MUBUF && row.flags & kStore && !row.src_kind[3];
}

/// MFMA of doubles on CDNA3: the bits of blgp negate the sources.
constexpr bool blgp_negates(const Row& row) { return row.modifiers & mod::neg(7); }

}  // namespace strata::isa
