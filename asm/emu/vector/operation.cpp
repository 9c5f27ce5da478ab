#include "strata/asm/emu/vector/operation.h"

#include <algorithm>
#include <cfenv>
#include <memory>
#include <string>
#include <vector>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace strata::emu {
namespace {

using isa::Format;
using isa::Inst;
using isa::Operand;

/// Whether bit 7 of a 16-bit operand's register number is a half, as in RDNA's short encodings.
bool names_halves(const Choice& choice) {
    const Format format = choice.inst.encoding;
    return (format == Format::VOP1 || format == Format::VOP2 || format == Format::VOPC) && !is_cdna(choice.family());
}

/// CDNA clears the upper half of a register that takes a 16-bit result, but for the VOP3 instructions that can choose
/// the half (and v_div_fixup_f16, of their age), which keep the other one.
bool zeroes_high_half(const Choice& choice) {
    if (!is_cdna(choice.family())) return false;
    const isa::Row& row = *choice.inst.row;
    return !(row.modifiers & isa::mod::op_sel(15)) && row.mnemonic != "v_div_fixup_f16";
}

/// 0.5 -0.5 1 -1 2 -2 4 -4 1/(2 pi), codes 240..248.
constexpr uint16_t kInlineF16[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118};
constexpr uint32_t kInlineF32[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                   0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
constexpr uint32_t kInlineF64High[] = {0x3fe00000, 0xbfe00000, 0x3ff00000, 0xbff00000, 0x40000000,
                                       0xc0000000, 0x40100000, 0xc0100000, 0x3fc45f30};

void set_constant(Op& op, int i, uint32_t value, uint32_t flags = 0) {
    op.uniform |= 1u << i;
    op.constant |= 1u << i;
    op.src[i] = static_cast<uint32_t>(i);
    op.value[i] = value;
    op.imm |= flags;
}

void set_float_constant(Op& op, int i, int index, Kind kind) {
    const bool half_of_mix = kind == Kind::mix && op.op_sel_hi >> i & 1;
    if (is_64bit(kind)) {
        const bool inverse_2pi = index == 8;
        set_constant(op, i, kInlineF64High[index], inverse_2pi ? 1u << i : 1u << (6 + i));
    } else if (kind == Kind::f16 || kind == Kind::pk_f16 || half_of_mix) {
        set_constant(op, i, kInlineF16[index]);
    } else if (kind == Kind::bf16x2) {
        set_constant(op, i, kInlineF32[index] >> 16);
    } else {
        set_constant(op, i, kInlineF32[index]);  // 16-bit integers too: the hardware gives the f32 pattern
    }
}

void set_literal(Op& op, int i, uint32_t literal, Kind kind) {
    uint32_t flags = 0;
    if (kind == Kind::f64) flags = 1u << (6 + i);
    if (kind == Kind::i64) flags = 1u << (3 + i);
    set_constant(op, i, literal, flags);
}

void set_scalar(Op& op, int i, int code) {
    op.uniform |= 1u << i;
    op.src[i] = Wave::scalar_place(code);
}

bool set_source(const Choice& choice, const Op& core, int i, const Operand& operand, Kind kind) {
    Op& op = choice.op;
    const int code = operand.code;
    if (operand.is_vector()) {
        int vgpr = operand.row();
        if (is_16bit(kind) && vgpr >= 128 && names_halves(choice)) {
            vgpr -= 128;
            op.op_sel |= 1u << i;
        }
        op.src[i] = Wave::vector_place(vgpr, choice.wave_size);
    } else if (code == isa::code::null) {
        set_constant(op, i, 0);
    } else if (code < isa::code::inline_zero) {
        set_scalar(op, i, code);
    } else if (code <= 208) {
        set_constant(op, i, static_cast<uint32_t>(code <= 192 ? code - 128 : 192 - code),
                     is_64bit(kind) ? 1u << (3 + i) : 0);
    } else if (code >= isa::code::inline_half && code <= isa::code::inline_inv_2pi) {
        set_float_constant(op, i, code - isa::code::inline_half, kind);
    } else if (code == isa::code::literal) {
        set_literal(op, i, choice.inst.literal, kind);
    } else if (code == isa::code::scc) {
        op.uniform |= 1u << i;
        op.src[i] = static_cast<uint32_t>(offsetof(Wave, scc));
    } else if (core.constant >> i & 1) {  // apertures: what the core made of them
        const uint32_t* value = &core.value[core.src[i]];
        if (is_64bit(kind) && value[0] != 0) return false;
        set_constant(op, i, value[is_64bit(kind)], is_64bit(kind) ? 1u << (6 + i) : 0);
    } else if (core.uniform >> i & 1) {
        op.uniform |= 1u << i;
        op.src[i] = core.src[i];
    } else {
        return false;
    }
    return true;
}

uint32_t encode_dpp(const isa::Dpp& dpp) {
    const uint32_t fi = dpp.fi ? dpp_bit::kFi : 0;
    if (dpp.kind == isa::DppKind::dpp8) return dpp.select | fi | dpp_bit::kDpp8;
    return dpp.ctrl | uint32_t{dpp.row_mask} << 9 | uint32_t{dpp.bank_mask} << 13 | fi |
           (dpp.bound_ctrl ? dpp_bit::kBoundCtrl : 0);
}

/// DPP controls of CDNA between the rows of a wave64.
bool leaves_rows(uint32_t ctrl) {
    using namespace dpp_control;
    return ctrl == kWaveShl || ctrl == kWaveRol || ctrl == kWaveShr || ctrl == kWaveRor || ctrl == kRowBcast15 ||
           ctrl == kRowBcast31;
}

uint32_t encode_sdwa(const isa::Sdwa& sdwa) {
    return sdwa.dst_sel | uint32_t{sdwa.dst_unused} << sdwa_bit::kUnused |
           uint32_t{sdwa.src_sel[0]} << sdwa_bit::kSource | uint32_t{sdwa.src_sel[1]} << (sdwa_bit::kSource + 3) |
           uint32_t{sdwa.sext} << sdwa_bit::kSignExtend;
}

uint32_t mask_place(const Operand& operand) {
    if (!operand.present()) return Wave::scalar_place(isa::code::vcc_lo);
    return Wave::scalar_place(operand.code == isa::code::null ? Wave::kTrash : operand.code);
}

void resolve_destination(const Choice& choice, const Shape& shape) {
    const Inst& inst = choice.inst;
    Op& op = choice.op;
    if (shape.dst != Kind::none) {
        const Operand& operand = inst.dst[0];
        if (operand.is_vector()) {
            int vgpr = operand.row();
            if (is_16bit(shape.dst) && vgpr >= 128 && names_halves(choice)) {
                vgpr -= 128;
                op.op_sel |= 8;
            }
            op.dst = Wave::vector_place(vgpr, choice.wave_size);
        } else {
            op.dst = mask_place(operand);
        }
    }
    if (is_16bit(shape.dst) && zeroes_high_half(choice)) op.imm |= valu_flag::kZeroHigh;
    if (!shape.writes_mask) return;
    const bool to_exec = inst.row->mnemonic.starts_with("v_cmpx");
    if (to_exec && is_cdna(choice.family())) {
        op.dst2 = mask_place(inst.dst[0]);
        op.imm |= valu_flag::kAlsoExec;
    } else if (to_exec) {
        op.dst2 = Wave::scalar_place(isa::code::exec_lo);
        op.imm |= valu_flag::kExec;
    } else {
        op.dst2 = mask_place(inst.dst[shape.dst == Kind::none ? 0 : 1]);
    }
}

}  // namespace

bool resolve_valu(const Choice& choice, const Shape& shape) {
    const Inst& inst = choice.inst;
    Op& op = choice.op;
    const Op core = op;
    op.uniform = op.constant = 0;
    op.imm = 0;
    op.neg = inst.neg, op.abs = inst.abs, op.op_sel = inst.op_sel, op.op_sel_hi = inst.op_sel_hi,
    op.neg_hi = inst.neg_hi;
    op.omod_clamp = static_cast<uint8_t>(inst.omod | (inst.clamp ? 4 : 0));
    if (inst.row->mnemonic == "v_fma_mixhi_f16") op.op_sel |= 8;
    if (choice.family() == isa::Family::rdna4) op.imm |= valu_flag::kNanToZero;
    if (inst.encoding == Format::VOP3P && shape.dst == Kind::f32 && shape.src[0] == Kind::u32) {
        op.abs |= inst.neg_hi & 4;  // dot products of bytes: the addend alone has signs
    } else if (inst.encoding == Format::VOP3P &&
               shape.src[0] == Kind::u32) {  // integer dot products: neg tells signed operands
        op.omod_clamp |= static_cast<uint8_t>((inst.neg & 3) << 4);
        op.neg = 0;
    } else if (inst.encoding == Format::VOP3P && shape.src[0] == Kind::pk_u16) {
        op.neg = op.neg_hi = 0;  // integers have no sign modifiers, nor has what is added to their products
    }
    if (inst.encoding != Format::VOP3P) {
        for (int i = 0; i < shape.sources && i < 3; i++)
            if (is_packed(shape.src[i])) op.op_sel &= ~(1u << i);
        op.op_sel_hi = 7;
    }
    resolve_destination(choice, shape);
    for (int i = 0; i < shape.sources && i < 3; i++) {
        Operand operand = inst.src[i];
        if (shape.src[i] == Kind::mask && !operand.present()) operand.code = isa::code::vcc_lo;
        if (shape.src[i] != Kind::mask && !operand.present()) {  // an accumulator: the destination is the last source
            operand = inst.dst[0];
            if (op.op_sel & 8 && is_16bit(shape.src[i])) op.op_sel |= 1u << i;
        }
        if (!set_source(choice, core, i, operand, shape.src[i])) return false;
    }
    if (inst.sdwa.present) {
        if (!shape.kernel && shape.sources > 0) return false;
        op.aux = encode_sdwa(inst.sdwa);
        op.imm |= valu_flag::kSubDword;
    }
    if (inst.dpp.kind == isa::DppKind::none) return true;
    if (!shape.kernel) return shape.sources == 0;  // a handler of its own that knows no DPP
    if (is_cdna(choice.family()) && leaves_rows(inst.dpp.ctrl))
        op.imm |= valu_flag::kWaveDpp;
    else if (inst.dpp.kind == isa::DppKind::dpp16 && !dpp16_known(inst.dpp.ctrl))
        return false;
    op.value[3] = encode_dpp(inst.dpp);
    op.imm |= valu_flag::kDpp;
    return true;
}

bool resolve_vopd(const Choice& choice) {
    const Inst& inst = choice.inst;
    Op& op = choice.op;
    const Op core = op;
    op.uniform = op.constant = 0;
    op.neg = op.abs = op.op_sel = op.op_sel_hi = op.neg_hi = op.omod_clamp = 0;
    op.dst = Wave::vector_place(inst.dst[0].row(), choice.wave_size);
    op.dst2 = Wave::vector_place(inst.dst_y.row(), choice.wave_size);
    if (!set_source(choice, core, 0, inst.src[0], Kind::f32) || !set_source(choice, core, 2, inst.src_y[0], Kind::f32))
        return false;
    op.src[1] = Wave::vector_place(inst.src[1].is_vgpr() ? inst.src[1].row() : 0, choice.wave_size);
    op.value[3] = Wave::vector_place(inst.src_y[1].is_vgpr() ? inst.src_y[1].row() : 0, choice.wave_size);
    op.imm = inst.literal;
    op.aux = choice.family() == isa::Family::rdna4 ? mode::kNumber : 0;
    return true;
}

bool is_plain(const Op& op) {
    return !(op.neg | op.abs | op.op_sel | op.neg_hi | op.omod_clamp) && !(op.imm & valu_flag::kDpp);
}

Handler pick_handler(const Choice& choice, const ValuEntry& entry) {
    const int wide = choice.wave_size == 64;
    const Op& op = choice.op;
    if (op.imm & (valu_flag::kAlsoExec | valu_flag::kSubDword | valu_flag::kWaveDpp)) return entry.general;
    const int all = (1 << entry.shape->sources) - 1;
    const bool packed = is_packed(entry.shape->src[0]),
               plain = is_plain(op) && (!packed || (op.op_sel_hi & all) == all);
    if (!plain && !op.omod_clamp && !(op.imm & valu_flag::kDpp) && entry.fast_modified) return entry.fast_modified;
    if (op.op_sel | op.omod_clamp || (packed && !plain)) return entry.general;
    if (!plain || !entry.fast[wide]) return entry.direct ? entry.direct : entry.general;
    if (op.uniform == 0 && entry.fast_vgpr[wide]) return entry.fast_vgpr[wide];
    return entry.fast[wide];
}

ValuTable::ValuTable(std::span<const std::span<const ValuEntry>> families) {
    size_t count = 0;
    for (const auto& family : families) count += family.size();
    slots_ = {new Slot[count], count};
    size_t next = 0;
    for (const auto& family : families)
        for (const ValuEntry& entry : family) slots_[next++] = {entry.mnemonic, &entry};
    std::sort(slots_.begin(), slots_.end(), [](const Slot& a, const Slot& b) { return a.mnemonic < b.mnemonic; });
}

const ValuEntry* ValuTable::find(std::string_view mnemonic) const {
    const auto at = std::lower_bound(slots_.begin(), slots_.end(), mnemonic,
                                     [](const Slot& slot, std::string_view name) { return slot.mnemonic < name; });
    return at != slots_.end() && at->mnemonic == mnemonic ? at->entry : nullptr;
}

// ---- DPP16 (RDNA3 ISA 7.7.1) ----
namespace {

/// The lane that `lane` of a row of 16 reads; negative: outside the row.
int dpp16_source(uint32_t ctrl, int lane) {
    const int n = static_cast<int>(ctrl & 15);
    if (ctrl < 0x100) return (lane & ~3) | (ctrl >> (2 * (lane & 3)) & 3);  // quad_perm
    switch (ctrl >> 4) {
        case 0x10: return lane + n < 16 ? lane + n : -1;                            // row_shl
        case 0x11: return lane - n;                                                 // row_shr
        case 0x12: return (lane - n) & 15;                                          // row_ror
        case 0x15: return n;                                                        // row_share
        case 0x16: return lane ^ n;                                                 // row_xmask
        default: return ctrl == 0x140 ? 15 - lane : (lane & 8) | (7 - (lane & 7));  // row_mirror, row_half_mirror
    }
}

struct DppMaps {
    DppMap map[512];
    DppMaps() {
        for (uint32_t ctrl = 0; ctrl < 512; ctrl++) {
            map[ctrl].valid = 0;
            for (int lane = 0; lane < 32; lane++) {
                const int from = dpp16_known(ctrl) ? dpp16_source(ctrl, lane & 15) : 0;
                map[ctrl].from[lane] = static_cast<uint32_t>(from < 0 ? lane : (lane & 16) | from);
                if (from >= 0) map[ctrl].valid |= 1u << lane;
            }
        }
    }
};

}  // namespace

bool dpp16_known(uint32_t ctrl) {
    const uint32_t group = ctrl >> 4;
    if (ctrl < 0x100 || ctrl == 0x140 || ctrl == 0x141) return true;
    if (group >= 0x10 && group <= 0x12) return (ctrl & 15) != 0;
    return group == 0x15 || group == 0x16;
}

const DppMap& dpp16_map(uint32_t ctrl) {
    static const DppMaps maps;
    return maps.map[ctrl];
}

// ---- MODE ----
namespace {

/// The kind whose rounding and denormal bits rule the operation.
Kind ruling_kind(const Shape& shape) {
    if (shape.dst != Kind::none && shape.dst != Kind::u32) return shape.dst;
    return shape.src[0];
}

bool uses_single_bits(Kind kind) { return kind == Kind::f32 || kind == Kind::mix; }

}  // namespace

uint32_t enter_float_mode(uint32_t mode, const Shape& shape, bool* possible) {
    const Kind kind = ruling_kind(shape);
    const uint32_t rounding = shape.approximate ? 0 : (uses_single_bits(kind) ? mode : mode >> 2) & 3;
    // A half is computed in single precision on the host: its denormals are flushed by the handler itself.
    const bool single = uses_single_bits(kind) || uses_single_bits(shape.src[0]);
    const bool half = kind == Kind::f16 || kind == Kind::pk_f16;
    const uint32_t denormals = single ? mode >> 4 & 3 : half ? 3 : mode >> 6 & 3;
    *possible = true;
#if defined(__SSE__)
    constexpr uint32_t kHost[] = {0, 2, 1, 3};  // nearest, up, down, zero in the order of MODE
    const uint32_t saved = _mm_getcsr();
    uint32_t wanted = (saved & ~0xe040u) | kHost[rounding] << 13;
    if (!(denormals & 1)) wanted |= 0x40;
    if (!(denormals & 2)) wanted |= 0x8000;
    _mm_setcsr(wanted);
    return saved;
#else
    constexpr int kHost[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    const int saved = std::fegetround();
    *possible = denormals == 3 && std::fesetround(kHost[rounding]) == 0;
    return static_cast<uint32_t>(saved);
#endif
}

void leave_float_mode(uint32_t saved) {
#if defined(__SSE__)
    _mm_setcsr(saved);
#else
    std::fesetround(static_cast<int>(saved));
#endif
}

const Op* fail_valu(Wave* wave, const Op* op, const char* text) { return fail(wave, op, text); }

}  // namespace strata::emu
