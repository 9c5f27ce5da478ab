#pragma once
#include <fmt/format.h>

#include <string>

#include "strata/asm/isa/table_p.h"

namespace strata::isa {

/// One register, constant or literal as LLVM spells it. `packed`: the reals of a packed operand.
std::string print_operand(const Rules& rules, const Operand& operand, uint32_t literal, Reals packed);
/// A group of registers: "s[4:7]", "v2", "a0", "vcc_lo", "ttmp[0:1]".
std::string print_register(const Rules& rules, uint32_t code, int dwords);

/// The 16-bit immediate of a SOPP or SOPK instruction (s_waitcnt counters, hwreg, sendmsg, ...).
std::string print_simm(std::string_view mnemonic, uint16_t value, Family family);
/// The operand of s_sendmsg and s_sendmsg_rtn_*.
std::string print_message(uint32_t value, Family family);
/// The lane pattern in the offset of ds_swizzle_b32.
std::string print_swizzle(uint16_t offset);
/// th and scope of a memory instruction of RDNA4, each after a blank.
std::string print_cache_control(const Inst& inst);

/// The text of one instruction as it grows: operands set apart by commas, then words.
class Printer {
  public:
    Printer(const Inst& inst, Family family)
        : inst_(inst), row_(*inst.row), family_(family), cdna_(is_cdna(family)), rules_(rules(family)) {}

    std::string run();

  private:
    void item(std::string_view text) {
        out_ += first_ ? " " : ", ";
        out_ += text;
        first_ = false;
    }
    void word(std::string_view text) { (out_ += ' ') += text; }
    void bit_list(const char* name, uint32_t bits, uint32_t count);

    std::string mnemonic() const;
    std::string operand(const Operand& operand) const;
    std::string operand_or_off(const Operand& from) const { return from.present() ? operand(from) : "off"; }
    uint32_t unlisted_halves() const;
    std::string half(const Operand& from, std::string text, size_t bit) const;
    std::string source(size_t index) const;
    /// v_fma_mix_*: neg_hi is abs, and op_sel_hi says which sources are f16.
    bool mix() const { return row_.flags & kMix; }
    Type constant_type(size_t index) const;
    Type matrix_constant_type() const;
    std::string vopd() const;
    void alu();

    void modifiers();
    void packed_modifiers(uint32_t sources);
    void op_sel(uint32_t sources);
    void matrix();
    void sdwa();
    void dpp();

    void memory();
    void smem();
    void ds();
    void flat();
    void buffer();
    void image();
    void cache();
    void buffer_format();
    void cdna_buffer_format();
    void offset() {
        if (inst_.offset) word(fmt::format("offset:{}", inst_.offset));
    }

    const Inst& inst_;
    const Row& row_;
    Family family_;
    bool cdna_;
    const Rules& rules_;
    std::string out_;
    bool first_ = true;
};

}  // namespace strata::isa
