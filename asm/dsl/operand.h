#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "strata/asm/isa/inst.h"
#include "strata/core/support/result.h"

namespace strata::isa {

enum class ImageDim : uint8_t;

/// A place in the code of one Assembler; made by Assembler::label().
struct Label {
    int id = -1;
    bool operator==(const Label&) const = default;
};

/// One operand as a small value: what names in Python, types in C++ and LLVM's spelling all become.
struct DynOperand {
    enum class Kind : uint8_t { off, vgpr, agpr, scalar, integer, real, label };

    Kind kind = Kind::off;  ///< off: no register, as in "global_load_b32 v0, v[2:3], off"
    bool negate = false, absolute = false;
    bool sign_extend = false;  ///< a narrow source of CDNA's SDWA
    bool reserved = false;     ///< CDNA's flat_scratch and xnack_mask, which are s102 to s105 of others
    enum class Half : uint8_t { none, lower, upper };
    Half half = Half::none;  ///< "v5.l" and "v5.h": the 16-bit operand's half of its register
    uint16_t index = 0;      ///< vgpr, agpr: its number; scalar: its code (code::)
    uint16_t count = 1;      ///< registers; 0 = as many as the instruction wants (vcc, exec, null)
    int64_t integer = 0;
    double real = 0;
    Label target = {};

    DynOperand() = default;
    DynOperand(Label label) : kind(Kind::label), target(label) {}
    DynOperand(int value) : kind(Kind::integer), integer(value) {}
    DynOperand(uint32_t value) : kind(Kind::integer), integer(value) {}
    DynOperand(int64_t value) : kind(Kind::integer), integer(value) {}
    DynOperand(uint64_t value) : kind(Kind::integer), integer(static_cast<int64_t>(value)) {}
    DynOperand(double value) : kind(Kind::real), real(value) {}

    static DynOperand vgpr(int first, int count = 1) { return register_of(Kind::vgpr, first, count); }
    /// An accumulation register of CDNA.
    static DynOperand agpr(int first, int count = 1) { return register_of(Kind::agpr, first, count); }
    /// A scalar register by its hardware code: 0 to 105 are s0 to s105, the rest is in code::.
    static DynOperand scalar(int code, int count = 1) { return register_of(Kind::scalar, code, count); }
    static DynOperand vcc() { return scalar(code::vcc_lo, 0); }
    static DynOperand exec() { return scalar(code::exec_lo, 0); }
    static DynOperand null() { return scalar(code::null, 0); }
    /// flat_scratch (code 102) and xnack_mask (104) of CDNA, or one half of them.
    static DynOperand reserved_scalar(int code, int count) {
        DynOperand operand = scalar(code, count);
        operand.reserved = true;
        return operand;
    }

    /// LLVM's spelling: "v0", "v[2:3]", "a[0:3]", "s4", "s[4:7]", "vcc_lo", "null", "off", "-v1", "|v2|", "0x10", "-1",
    /// "0.5". Error (Assembly) for anything else.
    static Result<DynOperand> parse(std::string_view text);

  private:
    static DynOperand register_of(Kind kind, int index, int count) {
        DynOperand operand;
        operand.kind = kind;
        operand.index = static_cast<uint16_t>(index);
        operand.count = static_cast<uint16_t>(count);
        return operand;
    }
};

/// The LLVM spelling of an operand; labels appear as "<label>".
std::string to_string(const DynOperand& operand);

/// Everything after the operands of an instruction. Helpers in strata/asm/dsl/modifiers.h make them; | joins them.
struct Modifiers {
    enum class Encoding : uint8_t { any, e32, e64 };

    Encoding encoding = Encoding::any;
    Dpp dpp{};
    uint8_t neg = 0, abs = 0, op_sel = 0, neg_hi = 0, omod = 0;  ///< bit i belongs to source i
    std::optional<uint8_t> op_sel_hi{};                          ///< absent: the instruction's default
    bool clamp = false;
    int32_t offset = 0;
    uint8_t offset1 = 0;  ///< second offset of the two-address DS instructions
    bool glc = false, slc = false, dlc = false, gds = false, tfe = false, offen = false, idxen = false;
    std::optional<uint8_t> buffer_format{};  ///< of tbuffer instructions; absent: 8_unorm
    uint8_t op_sel_count = 0;                ///< bits that a text lists; the one after the sources is the destination's
    uint8_t th = 0, scope = 0;               ///< RDNA4: temporal hint and scope of memory instructions
    uint8_t byte_sel = 0, index_key = 0;     ///< RDNA4: the byte of an 8-bit conversion, the half of a sparse index
    uint8_t wait_exp = 0;                    ///< RDNA: what an interpolation waits for EXPcnt to fall to
    uint8_t dmask = 0;                       ///< images: bit i is component i
    std::optional<ImageDim> image_dim{};
    bool unnormalized = false;
    // CDNA: glc is sc0 and slc is nt on gfx942
    bool sc1 = false, lds = false;
    bool bound_ctrl_zero = false;          ///< "bound_ctrl:0", which sets the bit before RDNA3
    uint8_t cbsz = 0, abid = 0, blgp = 0;  ///< MFMA
    Sdwa sdwa{.dst_unused = Sdwa::preserve};
};
Modifiers operator|(const Modifiers& a, const Modifiers& b);

/// Sets the modifier spelled `text` in LLVM syntax: "offset:16", "glc", "row_shr:8", "quad_perm:[0,1,2,3]", "clamp".
Result<void> parse_modifier(std::string_view text, Modifiers& modifiers);

/// Outstanding operations that a wait allows (RDNA3 ISA, "Data dependency resolution"); unset counters do not wait.
struct Waits {
    static constexpr uint8_t kNone = 0xff;
    uint8_t vmcnt = kNone, lgkmcnt = kNone, expcnt = kNone;
};
/// The immediate of s_waitcnt of RDNA3 and CDNA.
uint16_t wait_immediate(const Waits& waits, Family family = Family::rdna3);
constexpr uint16_t kMessageDeallocVgprs = 3;  ///< operand of s_sendmsg (RDNA3 ISA, "S_SENDMSG")

/// The immediate spelled as LLVM does: "vmcnt(0) lgkmcnt(1)", "sendmsg(MSG_DEALLOC_VGPRS)", "hwreg(HW_REG_MODE, 0, 4)".
/// Nothing when the text is no such spelling.
std::optional<uint16_t> parse_immediate(Family family, std::string_view mnemonic, std::string_view text);

}  // namespace strata::isa
