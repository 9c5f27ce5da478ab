#include "strata/asm/emu/vector/operation.h"

#include <algorithm>
#include <cfenv>
#include <memory>
#include <string>
#include <vector>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "strata/asm/emu/machine/operands.h"
#include "strata/asm/isa/dpp.h"

namespace strata::emu {
namespace {

using isa::Format;
using isa::Inst;
using isa::Operand;

/// True if bit 7 of a 16-bit operand's register number is a half, as in RDNA's short encodings.
bool names_halves(const Decoded& decoded) {
    const Format format = decoded.inst.encoding;
    return (format == Format::VOP1 || format == Format::VOP2 || format == Format::VOPC) && !is_cdna(decoded.family());
}

/// CDNA clears the upper half of a register that takes a 16-bit result. VOP3 instructions that can choose the half, and
/// v_div_fixup_f16, of their age, keep the other one.
bool zeroes_high_half(const Decoded& decoded) {
    if (!is_cdna(decoded.family())) return false;
    const isa::Row& row = *decoded.inst.row;
    return !(row.modifiers & isa::mod::op_sel(15)) && row.mnemonic != "v_div_fixup_f16";
}

/// One source: a register's place, or a constant with the vector_flag of source 0 that extends it.
struct Source {
    Place place = 0;
    bool uniform = false, constant = false, upper = false;  ///< upper: the register's upper half
    uint32_t value = 0;
    uint32_t flags = 0;
};

Source constant_source(uint32_t value, uint32_t flags = 0) { return {0, true, true, false, value, flags}; }
Source scalar_source(Place place) { return {place, true}; }

/// An inline constant of a pair of brain floats is both of them (RDNA3 ISA 7.5.1, RDNA4 ISA 7.2.1).
uint32_t in_both_halves(uint32_t value) { return (value & 0xffff) * 0x10001; }

Source real_constant(const isa::InlineReal& real, Kind kind, bool half_of_mix) {
    using namespace vector_flag;
    if (is_64bit(kind))
        return constant_source(static_cast<uint32_t>(real.f64 >> 32), real.f64 << 32 ? kLow2Pi : kHighDword);
    if (kind == Kind::f16 || kind == Kind::pk_f16 || half_of_mix) return constant_source(real.f16);
    if (kind == Kind::bf16x2)
        return constant_source(in_both_halves(static_cast<uint32_t>(real.bits(isa::Reals::bf16))));
    return constant_source(real.f32);  // 16-bit integers too: the hardware gives the f32 pattern
}

Source literal_source(uint32_t literal, Kind kind) {
    using namespace vector_flag;
    return constant_source(literal, kind == Kind::f64 ? kHighDword : kind == Kind::i64 ? kSignExtend : 0);
}

/// Source `i`, of which a half is read if `half_of_mix`; none: the operand has no meaning here.
std::optional<Source> source_of(const Decoded& decoded, const Operand& operand, Kind kind, bool half_of_mix = false) {
    const int code = operand.code;
    if (operand.is_vector()) {
        const bool upper = is_16bit(kind) && operand.row() >= 128 && names_halves(decoded);
        return Source{Wave::vector_place(operand.row() - (upper ? 128 : 0), decoded.wave_size), false, false, upper};
    }
    if (code == isa::code::null) return constant_source(0);
    if (code < isa::code::inline_zero) return scalar_source(Wave::scalar_place(code));
    if (isa::is_inline_integer(operand.code)) {
        const auto value = static_cast<uint32_t>(isa::inline_integer(operand.code));
        return constant_source(kind == Kind::bf16x2 ? in_both_halves(value) : value,
                               is_64bit(kind) ? vector_flag::kSignExtend : 0);
    }
    if (isa::is_inline_real(operand.code)) return real_constant(isa::inline_real(operand.code), kind, half_of_mix);
    if (code == isa::code::literal) return literal_source(decoded.inst.literal, kind);
    if (code == isa::code::scc) return scalar_source(static_cast<Place>(offsetof(Wave, scc)));
    if (code == isa::code::vccz || code == isa::code::execz) return scalar_source(zero_flag_place(operand));
    const uint64_t value = constant_value(operand, 0);  // an aperture
    if (!is_64bit(kind)) return constant_source(static_cast<uint32_t>(value));
    if (static_cast<uint32_t>(value) != 0) return {};
    return constant_source(static_cast<uint32_t>(value >> 32), vector_flag::kHighDword);
}

void set_source(VectorFields& fields, int i, const Source& source) {
    fields.src[i] = source.place;
    fields.uniform |= static_cast<uint8_t>(source.uniform << i);
    fields.constant |= static_cast<uint8_t>(source.constant << i);
    fields.op_sel |= static_cast<uint8_t>(source.upper << i);
    fields.value[i] = source.value;
    fields.flags |= static_cast<uint16_t>(source.flags << i);
}

uint32_t encode_dpp(const isa::Dpp& dpp) {
    const uint32_t fi = dpp.fi ? dpp_bit::kFi : 0;
    if (dpp.kind == isa::DppKind::dpp8) return dpp.select | fi | dpp_bit::kDpp8;
    return dpp.ctrl | uint32_t{dpp.row_mask} << 9 | uint32_t{dpp.bank_mask} << 13 | fi |
           (dpp.bound_ctrl ? dpp_bit::kBoundCtrl : 0);
}

/// DPP controls of CDNA between the rows of a wave64.
bool leaves_rows(uint32_t ctrl) {
    using namespace isa::dpp16;
    return ctrl == wave_shl || ctrl == wave_rol || ctrl == wave_shr || ctrl == wave_ror || ctrl == row_bcast15 ||
           ctrl == row_bcast31;
}

uint16_t encode_sdwa(const isa::Sdwa& sdwa) {
    return static_cast<uint16_t>(
        sdwa.dst_sel | uint32_t{sdwa.dst_unused} << sdwa_bit::kUnused | uint32_t{sdwa.src_sel[0]} << sdwa_bit::kSource |
        uint32_t{sdwa.src_sel[1]} << (sdwa_bit::kSource + 3) | uint32_t{sdwa.sext} << sdwa_bit::kSignExtend);
}

Place mask_place(const Operand& operand) {
    if (!operand.present()) return Wave::scalar_place(isa::code::vcc_lo);
    return Wave::scalar_place(operand.code == isa::code::null ? Wave::kTrash : operand.code);
}

void resolve_destination(const Decoded& decoded, const Signature& signature, VectorFields& fields) {
    const Inst& inst = decoded.inst;
    if (signature.dst != Kind::none) {
        const Operand& operand = inst.dst[0];
        if (operand.is_vector()) {
            int vgpr = operand.row();
            if (is_16bit(signature.dst) && vgpr >= 128 && names_halves(decoded)) {
                vgpr -= 128;
                fields.op_sel |= 8;
            }
            fields.dst = Wave::vector_place(vgpr, decoded.wave_size);
        } else {
            fields.dst = mask_place(operand);
        }
    }
    if (is_16bit(signature.dst) && zeroes_high_half(decoded)) fields.flags |= vector_flag::kZeroHigh;
    if (!signature.writes_mask) return;
    const bool to_exec = inst.row->mnemonic.starts_with("v_cmpx");
    if (to_exec && is_cdna(decoded.family())) {
        fields.dst2 = mask_place(inst.dst[0]);
        fields.flags |= vector_flag::kAlsoExec;
    } else if (to_exec) {
        fields.dst2 = Wave::scalar_place(isa::code::exec_lo);
    } else {
        fields.dst2 = mask_place(inst.dst[signature.dst == Kind::none ? 0 : 1]);
    }
}

/// Signs, halves and output of the instruction, as far as they mean something to its operands.
void resolve_modifiers(const Decoded& decoded, const Signature& signature, VectorFields& fields) {
    const Inst& inst = decoded.inst;
    fields.neg = inst.neg, fields.abs = inst.abs, fields.neg_hi = inst.neg_hi;
    fields.op_sel = inst.op_sel, fields.op_sel_hi = inst.op_sel_hi;
    fields.omod = inst.omod & 3;
    fields.clamp = inst.clamp;
    if (inst.row->mnemonic == "v_fma_mixhi_f16") fields.op_sel |= 8;
    if (decoded.family() == isa::Family::rdna4) fields.flags |= vector_flag::kNoIeee;
    if (inst.encoding != Format::VOP3P) {
        for (int i = 0; i < signature.sources && i < 3; ++i)
            if (is_packed(signature.src[i])) fields.op_sel &= static_cast<uint8_t>(~(1u << i));
        fields.op_sel_hi = 7;
    } else if (signature.dst == Kind::f32 && signature.src[0] == Kind::u32) {
        fields.abs |= inst.neg_hi & 4;  // dot products of bytes: the addend alone has signs
    } else if (signature.src[0] == Kind::u32 || (signature.src[0] == Kind::pk_u16 && signature.src[2] == Kind::i32)) {
        fields.is_signed = inst.neg & 3;  // integer dot products: neg tells signed operands
        fields.neg = fields.neg_hi = 0;
    } else if (signature.src[0] == Kind::pk_u16) {
        fields.neg = fields.neg_hi = 0;  // integers have no sign modifiers, nor has what is added to their products
    }
}

/// DPP; false: it has no meaning here.
bool resolve_dpp(const Decoded& decoded, const Signature& signature, VectorFields& fields) {
    const isa::Dpp& dpp = decoded.inst.dpp;
    if (dpp.kind == isa::DppKind::none) return true;
    if (!signature.function) return signature.sources == 0;  // a handler of its own that knows no DPP
    if (is_cdna(decoded.family()) && leaves_rows(dpp.ctrl))
        fields.flags |= vector_flag::kWaveDpp;
    else if (dpp.kind == isa::DppKind::dpp16 && !isa::knows_dpp16(decoded.family(), dpp.ctrl))
        return false;
    fields.dpp = encode_dpp(dpp);
    fields.flags |= vector_flag::kDpp;
    return true;
}

}  // namespace

std::optional<VectorFields> resolve_valu(const Decoded& decoded, const Signature& signature) {
    const Inst& inst = decoded.inst;
    VectorFields fields;
    resolve_modifiers(decoded, signature, fields);
    resolve_destination(decoded, signature, fields);
    for (int i = 0; i < signature.sources && i < 3; ++i) {
        Operand operand = inst.src[static_cast<size_t>(i)];
        if (signature.src[i] == Kind::mask && !operand.present()) operand.code = isa::code::vcc_lo;
        if (signature.src[i] != Kind::mask &&
            !operand.present()) {  // an accumulator: the destination is the last source
            operand = inst.dst[0];
            if (fields.op_sel & 8 && is_16bit(signature.src[i])) fields.op_sel |= static_cast<uint8_t>(1u << i);
        }
        const bool half_of_mix = signature.src[i] == Kind::mix && fields.op_sel_hi >> i & 1;
        const std::optional<Source> source = source_of(decoded, operand, signature.src[i], half_of_mix);
        if (!source) return {};
        set_source(fields, i, *source);
    }
    if (inst.sdwa.present) {
        if (!signature.function && signature.sources > 0) return {};
        fields.sub_dword = encode_sdwa(inst.sdwa);
        fields.flags |= vector_flag::kSubDword;
    }
    if (!resolve_dpp(decoded, signature, fields)) return {};
    return fields;
}

std::optional<DualFields> resolve_vopd(const Decoded& decoded) {
    const Inst& inst = decoded.inst;
    auto row = [&](const Operand& operand) { return Wave::vector_place(operand.row(), decoded.wave_size); };
    DualFields fields;
    fields.dst[0] = row(inst.dst[0]), fields.dst[1] = row(inst.dst_y);
    const Operand* const first[] = {&inst.src[0], &inst.src_y[0]};
    const Operand* const second[] = {&inst.src[1], &inst.src_y[1]};
    for (int i = 0; i < 2; ++i) {
        const std::optional<Source> source = source_of(decoded, *first[i], Kind::f32);
        if (!source) return {};
        fields.first[i] = source->place;
        fields.uniform |= static_cast<uint8_t>(source->uniform << i);
        fields.constant |= static_cast<uint8_t>(source->constant << i);
        fields.value[i] = source->value;
        fields.second[i] = Wave::vector_place(second[i]->is_vgpr() ? second[i]->row() : 0, decoded.wave_size);
    }
    fields.literal = inst.literal;
    fields.mode_bits = decoded.family() == isa::Family::rdna4 ? mode::kNumber : 0;
    return fields;
}

Handler pick_handler(const VectorFields& fields, const ValuEntry& entry, int wave_size) {
    using namespace vector_flag;
    const int wide = wave_size == 64;
    if (fields.flags & (kAlsoExec | kSubDword | kWaveDpp)) return entry.general;
    const bool dpp = fields.flags & kDpp, output = fields.omod || fields.clamp || fields.is_signed;
    const bool modified = fields.neg | fields.abs | fields.op_sel | fields.neg_hi;
    const int all = (1 << entry.signature->sources) - 1;
    const bool packed = is_packed(entry.signature->src[0]);
    const bool plain = !modified && !output && !dpp && (!packed || (fields.op_sel_hi & all) == all);
    if (!plain && !output && !dpp && entry.fast_modified) return entry.fast_modified;
    if (fields.op_sel || output || (packed && !plain)) return entry.general;
    if (!plain || !entry.fast[wide]) return entry.direct ? entry.direct : entry.general;
    if (fields.uniform == 0 && entry.fast_vgpr[wide]) return entry.fast_vgpr[wide];
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
    using namespace isa::dpp16;
    const int n = static_cast<int>(ctrl & 15);
    if (ctrl < quad_perms) return (lane & ~3) | (ctrl >> (2 * (lane & 3)) & 3);
    switch (ctrl - n) {
        case row_shl - 1: return lane + n < 16 ? lane + n : -1;
        case row_shr - 1: return lane - n;
        case row_ror - 1: return (lane - n) & 15;
        case row_share: return n;
        case row_xmask: return lane ^ n;
        default: return ctrl == row_mirror ? 15 - lane : (lane & 8) | (7 - (lane & 7));  // or row_half_mirror
    }
}

struct DppMaps {
    DppMap map[512];
    DppMaps() {
        for (uint32_t ctrl = 0; ctrl < 512; ++ctrl) {
            map[ctrl].valid = 0;
            for (int lane = 0; lane < 32; ++lane) {
                const int from = isa::knows_dpp16(isa::Family::rdna3, ctrl) ? dpp16_source(ctrl, lane & 15) : 0;
                map[ctrl].from[lane] = static_cast<uint32_t>(from < 0 ? lane : (lane & 16) | from);
                if (from >= 0) map[ctrl].valid |= 1u << lane;
            }
        }
    }
};

}  // namespace

const DppMap& dpp16_map(uint32_t ctrl) {
    static const DppMaps maps;
    return maps.map[ctrl];
}

// ---- MODE ----
namespace {

/// The kind whose rounding and denormal bits rule the operation.
Kind ruling_kind(const Signature& signature) {
    if (signature.dst != Kind::none && signature.dst != Kind::u32) return signature.dst;
    return signature.src[0];
}

bool uses_single_bits(Kind kind) { return kind == Kind::f32 || kind == Kind::mix; }

}  // namespace

uint32_t enter_float_mode(uint32_t mode, const Signature& signature, bool* possible) {
    const Kind kind = ruling_kind(signature);
    const uint32_t of_mode = signature.approximate ? 0 : (uses_single_bits(kind) ? mode : mode >> 2) & 3;
    const uint32_t rounding = signature.toward_zero ? 3 : of_mode;
    // A half is computed in single precision on the host: its denormals are flushed by the handler itself.
    const bool single = uses_single_bits(kind) || uses_single_bits(signature.src[0]);
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
