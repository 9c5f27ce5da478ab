#pragma once
#include <vector>

#include "strata/asm/isa/rules_p.h"

namespace strata::isa {

constexpr size_t kFormatCount = std::size(kFormats);
constexpr size_t index_of(Format format) { return static_cast<size_t>(format); }

/// A bit field of the little-endian 64-bit instruction, or from bit 64 of its third word; width 0 where the format has
/// none.
struct Field {
    uint8_t shift = 0, bits = 0;
    constexpr uint64_t mask() const { return shift < 64 ? ((uint64_t{1} << bits) - 1) << shift : 0; }
    constexpr uint32_t get(uint64_t word) const {
        return static_cast<uint32_t>(word >> shift & ((uint64_t{1} << bits) - 1));
    }
    constexpr uint64_t put(uint64_t value) const { return value << shift & mask(); }
};

/// One row of formats.def.
struct Layout {
    FamilySet families{};
    Format format{};
    uint32_t prefix = 0;
    uint8_t prefix_bits = 0, words = 0;
    Field op{}, dst{}, sdst{};
    std::array<Field, 3> src{};
    Field simm{}, abs{}, op_sel{}, clamp{}, omod{}, neg{}, op_sel_hi{}, op_sel_hi2{}, neg_hi{};
    Field op_y{}, dst_y{};
    std::array<Field, 2> src_y{};
    Field offset{}, th{}, scope{}, glc{}, slc{}, dlc{}, gds{}, segment{}, sve{}, tfe{}, offen{}, idxen{},
        buffer_format{};
    Field sc1{}, lds{}, acc{}, imm{}, soffset_en{};  ///< CDNA; acc: data, or sources 0 and 1, in the other file
    Field acc_cd{}, cbsz{}, abid{}, blgp{};          ///< MFMA; acc_cd: destination and source 2 in the other file
    uint64_t ignored = 0;                            ///< bits that no instruction of the format reads
    uint64_t ones = 0;                               ///< bits that must be set where no modifier of the row owns them
    uint64_t written = 0;                            ///< ignored bits that LLVM's assembler sets
    uint16_t first_opcode = 0;                       ///< added to the field's value where two encodings share a format
};

/// The use of an instruction's bits in a row: read, fixed, or neither.
struct RowBits {
    uint64_t fixed = 0;         ///< must be those of `ones`: no operand or modifier of the row, but looked at
    uint64_t ones = 0;          ///< bits outside of the row's operands and modifiers that are written as ones
    uint64_t unread = 0;        ///< may be anything
    uint32_t third_unread = 0;  ///< the same of a third word
    uint8_t op_sel = 0;         ///< bits of op_sel that select a half of something
    /// op_sel_hi of an Inst is what its bits are in `op_sel_hi_read`, and ones in `op_sel_hi_default`.
    uint8_t op_sel_hi_read = 0, op_sel_hi_default = 0;

    uint64_t read() const { return ~(fixed | unread); }
};

/// Bits of an encoded instruction that hardware does not read.
struct Unread {
    uint64_t low = 0;      ///< of its first two words
    uint32_t third = 0;    ///< of the third word of a three-word format
    uint32_t extra = 0;    ///< of the DPP or SDWA word
    uint64_t written = 0;  ///< what encode() writes into `low`
};

/// Everything the decoder and the encoder know about a family.
struct FamilyTable {
    std::span<const Row> rows;
    Rules rules{};
    Inst blank{};  ///< in memory so that the decoder copies it with wide moves
    std::array<const Layout*, kFormatCount> layouts{};
    std::array<const Layout*, 512> by_prefix{};  ///< by the top nine bits of the first word
    std::vector<uint16_t> next_form;             ///< per row: number of the next of its mnemonic, or kNoRow
    std::vector<uint16_t> by_mnemonic;           ///< number of the first row of a mnemonic, by hash; or kNoRow
    std::vector<RowBits> bits;                   ///< per row

    const Layout& layout(Format format) const { return *layouts[index_of(format)]; }
    /// The row of an opcode; VOP3 and VOP3SD share one opcode space.
    const Row* find(Format format, uint32_t opcode) const {
        uint16_t row = number(format, opcode);
        return row == kNoRow ? nullptr : &rows[row];
    }
    uint16_t number(Format format, uint32_t opcode) const { return by_opcode_[index_of(format)][opcode & 1023]; }
    /// The next form of a row's mnemonic, or nullptr: VOP3 or VOP3SD, of a VOP1, VOP2 or VOPC row.
    const Row* vop3_form(const Row& row) const {
        uint16_t wide = next_form[static_cast<size_t>(&row - rows.data())];
        return wide == kNoRow ? nullptr : &rows[wide];
    }

    const RowBits& bits_of(const Row& row) const { return bits[static_cast<size_t>(&row - rows.data())]; }

    /// The number of a row's form in wave64.
    size_t wave64_form(size_t number) const {
        return number + 1 < rows.size() && rows[number + 1].flags & kWave64 ? number + 1 : number;
    }

    static constexpr uint16_t kNoRow = 0xffff;
    std::array<std::array<uint16_t, 1024>, kFormatCount> by_opcode_;
};

const FamilyTable& table(Family family);

RowBits bits_of(const Layout& layout, const Row& row, const Rules& rules);
/// The unread bits of an instruction that decode() gave.
Unread unread_bits(Family family, const Inst& inst);

}  // namespace strata::isa
