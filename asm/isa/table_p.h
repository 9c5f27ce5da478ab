#pragma once
#include <vector>

#include "strata/asm/isa/inst.h"

namespace strata::isa {

constexpr size_t kFormatCount = static_cast<size_t>(Format::MFMA) + 1;
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
    Family family{};
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
    uint64_t ignored = 0;                            ///< bits that hardware does not look at
    uint64_t ones = 0;                               ///< bits that must be set where no modifier of the row owns them
    uint64_t written = 0;                            ///< ignored bits that LLVM's assembler sets
    uint16_t first_opcode = 0;                       ///< added to the field's value where two encodings share a format
};

/// Everything the decoder and the encoder know about a family.
struct FamilyTable {
    std::span<const Row> rows;
    Inst blank{};  ///< in memory so that the decoder copies it with wide moves
    std::array<const Layout*, kFormatCount> layouts{};
    std::array<const Layout*, 512> by_prefix{};  ///< by the top nine bits of the first word
    std::vector<uint16_t> vop3_of;               ///< per row: number of its VOP3 form, or kNoRow
    std::vector<uint16_t> by_mnemonic;           ///< row numbers by mnemonic, then format
    std::vector<uint8_t> op_sel;                 ///< per row: bits of op_sel that select a half of something
    std::vector<uint64_t> row_bits;              ///< per row: bits of the instruction that may vary
    std::vector<uint64_t> row_ones;              ///< per row: bits of the others that must be set

    Family family() const { return layout(Format::SOP1).family; }
    const Layout& layout(Format format) const { return *layouts[index_of(format)]; }
    /// The row of an opcode; VOP3 and VOP3SD share one opcode space.
    const Row* find(Format format, uint32_t opcode) const {
        uint16_t row = number(format, opcode);
        return row == kNoRow ? nullptr : &rows[row];
    }
    uint16_t number(Format format, uint32_t opcode) const { return by_opcode_[index_of(format)][opcode & 1023]; }
    /// The VOP3 or VOP3SD form of a VOP1, VOP2 or VOPC row, or nullptr.
    const Row* vop3_form(const Row& row) const {
        uint16_t wide = vop3_of[static_cast<size_t>(&row - rows.data())];
        return wide == kNoRow ? nullptr : &rows[wide];
    }

    /// The number of a row's form in wave64.
    size_t wave64_form(size_t number) const {
        return number + 1 < rows.size() && rows[number + 1].flags & kWave64 ? number + 1 : number;
    }

    static constexpr uint16_t kNoRow = 0xffff;
    std::array<std::array<uint16_t, 1024>, kFormatCount> by_opcode_;
};

const FamilyTable& table(Family family);

/// What each nine-bit operand code is, as an OperandKind bit; 0 names nothing.
constexpr std::array<uint8_t, 512> kCodeKinds = [] {
    std::array<uint8_t, 512> result{};
    auto fill = [&](size_t first, size_t last, uint8_t kind) {
        for (size_t code = first; code <= last; ++code) result[code] = kind;
    };
    fill(0, 127, kSgpr);
    fill(128, 208, kInline);  // 0 to 64, -1 to -16
    fill(235, 239, kInline);  // apertures, pops_exiting_wave_id
    fill(240, 248, kInline);  // +-0.5 to +-4.0, 1/(2 pi)
    fill(251, 253, kInline);  // vccz, execz, scc
    fill(255, 255, kLiteralConstant);
    fill(256, 511, kVgpr);
    return result;
}();

/// Whether a scalar code can name an operand of that many dwords.
constexpr bool scalar_fits(uint32_t code, int dwords) {
    if (dwords == 1 || code >= code::inline_zero || code == code::null) return true;
    if (dwords == 2) return code != code::vcc_hi && code != code::m0 && code != code::exec_hi;
    if (dwords == 3 && code >= code::ttmp0) return false;
    uint32_t first = code & ~3u;  // groups of four or more start at a multiple of four
    uint32_t last = first + static_cast<uint32_t>(dwords) - 1;
    return last < code::vcc_lo || (first >= code::ttmp0 && last < code::null);
}

/// Dwords of an operand, a lane mask counted as one.
constexpr int span_of(Type type) {
    constexpr uint8_t spans[] = {0, 1, 1, 2, 3, 4, 8, 16, 1, 1, 2, 1, 1, 2, 1, 1, 2, 1, 1, 1, 32, 2};
    return spans[static_cast<size_t>(type)];
}

constexpr bool is_memory(Format format) {
    return format == Format::SMEM || format == Format::DS || format == Format::MUBUF || format == Format::MTBUF ||
           format == Format::FLAT || format == Format::SCRATCH || format == Format::GLOBAL;
}

/// Formats whose 16-bit vector operands are seven bits of register and one of half.
constexpr bool has_half_registers(Format format) {
    return format == Format::VOP1 || format == Format::VOP2 || format == Format::VOPC;
}
constexpr bool is_half(Type type) {
    return type == Type::f16 || type == Type::i16 || type == Type::u16 || type == Type::b16;
}

/// Codes of source 0 that announce a DPP word instead of naming an operand.
constexpr uint16_t kDpp16Code = 250, kDpp8Code = 233, kDpp8FiCode = 234;

constexpr bool is_exec(uint32_t code) { return code == code::exec_lo || code == code::exec_hi; }

/// Whether a source may be scalar in an instruction with DPP: all but the first, and those of v_dot4 and v_fma_mix
/// that are VGPRs in LLVM's tables.
constexpr bool dpp_takes_scalar(const Row& row, size_t index) {
    if (index == 0 || row.format != Format::VOP3P) return index != 0;
    return !row.mnemonic.starts_with("v_dot4") && (index == 2 || !row.mnemonic.starts_with("v_fma_mix"));
}

/// quad_perm, row_shl, row_shr, row_ror 1 to 15, mirrors, row_share, row_xmask (RDNA3 ISA, "DPP16 Controls").
constexpr bool valid_dpp_control(uint32_t ctrl) {
    if (ctrl < 0x100) return true;
    if (ctrl < 0x130) return (ctrl & 15) != 0;
    return ctrl == 0x140 || ctrl == 0x141 || (ctrl >= 0x150 && ctrl < 0x170);
}

}  // namespace strata::isa
