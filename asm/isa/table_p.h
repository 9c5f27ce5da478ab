#pragma once
#include <vector>

#include "strata/asm/isa/inst.h"

namespace strata::isa {

constexpr size_t kFormatCount = static_cast<size_t>(Format::EXP) + 1;
constexpr size_t index_of(Format format) { return static_cast<size_t>(format); }

/// A bit field of the little-endian 64-bit instruction; width 0 where the format has none.
struct Field {
    uint8_t shift = 0, bits = 0;
    constexpr uint64_t mask() const { return ((uint64_t{1} << bits) - 1) << shift; }
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
    Field offset{}, glc{}, slc{}, dlc{}, gds{}, segment{}, sve{}, tfe{}, offen{}, idxen{}, buffer_format{};
    uint64_t ignored = 0;  ///< bits that hardware does not look at
};

/// Everything the decoder and the encoder know about a family.
struct FamilyTable {
    std::span<const Row> rows;
    std::array<const Layout*, kFormatCount> layouts{};
    std::array<const Layout*, 512> by_prefix{};  ///< by the top nine bits of the first word
    std::vector<uint16_t> vop3_of;               ///< per row: number of its VOP3 form, or kNoRow
    std::vector<uint16_t> by_mnemonic;           ///< row numbers by mnemonic, then format
    std::vector<uint64_t> row_bits;              ///< per row: bits of the instruction that may be set

    const Layout& layout(Format format) const { return *layouts[index_of(format)]; }
    /// The row of an opcode; VOP3 and VOP3SD share one opcode space.
    const Row* find(Format format, uint32_t opcode) const {
        uint16_t row = by_opcode_[index_of(format)][opcode & 1023];
        return row == kNoRow ? nullptr : &rows[row];
    }
    /// The VOP3 or VOP3SD form of a VOP1, VOP2 or VOPC row, or nullptr.
    const Row* vop3_form(const Row& row) const {
        uint16_t wide = vop3_of[static_cast<size_t>(&row - rows.data())];
        return wide == kNoRow ? nullptr : &rows[wide];
    }
    uint64_t allowed_bits(const Row& row) const { return row_bits[static_cast<size_t>(&row - rows.data())]; }

    static constexpr uint16_t kNoRow = 0xffff;
    std::array<std::array<uint16_t, 1024>, kFormatCount> by_opcode_;
};

const FamilyTable& table(Family family);

/// Scalar operand codes 0 to 255: what they are.
enum class ScalarClass : uint8_t { invalid, sgpr, special, constant, literal };
ScalarClass scalar_class(uint32_t code);
/// Whether a scalar code can name an operand of that many dwords.
bool scalar_fits(uint32_t code, int dwords);

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

}  // namespace strata::isa
