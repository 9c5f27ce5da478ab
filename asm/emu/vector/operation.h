#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "strata/asm/emu/machine/wave.h"

// Parts that the vector-ALU handlers of all host variants share. They are the reading of an instruction's operands
// (Signature), its table entry, and the part of the work that needs no vectors.
namespace strata::emu {

/// How the bits of one operand are read. Packed kinds are two 16-bit values in a dword.
enum class Kind : uint8_t {
    none,
    f16,
    f32,
    f64,
    u16,
    u32,
    u64,
    i16,
    i32,
    i64,  ///< differ from the unsigned kinds in how a literal is extended
    pk_f16,
    pk_u16,
    bf16x2,
    mix,   ///< v_fma_mix: op_sel_hi chooses f32 or one f16 half; read as f32
    u128,  ///< four consecutive rows
    mask,  ///< one bit a lane in a scalar
    row,   ///< vector register taken by a handler of its own
};
constexpr bool is_float(Kind kind) { return kind == Kind::f16 || kind == Kind::f32 || kind == Kind::f64; }
constexpr bool is_16bit(Kind kind) { return kind == Kind::f16 || kind == Kind::u16 || kind == Kind::i16; }
constexpr bool is_64bit(Kind kind) { return kind == Kind::f64 || kind == Kind::u64 || kind == Kind::i64; }
constexpr bool is_packed(Kind kind) { return kind == Kind::pk_f16 || kind == Kind::pk_u16 || kind == Kind::bf16x2; }
constexpr int dwords(Kind kind) { return kind == Kind::u128 ? 4 : is_64bit(kind) ? 2 : 1; }

/// MODE register (RDNA3 ISA 3.4.2). Rounding: 0 nearest even, 1 up, 2 down, 3 to zero.
namespace mode {
constexpr uint32_t kRound32 = 0x3, kRound16_64 = 0xc, kDenorm32 = 0x30, kDenorm16_64 = 0xc0, kDx10Clamp = 0x100,
                   kIeee = 0x200;
constexpr uint32_t kFp16Ovfl = 1u << 23;                      ///< an overflowing half becomes the largest finite one
constexpr uint32_t kFloat = 0xff | kFp16Ovfl, kPlain = 0xf0;  ///< round to nearest, all denormals kept
/// No bit of the hardware: minimum and maximum by RDNA4's rules (V_MIN_NUM_F32), whatever IEEE says.
constexpr uint32_t kNumber = 1u << 31;
}  // namespace mode

/// State besides its operands that an operation may depend on.
struct Context {
    uint32_t mode = 0;
    bool clamp = false;
    uint8_t is_signed = 0;  ///< of the integer dot products: source i is signed
    uint8_t op_sel = 0;     ///< for operations that give it a meaning of their own
    bool ieee() const { return mode & mode::kIeee; }
};

/// 32 lanes of one instruction: rows of 32 dwords, modifiers applied already.
struct Lanes {
    const uint32_t* src[4][4];
    uint32_t* dst[4];
    uint32_t exec;
    uint32_t mask_in, mask_out;  ///< carry, condition
    uint32_t first_lane;         ///< 0 or 32
    Context context;
};
using LaneFunction = void (*)(Lanes&);

/// One operation: what it reads and writes, and the code for 32 lanes.
struct Signature {
    LaneFunction function = nullptr;
    uint8_t sources = 0;
    Kind src[4] = {};  ///< a fourth one is the implied VCC
    Kind dst = Kind::none;
    bool writes_mask = false;      ///< a carry-out or comparison result
    bool approximate = false;      ///< unaffected by the rounding mode (transcendental)
    bool keeps_denormals = false;  ///< sees denormals whatever MODE says
    bool never_overflows = false;  ///< an infinite half is no overflow
    bool toward_zero = false;      ///< rounds toward zero whatever MODE says
    bool ignores_mode = false;     ///< rounds to nearest and keeps denormals whatever MODE says
};

/// A row of the table of one family: `fast` (may be null) runs the instruction without modifiers, `general` any form.
struct ValuEntry {
    std::string_view mnemonic;
    Handler general;
    const Signature* signature;
    Handler direct = nullptr;                   ///< any operands, but no half selection, clamp, output modifier or DPP
    Handler fast[2] = {nullptr, nullptr};       ///< wave32, wave64
    Handler fast_vgpr[2] = {nullptr, nullptr};  ///< the same with all sources vector registers
    Handler fast_modified = nullptr;            ///< the same with signs and halves selected, any wave
};

/// VectorFields::flags.
namespace vector_flag {
constexpr uint32_t kLow2Pi = 0x1;      ///< << i: constant i is the f64 1/(2 pi), whose low dword is not zero
constexpr uint32_t kSignExtend = 0x8;  ///< << i: the high dword of constant i is its sign
constexpr uint32_t kHighDword = 0x40;  ///< << i: constant i is the high dword, the low one is zero
constexpr uint32_t kDpp = 0x200;       ///< VectorFields::dpp holds the DPP control
constexpr uint32_t kNoIeee =
    0x400;  ///< RDNA4, which has neither IEEE nor DX10_CLAMP: clamp makes NaN zero, omod counts
constexpr uint32_t kAlsoExec = 0x800;   ///< CDNA: it writes EXEC beside its own destination
constexpr uint32_t kSubDword = 0x1000;  ///< CDNA: VectorFields::sub_dword holds the selections of SDWA
constexpr uint32_t kZeroHigh = 0x2000;  ///< CDNA: a 16-bit result clears the upper half of the register
constexpr uint32_t kWaveDpp = 0x4000;   ///< CDNA: the DPP control moves lanes between rows
}  // namespace vector_flag

/// VectorFields::dpp: DPP16 has ctrl 0-8, row mask 9-12, bank mask 13-16, bound_ctrl 17; DPP8 eight 3-bit selects.
namespace dpp_bit {
constexpr uint32_t kFi = 1u << 24, kDpp8 = 1u << 25, kBoundCtrl = 1u << 17;
}

/// VectorFields::sub_dword: selection of the destination, what becomes of its other bits, selections and signs of
/// sources.
namespace sdwa_bit {
constexpr uint32_t kUnused = 3, kSource = 5, kSignExtend = 11;
}

/// Where each of 32 lanes reads under one DPP16 control; bit l of `valid`: lane l's source lies in its row.
struct alignas(64) DppMap {
    uint32_t from[32];
    uint32_t valid;
};
const DppMap& dpp16_map(uint32_t ctrl);

/// The operands as `signature` reads them; none: one of them has no meaning here.
std::optional<VectorFields> resolve_valu(const Decoded& decoded, const Signature& signature);
/// The same for the two halves of a VOPD.
std::optional<DualFields> resolve_vopd(const Decoded& decoded);
/// The handler of a table entry for resolved operands.
Handler pick_handler(const VectorFields& fields, const ValuEntry& entry, int wave_size);
/// Looks a mnemonic up in the families of one variant.
class ValuTable {
  public:
    explicit ValuTable(std::span<const std::span<const ValuEntry>> families);
    const ValuEntry* find(std::string_view mnemonic) const;

  private:
    struct Slot {
        std::string_view mnemonic;
        const ValuEntry* entry;
    };
    std::span<Slot> slots_;  ///< sorted; lives as long as the program
};

/// Sets the host's rounding and denormal handling as MODE asks for operands of `signature`; returns what to restore.
/// False in *possible: this host cannot.
uint32_t enter_float_mode(uint32_t mode, const Signature& signature, bool* possible);
void leave_float_mode(uint32_t saved);
const Op* fail_valu(Wave* wave, const Op* op, const char* text);

}  // namespace strata::emu
