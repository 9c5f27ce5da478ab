#pragma once
#include <fmt/format.h>

#include <string>

#include "strata/asm/isa/inst.h"

namespace strata::isa {

/// What a packed operand's literal is compared with when LLVM 19 looks for an inline constant of the same value.
enum class Packed : uint8_t { integer, f16, bf16 };

/// One register, constant or literal as LLVM spells it.
std::string print_operand(const Operand& operand, uint32_t literal, Packed packed);
/// A group of registers: "s[4:7]", "v2", "vcc_lo", "ttmp[0:1]".
std::string print_register(uint32_t code, int dwords);

/// The 16-bit immediate of a SOPP or SOPK instruction (s_waitcnt counters, hwreg, sendmsg, ...).
std::string print_simm(std::string_view mnemonic, uint16_t value, Family family);
/// The operand of s_sendmsg_rtn_*.
std::string print_message(uint32_t value, Family family);
/// The lane pattern in the offset of ds_swizzle_b32.
std::string print_swizzle(uint16_t offset);
/// th and scope of a memory instruction of RDNA4, each after a blank.
std::string print_cache_control(const Inst& inst);

/// An instruction of CDNA2 or CDNA3, whose spelling differs, and the immediates of its SOPP, SOPK and SOPC forms.
std::string print_cdna(const Inst& inst, Family family);
std::string print_cdna_simm(std::string_view mnemonic, uint16_t value, Family family);
/// How a 16-bit immediate is spelled that has no syntax of its own.
std::string print_plain_simm(std::string_view mnemonic, uint16_t value);
/// quad_perm:[0,1,2,3], row_shl:1, ...
std::string print_dpp_control(uint32_t ctrl);

/// The text of one instruction as it grows: operands set apart by commas, then words.
struct InstText {
    void item(std::string_view text) {
        out_ += first_ ? " " : ", ";
        out_ += text;
        first_ = false;
    }
    void word(std::string_view text) { (out_ += ' ') += text; }
    void bit_list(const char* name, uint32_t bits, uint32_t count) {
        std::string text;
        for (uint32_t i = 0; i < count; ++i) text += fmt::format("{}{}", i ? "," : "", bits >> i & 1);
        word(fmt::format("{}:[{}]", name, text));
    }

    std::string out_;
    bool first_ = true;
};

}  // namespace strata::isa
