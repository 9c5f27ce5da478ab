#pragma once
#include "strata/asm/isa/dpp.h"
#include "strata/asm/isa/inst.h"

namespace strata::isa {

/// The property of a code of source 0 that announces a DPP or SDWA word instead of naming an operand.
constexpr uint8_t kAnnounces = 32;
/// Bits that are not the operand code of what they name: CDNA's M0.
constexpr uint8_t kRenamed = 64;
constexpr uint16_t kDpp16Code = 250, kDpp8Code = 233, kDpp8FiCode = 234, kSdwaCode = 249;

inline constexpr std::array<uint8_t, std::size(kTypes)> kSpans = [] {
    std::array<uint8_t, std::size(kTypes)> spans{};
    for (size_t i = 0; i < spans.size(); ++i) spans[i] = kTypes[i].dwords;
    return spans;
}();

/// How a family reads operand codes, and the rules of its instructions that neither rows nor layouts tell.
struct Rules {
    std::array<uint8_t, 512> kinds{};  ///< what each code names, as OperandKind bits; 0: nothing
    std::array<uint8_t, std::size(kTypes)> spans = kSpans;
    uint16_t m0 = code::m0;                  ///< the bits that name M0; those of code::m0 then name nothing
    uint16_t saddr_off = code::null;         ///< the bits that stand for no saddr
    uint16_t sgprs = 106, groups_end = 106;  ///< plain scalar registers, and where groups of three and more must end
    size_t constant_bus = 2;                 ///< scalar registers and literals that a vector instruction may read
    bool half_registers = true;              ///< bit 7 of a 16-bit operand's number is the half: has_half_registers()
    bool even_groups = false;                ///< groups of vector registers start at even ones
    bool cmpx_has_exec = true;               ///< EXEC is the destination of v_cmpx, not written besides it
    bool dpp8 = true;                        ///< there are DPP8 and DPP's fi
    std::array<bool, 512> dpp16_controls{};  ///< controls that name a lane pattern
    bool dual_reads_share = false;           ///< both halves may read one register as the same source
    bool dual_moves_share = false;           ///< two v_dual_mov may read registers of one bank
    bool dpp16_of_wide = true;               ///< all of them for operations on 64-bit values, not row_newbcast alone

    constexpr bool knows_dpp16(const Row& row, uint32_t ctrl) const {
        return ctrl < dpp16_controls.size() && dpp16_controls[ctrl] &&
               (dpp16_of_wide || !cdna_dpp_wide(row) || ctrl >> 4 == dpp16::row_newbcast >> 4);
    }

    /// From an operand code to the bits of a nine-bit field and back, for all but accumulation registers.
    constexpr uint32_t swap_m0(uint32_t code) const {
        return m0 != code::m0 && (code | 1) == code::m0 ? code ^ 1 : code;
    }
    /// Dwords of an operand; of a lane mask those that its alignment tells.
    constexpr int span(Type type) const { return spans[static_cast<size_t>(type)]; }
    /// True if a scalar code can name an operand of that many dwords. Pairs may start at any plain register, larger
    /// groups lie between multiples of four: the hardware ignores low bits.
    constexpr bool scalar_fits(uint32_t code, uint32_t dwords) const {
        if (dwords == 1 || code >= code::inline_zero || code == code::null) return true;
        if (code == code::m0) return false;
        bool special = (code >= sgprs && code < code::ttmp0) || code >= code::exec_lo;
        if (dwords == 2) return !special || code % 2 == 0;
        if (special || (dwords == 3 && code >= code::ttmp0)) return false;
        uint32_t end = (code & ~3u) + dwords;
        return end <= (code < code::ttmp0 ? groups_end : code::null);
    }
};

const Rules& rules(Family family);

constexpr bool is_exec(uint32_t code) { return code == code::exec_lo || code == code::exec_hi; }

}  // namespace strata::isa
