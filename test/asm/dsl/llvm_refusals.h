#pragma once
#include <cstdlib>
#include <set>
#include <string_view>
#include <utility>

#include "strata/asm/isa/table_p.h"

// Text that LLVM 19's disassembler prints and its own assembler does not take. Each is a property of the instruction
// and the assembler's complaint: a test that meets another complaint, or none where one is due, fails.
namespace strata::isa {

struct Refusal {
    bool (*applies)(const Inst&, Family);
    std::string_view complaint;
};

namespace refusal {

inline bool starts(const Inst& inst, std::string_view prefix) { return inst.row->mnemonic.starts_with(prefix); }
inline bool literal_at(const Inst& inst, size_t i) { return inst.src[i].present() && inst.src[i].is_literal(); }

/// A double's literal is its upper dword in hexadecimal, which the assembler takes with neither sign nor bars.
inline bool signed_double_literal(const Inst& inst, Family family) {
    if (is_cdna(family)) return false;
    for (size_t i = 0; i < 3; ++i)
        if (literal_at(inst, i) && inst.src[i].type == Type::f64 && (inst.neg | inst.abs) >> i & 1) return true;
    return false;
}

/// One register as itself and as half of a pair, or one literal of either width, are two scalar sources to LLVM.
inline bool two_widths_of_one_scalar(const Inst& inst, Family family) {
    std::set<std::pair<uint16_t, int>> scalars;
    for (const Operand& source : inst.src)
        if (source.present() && (source.is_sgpr() || source.is_literal()) && source.code != code::null)
            scalars.insert({source.code, dwords(source.type, 32)});
    return !is_cdna(family) && inst.encoding >= Format::VOP1 && inst.encoding <= Format::VOP3P && scalars.size() > 2;
}

/// Barriers are named by M0 or a small constant.
inline bool barrier_named_by_scalar(const Inst& inst, Family) {
    const bool barrier = starts(inst, "s_barrier_signal") || starts(inst, "s_get_barrier") ||
                         starts(inst, "s_barrier_init") || starts(inst, "s_barrier_join") ||
                         starts(inst, "s_wakeup_barrier");
    return barrier && inst.src[0].present() && (inst.src[0].is_sgpr() || inst.src[0].is_literal());
}

/// Accumulators of RDNA's matrix instructions and lane numbers may be inline constants, not literals.
inline bool literal_for_inline(const Inst& inst, Family family) {
    const bool lane = starts(inst, "v_readlane") || starts(inst, "v_writelane");
    const bool fork = starts(inst, "s_cbranch_g_fork");
    const bool matrix = inst.row->flags & kMatrix && !is_cdna(family);
    return (lane && literal_at(inst, 1)) || (matrix && literal_at(inst, 2)) ||
           (fork && (literal_at(inst, 0) || literal_at(inst, 1)));
}

/// The register of RDNA3's s_waitcnt_vmcnt and its like, whose value would be added to the count, is always null.
inline bool counted_by_register(const Inst& inst, Family family) {
    return family == Family::rdna3 && inst.row->format == Format::SOPK && starts(inst, "s_waitcnt_") &&
           inst.src[0].code != code::null;
}

// ---- RDNA4's temporal hints ----

inline bool cascades(const Inst& inst) { return inst.row->flags & kAtomic && inst.th & 4; }
/// A cascade is one from the scope of the device up; below it is printed as a number.
inline bool cascade_in_small_scope(const Inst& inst, Family) { return cascades(inst) && inst.scope < 2; }
/// The text of a cascade has no word for a result.
inline bool cascade_with_result(const Inst& inst, Family) {
    return cascades(inst) && inst.scope >= 2 && inst.dst[0].present();
}
inline bool bypass_of_atomic(const Inst& inst, Family) {
    return inst.row->flags & kAtomic && inst.th == 3 && inst.scope == 3;
}
/// Hint 7 of loads is reserved and printed as a number.
inline bool reserved_hint(const Inst& inst, Family) {
    return !(inst.row->flags & (kAtomic | kStore)) && inst.row->format != Format::SMEM && inst.th == 7;
}

// ---- CDNA ----

inline bool negative_buffer_offset(const Inst& inst, Family family) {
    const bool buffer = starts(inst, "s_buffer_") || starts(inst, "s_atc_probe_buffer");
    return is_cdna(family) && buffer && inst.offset < 0;
}
/// op_sel of 32-bit dot products has no meaning.
inline bool op_sel_of_dot(const Inst& inst, Family family) {
    return family == Family::cdna3 && inst.row->format == Format::VOP3P && starts(inst, "v_dot") &&
           (inst.op_sel || (inst.op_sel_hi & 7) != 7);
}
inline bool sign_extended_float8(const Inst& inst, Family) {
    const bool float8 = starts(inst, "v_cvt_f32_fp8") || starts(inst, "v_cvt_f32_bf8") ||
                        starts(inst, "v_cvt_pk_f32_fp8") || starts(inst, "v_cvt_pk_f32_bf8");
    return float8 && inst.sdwa.sext;
}
/// The accumulator is the destination or apart from it (CDNA3 ISA, 7.1).
inline bool overlapping_accumulator(const Inst& inst, Family family) {
    if (!is_cdna(family) || inst.row->format != Format::MFMA || !inst.src[2].is_vector()) return false;
    const int size = dwords(inst.dst[0].type, 64), distance = inst.src[2].code - inst.dst[0].code;
    return size > 4 && inst.src[2].type == inst.dst[0].type && distance && std::abs(distance) < size;
}
inline bool odd_gws_register(const Inst& inst, Family family) {
    return is_cdna(family) && starts(inst, "ds_gws") && inst.src[0].is_vector() && inst.src[0].code % 2;
}
inline bool wide_index_mode(const Inst& inst, Family) {
    return starts(inst, "s_set_gpr_idx_") && inst.row->modifiers & mod::simm && inst.offset & ~15;
}

}  // namespace refusal

/// In the order in which the assembler looks.
inline constexpr Refusal kRefusals[] = {
    {refusal::counted_by_register, "src0 must be null"},
    {refusal::signed_double_literal, "invalid operand for instruction"},
    {refusal::barrier_named_by_scalar, "invalid operand for instruction"},
    {refusal::literal_for_inline, "invalid operand for instruction"},
    {refusal::two_widths_of_one_scalar, "invalid operand (violates constant bus restrictions)"},
    {refusal::cascade_in_small_scope, "invalid th value"},
    {refusal::cascade_with_result, "instruction must use th:TH_ATOMIC_RETURN"},
    {refusal::bypass_of_atomic, "scope and th combination is not valid"},
    {refusal::reserved_hint, "expected an identifier"},
    {refusal::negative_buffer_offset, "expected a 20-bit unsigned offset"},
    {refusal::op_sel_of_dot, "invalid op_sel operand"},
    {refusal::sign_extended_float8, "not a valid operand."},
    {refusal::overlapping_accumulator, "source 2 operand must not partially overlap with dst"},
    {refusal::odd_gws_register, "vgpr must be even aligned"},
    {refusal::wide_index_mode, "invalid immediate: only 4-bit values are legal"},
};

/// The complaint that is due; empty where the assembler takes the instruction.
inline std::string_view due_complaint(const Inst& inst, Family family) {
    for (const Refusal& refusal : kRefusals)
        if (refusal.applies(inst, family)) return refusal.complaint;
    return {};
}

/// Brings an instruction of a form that is refused with nearly all operands to operands that are taken.
inline void keep_to_what_is_taken(Inst& inst, Family family) {
    if (refusal::counted_by_register(inst, family)) inst.src[0].code = code::null;
    if (refusal::barrier_named_by_scalar(inst, family)) inst.src[0].code = code::inline_zero + 3, inst.literal = 0;
    if (refusal::wide_index_mode(inst, family)) inst.offset &= 15;
    if (refusal::op_sel_of_dot(inst, family)) inst.op_sel = 0, inst.op_sel_hi = 7;
    if (refusal::negative_buffer_offset(inst, family)) inst.offset = -inst.offset;
}

}  // namespace strata::isa
