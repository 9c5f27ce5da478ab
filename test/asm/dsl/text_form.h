#pragma once
#include "strata/asm/isa/table_p.h"

namespace strata::isa {

/// Forms that LLVM 19's text does not tell from others: the long form of v_nop and v_pipeflush.
inline bool has_no_text_form(const Row& row) {
    return row.flags & kGraphics || (row.format == Format::VOP3 && !row.src_kind[0] && !row.dst_kind[0]);
}

/// Sets fields that the text leaves out to the values that a reader of the text assumes. They are upper halves of
/// 16-bit literals, op_sel_hi of absent or fixed sources, and unused bits of immediates. Others are one of the many
/// spellings of a lane mask, and whether a cascaded buffer atomic returns.
inline void drop_what_text_leaves_out(Inst& inst) {
    const Row& row = *inst.row;
    bool half = is_half(row.dst[0]);
    for (Type type : row.src) half |= is_half(type);
    for (std::string_view part : {"16x16x", "v_fma_mix", "_bf16"}) half |= row.mnemonic.find(part) != row.mnemonic.npos;
    if (half) inst.literal = (inst.literal & 0x7eff) | 0x100;  // no inline constant
    inst.op_sel_hi |= row.ignored >> 10 & 7;
    const auto immediate = static_cast<uint16_t>(inst.offset);
    if (row.mnemonic == "s_waitcnt") inst.offset &= ~8;
    if (row.mnemonic.starts_with("s_sendmsg")) inst.offset &= 255;
    if (row.mnemonic == "s_delay_alu")
        inst.offset = immediate % 12 | (immediate >> 4) % 6 << 4 | (immediate >> 7) % 12 << 7;
    if (row.mnemonic == "ds_swizzle_b32") inst.offset = 0x8000 | (inst.offset & 255);
    const bool cascade = row.flags & kAtomic && inst.th & 4 && inst.scope >= 2;
    if (cascade && row.format == Format::MUBUF) inst.th = 0, inst.dst[0] = {};
}

inline void drop_what_cdna_text_leaves_out(Inst& inst) {
    drop_what_text_leaves_out(inst);
    const Row& row = *inst.row;
    for (size_t i = 0; i < 4;
         i++) {  // 16-bit integers: the pattern that LLVM prints for 0.5 is a literal to its reader
        const bool integer = row.src[i] == Type::i16 || row.src[i] == Type::u16 || row.src[i] == Type::b16;
        const uint16_t from = inst.src[i].code;
        if (integer && from >= code::inline_half && from <= code::inline_inv_2pi) inst.src[i].code = code::inline_zero;
    }
    if (inst.row->mnemonic == "s_waitcnt") inst.offset &= 0xcf7f;
    if (inst.row->mnemonic.starts_with("s_sendmsg")) inst.offset &= 15;
}

}  // namespace strata::isa
