#include "valu_form.h"

#include <string>

namespace strata::emu::rows {
namespace {

using isa::Format;
using isa::Inst;
using isa::Operand;
using isa::Row;
using isa::Type;
namespace code = isa::code;
namespace mod = isa::mod;

bool small(Format format) { return format == Format::VOP1 || format == Format::VOP2 || format == Format::VOPC; }

Operand operand(const Row& row, uint8_t kind, Type type, bool source, int n) {
    const int mask = small(row.format) ? kVcc : source ? kMaskIn : kMaskOut;
    const int vector = source ? kSrc + kSrcStep * n : kDst;
    if (type == Type::lanes) return {static_cast<uint16_t>(mask), type};
    if (kind & isa::kVgpr) return {static_cast<uint16_t>(code::vgpr0 + vector), type};
    if (kind & isa::kAgpr) return {static_cast<uint16_t>(code::agpr0 + vector), type};
    if (kind & isa::kSgpr) return {static_cast<uint16_t>(source ? kScalarIn + 2 * n : kScalarOut), type};
    return {code::literal, type};
}

Inst plain(const Row& row, Values& values) {
    Inst inst;
    inst.row = &row;
    inst.encoding = row.format;
    for (int i = 0; i < 2; ++i)
        if (row.dst_kind[i]) inst.dst[i] = operand(row, row.dst_kind[i], row.dst[i], false, i);
    for (int i = 0; i < 4; ++i)
        if (row.src_kind[i]) inst.src[i] = operand(row, row.src_kind[i], row.src[i], true, i);
    inst.op_sel_hi = row.modifiers >> 10 & 7;
    for (const Operand& source : inst.src)
        if (source.is_literal())
            inst.literal = static_cast<uint32_t>(values.of(source.type)) & (is_16bit(source.type) ? 0xffff : ~0u);
    return inst;
}

bool mixes(const Row& row) { return row.mnemonic.starts_with("v_fma_mix"); }

/// Modifiers that are the same for every source kind, drawn from those the row takes.
void draw_modifiers(Inst& inst, Values& values) {
    const Row& row = *inst.row;
    auto pick = [&](uint32_t shift, uint32_t mask) {
        return static_cast<uint8_t>(row.modifiers >> shift & mask & values.next() >> 20);
    };
    inst.neg = pick(0, 7), inst.abs = pick(3, 7), inst.op_sel = pick(6, 15), inst.neg_hi = pick(13, 7);
    if (row.modifiers >> 10 & 7) inst.op_sel_hi = pick(10, 7);
    inst.clamp = row.modifiers & mod::clamp && values.chance(2);
    // The sign of a pair in VOP3 is that of its halves together, which no document tells.
    if (row.format == Format::VOP3)
        for (int i = 0; i < 3; ++i)
            if (row.src[i] == Type::pk16)
                inst.neg &= static_cast<uint8_t>(~(1 << i)), inst.abs &= static_cast<uint8_t>(~(1 << i)),
                    inst.op_sel &= static_cast<uint8_t>(~(1 << i));
    // A third source of 32 bits has no halves.
    if (row.format == Format::VOP3P && !mixes(row))
        for (int i = 0; i < 3; ++i)
            if (row.src[i] != Type::pk16 && row.src[i] != Type::pk32) {
                inst.op_sel &= static_cast<uint8_t>(~(1 << i)), inst.neg_hi &= static_cast<uint8_t>(~(1 << i));
                inst.op_sel_hi |= static_cast<uint8_t>(row.modifiers >> 10 & (1 << i));
            }
}

bool draw_dpp(Inst& inst, Values& values) {
    const Row& row = *inst.row;
    if (!(row.modifiers & mod::dpp) || !inst.src[0].is_vgpr()) return false;
    inst.dpp.kind = isa::DppKind::dpp16;
    inst.dpp.ctrl = 0x111;  // row_shr:1
    inst.dpp.bound_ctrl = inst.dst[0].type == Type::lanes || inst.dst[1].present() || values.chance(2);
    return true;
}

isa::Sdwa::Select draw_select(Type type, Values& values) {
    using isa::Sdwa;
    if (type == Type::f32 || type == Type::f64 || type == Type::pk16 || type == Type::pk32) return Sdwa::dword;
    if (type == Type::f16) return values.chance(2) ? Sdwa::word0 : Sdwa::word1;
    const uint32_t n = values.below(is_16bit(type) ? 6 : 7);
    return static_cast<Sdwa::Select>(n);
}
/// Byte and word selections; the upper half of what holds no 16-bit result is not asked about.
bool draw_sdwa(Inst& inst, Values& values) {
    const Row& row = *inst.row;
    if (!(row.modifiers & mod::sdwa)) return false;
    for (const char* accumulates : {"v_mac_", "v_fmac_", "v_dot", "v_pk_fmac", "v_swap"})
        if (row.mnemonic.starts_with(accumulates)) return false;
    isa::Sdwa& sdwa = inst.sdwa;
    sdwa.present = true;
    for (int i = 0; i < 2; ++i) {
        const Operand& source = inst.src[i];
        if (!source.present() || source.type == Type::lanes) continue;
        sdwa.src_sel[i] = draw_select(source.type, values);
        if (!is_float(source.type) && values.chance(2)) sdwa.sext |= static_cast<uint8_t>(1 << i);
    }
    if (inst.dst[0].type == Type::lanes) return true;
    sdwa.dst_sel = draw_select(inst.dst[0].type, values);
    // The sign that extends a NaN, or a zero that is nearly something else, is left open.
    const bool extends = !is_float(inst.dst[0].type) && values.chance(3);
    if (sdwa.dst_sel != isa::Sdwa::dword)
        sdwa.dst_unused = extends ? isa::Sdwa::sign_extend : values.chance(2) ? isa::Sdwa::preserve : isa::Sdwa::pad;
    return true;
}

std::optional<Inst> coded(isa::Arch arch, const Inst& inst) {
    const auto words = isa::encode(arch, inst);
    if (!words) return std::nullopt;
    const auto again = isa::decode(arch, std::span(words->words).first(static_cast<size_t>(words->count)));
    return again ? std::optional(*again) : std::nullopt;
}

}  // namespace

bool follows_mode(const Row& row) {
    if (row.format == Format::VINTERP) return true;
    std::string name(row.mnemonic);
    if (name.starts_with("v_dual_")) name.erase(2, 5);
    if (!name.ends_with("_f16") && !name.ends_with("_f32") && !name.ends_with("_f64")) return false;
    for (const std::string_view stem : {"v_add", "v_sub", "v_subrev", "v_mul", "v_fma", "v_fmac", "v_fmaak", "v_fmamk",
                                        "v_pk_add", "v_pk_mul", "v_pk_fma", "v_pk_fmac"})
        if (name.substr(0, name.size() - 4) == stem) return true;
    return false;
}

bool only_rounds(const Row& row) {
    for (const std::string_view name :
         {"v_cvt_f32_i32",      "v_cvt_f32_u32",      "v_cvt_f16_f32",        "v_cvt_f16_i16",       "v_cvt_f16_u16",
          "v_fma_mix_f32",      "v_dot2_f16_f16",     "v_cvt_pk_rtz_f16_f32", "v_cvt_pkrtz_f16_f32", "v_trunc_f32",
          "v_rndne_f32",        "v_rndne_f64",        "v_rndne_f16",          "v_floor_f32",         "v_ceil_f64",
          "v_max3_f32",         "v_med3_f16",         "v_cvt_i32_f32",        "v_cvt_u16_f16",       "v_cvt_pk_i16_f32",
          "v_mul_dx9_zero_f32", "v_fma_dx9_zero_f32", "v_mul_legacy_f32",     "v_cubema_f32",        "v_div_scale_f32",
          "v_div_scale_f64",    "v_div_fmas_f32",     "v_div_fmas_f64",       "v_div_fixup_f32",     "v_div_fixup_f64"})
        if (row.mnemonic == name) return true;
    return false;
}

std::optional<Inst> form(isa::Arch arch, const Row& row, Variant variant, Values& values) {
    Inst inst = plain(row, values);
    // CDNA writes the mask of v_cmpx to its destination, too.
    if (!isa::is_cdna(isa::info(arch).family) && row.mnemonic.starts_with("v_cmpx")) inst.dst[0].code = code::exec_lo;
    if (variant == Variant::modifiers) {
        if (small(row.format)) return std::nullopt;
        draw_modifiers(inst, values);
    }
    if (variant == Variant::mode) {
        if (!follows_mode(row) && !only_rounds(row)) return std::nullopt;
        if (follows_mode(row) && !small(row.format) && row.modifiers & mod::omod)
            inst.omod = static_cast<uint8_t>(values.below(4));
    }
    if (variant == Variant::dpp && !draw_dpp(inst, values)) return std::nullopt;
    if (variant == Variant::sdwa && !draw_sdwa(inst, values)) return std::nullopt;
    return coded(arch, inst);
}

std::optional<Inst> dual_form(isa::Arch arch, const Row& row, bool as_x, Values& values) {
    const Row* move = isa::find_row(isa::info(arch).family, "v_dual_mov_b32", Format::VOPD);
    Inst inst;
    // Sources of either half in different banks, destinations of different parity.
    auto vgpr = [](int n, Type type) { return Operand{static_cast<uint16_t>(code::vgpr0 + n), type}; };
    inst.encoding = Format::VOPD;
    inst.row = as_x ? &row : move;
    inst.row_y = as_x ? move : &row;
    inst.dst[0] = vgpr(kDst, inst.row->dst[0]);
    inst.dst_y = vgpr(kDst + 1, inst.row_y->dst[0]);
    for (int i = 0; i < 2; ++i) {
        if (inst.row->src_kind[i]) inst.src[i] = vgpr(kSrc + i, inst.row->src[i]);
        if (inst.row_y->src_kind[i]) inst.src_y[i] = vgpr(kSrc + 2 + i, inst.row_y->src[i]);
    }
    inst.literal = static_cast<uint32_t>(values.of(Type::f32));
    return coded(arch, inst);
}

}  // namespace strata::emu::rows
