#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "strata/asm/isa/arch.h"
#include "strata/asm/isa/constants.h"
#include "strata/asm/isa/row.h"
#include "strata/core/support/result.h"

namespace strata::isa {

/// One register, constant or literal operand.
struct Operand {
    uint16_t code = code::null;
    Type type = Type::none;  ///< none: the operand is absent
    bool present() const { return type != Type::none; }
    bool is_vgpr() const { return code >= code::vgpr0 && code < code::agpr0; }
    bool is_agpr() const { return code >= code::agpr0; }
    bool is_sgpr() const { return code < code::inline_zero; }
    bool is_literal() const { return code == code::literal; }
    int vgpr() const { return code - code::vgpr0; }
    int agpr() const { return code - code::agpr0; }
    /// A register of either vector file, and its row in a file that holds both.
    bool is_vector() const { return code >= code::vgpr0; }
    int row() const { return code - code::vgpr0; }
    bool operator==(const Operand&) const = default;
};

enum class DppKind : uint8_t { none, dpp16, dpp8 };

struct Dpp {
    DppKind kind = DppKind::none;
    uint16_t ctrl = 0;    ///< 9-bit dpp_ctrl of DPP16
    uint32_t select = 0;  ///< eight 3-bit lane selects of DPP8
    uint8_t row_mask = 0xf, bank_mask = 0xf;
    bool bound_ctrl = false, fi = false;
    bool operator==(const Dpp&) const = default;
};

/// Sub-dword addressing of CDNA's VOP1, VOP2 and VOPC. A selection is byte 0 to 3, word 4 or 5, or the whole dword (6).
/// Its negation, absolute value, clamp and output modifier are those of the Inst.
struct Sdwa {
    enum Select : uint8_t { byte0, byte1, byte2, byte3, word0, word1, dword };
    enum Unused : uint8_t { pad, sign_extend, preserve };
    bool present = false;
    uint8_t dst_sel = dword, dst_unused = pad;
    std::array<uint8_t, 2> src_sel{dword, dword};
    uint8_t sext = 0;  ///< bit i: source i is sign-extended
    bool operator==(const Sdwa&) const = default;
};

/// One decoded instruction, and what the encoder takes: hardware fields resolved to operands, nothing interpreted.
struct Inst {
    const Row* row = nullptr;
    uint8_t size = 0;                ///< bytes: 4, 8 or 12 (0 before encoding)
    Format encoding = Format::SOPP;  ///< the format of these bytes (a VOP2 row may be encoded as VOP3)
    std::array<Operand, 2> dst{};
    std::array<Operand, 4> src{};
    uint32_t literal = 0;  ///< the 32-bit literal that an operand with code::literal refers to
    // VOP3 / VOP3P modifiers; bit i belongs to source i, bit 3 of op_sel to the destination
    uint8_t neg = 0, abs = 0, op_sel = 0, op_sel_hi = 0, neg_hi = 0, omod = 0;
    bool clamp = false;
    Dpp dpp{};
    int32_t offset = 0;   ///< SOPP/SOPK simm16 (sign-extended), memory immediate offset, DS offset0 (16 bit)
    uint8_t offset1 = 0;  ///< DS second offset of the two-address forms
    bool glc = false, slc = false, dlc = false, gds = false, offen = false, idxen = false, tfe = false, lds = false;
    uint8_t buffer_format = 0;  ///< MTBUF format
    // CDNA: glc is sc0 and slc is nt on gfx942
    bool sc1 = false;
    uint8_t cbsz = 0, abid = 0, blgp = 0;  ///< MFMA: broadcast size and block of A, lane permutation of B
    Sdwa sdwa{};
    // RDNA4: temporal hint and scope of memory instructions; an atomic returns where bit 0 of th is set (glc is false)
    uint8_t th = 0, scope = 0;
    // VOPD: row/dst[0]/src[0..1] are the X half; these are the Y half
    const Row* row_y = nullptr;
    Operand dst_y{};
    std::array<Operand, 2> src_y{};
    bool operator==(const Inst&) const = default;
};

/// Decodes the instruction at the start of `words` as a wave of that size (0: the arch's own) reads it.
/// Error (Assembly) when the bits are no instruction of the arch or the words end inside it.
///
/// Conventions of the Inst it fills, which encode() expects too:
/// - row is the row of the encoding's own format: v_add_f32_e64 gives the VOP3 row (VOP3SD with a scalar destination).
/// - src is in the order of LLVM's text. Where an instruction also reads its destination (v_fmac_f32, v_dot2acc,
///   s_addk_i32, s_cmov_b32, v_swap_b32, v_writelane_b32, d16 loads) the destination is not repeated among the sources.
/// - Implicit mask operands are explicit with Type::lanes. v_cndmask_b32_e32 has src[2] = vcc_lo; v_add_co_ci_u32_e32
///   has dst[1] = vcc_lo and src[2] = vcc_lo. VOPC has dst[0] = vcc_lo; v_cmpx in any encoding has dst[0] = exec_lo.
///   Codes name the low half; in wave64 the operand spans two SGPRs.
/// - SCC, EXEC and the VCC read by v_div_fmas or s_cbranch_vccz are implicit: see Row::flags.
/// - Scalar groups are aligned: the hardware ignores low bits of an SGPR pair or quad, so decode clears them.
/// - SOPK: s_cmpk_* and s_setreg_b32 have the register in src[0]; the 16-bit immediate is in offset, sign-extended.
///   s_sendmsg_rtn_*: the message is in offset.
/// - VINTERP: what it waits for EXPcnt to fall to (7: does not wait) is in offset. LLVM names no halves there.
/// - fmaak: src = {a, b, literal}; fmamk: {a, literal, b}. In VOPD both halves hold only {src0, src1}. The literal K of
///   fmaak (src0 * src1 + K) and fmamk (src0 * K + src1) is implied, as is vcc_lo of v_dual_cndmask_b32.
/// - FLAT, SCRATCH, GLOBAL loads: dst[0] = vdst, src = {vaddr, saddr}. Stores and atomics: src = {vaddr, vdata, saddr}
///   (FLAT without saddr; addtid forms without vaddr). Atomics have dst[0] only with glc. An operand that is "off" is
///   absent. With saddr a GLOBAL vaddr is one dword (Type::u32), else the 64-bit address. offset is sign-extended;
///   FLAT's is unsigned.
/// - SMEM: dst[0] = sdata, src = {sbase, soffset}; soffset has code null when there is none.
/// - DS: src = {addr, data0, data1} as far as the form has them (ds_store_addtid: {data0}). The offset, or offset and
///   offset1 of the two-address forms, is not yet scaled.
/// - MUBUF, MTBUF: src = {vaddr, srsrc, soffset, vdata of stores and atomics}; vaddr is absent without offen and idxen,
///   and the pair {index, offset} with both. Loads, and atomics with glc, have dst[0].
/// - Modifiers: neg and abs only where the form takes them. op_sel selects halves of 16-bit operands and is
///   0 for a form that has none.
///   op_sel_hi of VOP3P is raw: its default is all ones (0 for v_fma_mix_*, whose neg_hi means abs).
///   In VOP1, VOP2 and VOPC of RDNA bit 7 of a 16-bit operand's register number is the half: op_sel has it, the code
///   is below v128. Upper halves with encoding VOP3 are that format's op_sel.
/// - RDNA4: VBUFFER is MUBUF and MTBUF; VFLAT, VSCRATCH and VGLOBAL are FLAT, SCRATCH and GLOBAL. VIMAGE and VSAMPLE
///   (opcodes from 256) are MIMG, VEXPORT is EXP. Memory instructions have th and scope instead of glc, slc and dlc; an
///   atomic returns, and has dst[0], where bit 0 of th is set. Their offsets are all sign-extended from 24 bits. Cache
///   control (global_inv, global_wb, global_wbinv) has th and scope only. Prefetches have their length, five bits, in
///   offset1; s_prefetch_*_pc_rel have src = {soffset}.
/// - RDNA4: v_s_* have an SGPR in dst[0]. v_swmmac_* have src = {a, b, index}, the accumulator is dst[0]; op_sel(1)
///   selects the half of the index (index_key), op_sel(3) its byte. op_sel_hi of v_wmma_*, v_swmmac_* and v_dot4_f32_*
///   is all ones. v_cvt_f32_fp8_e64 and _bf8 select byte 2 * op_sel[0] + op_sel[1]; v_cvt_sr_*8_f32 write byte op_sel
///   >> 2; v_permlane16_var's op_sel is {fi, bound_ctrl}.
/// - DPP applies to src[0]; with DPP16 on VOP1, VOP2, VOPC neg and abs come from the DPP word.
/// - CDNA: M0 is code 125 here (124 in the bits); there is no null but as the absent soffset of SMEM. s102 to s105 are
///   FLAT_SCRATCH and XNACK_MASK. VGPR groups start at even registers, which decode() does not check and encode() does.
///   v_cmpx has dst[0] = its mask, vcc_lo or an SGPR pair, and writes EXEC too (kWritesExec).
///   VOP1, VOP2 and VOPC take DPP16 without fi (quad_perm, row_shl/shr/ror, wave_shl/rol/shr/ror:1, mirrors,
///   row_bcast:15 and :31, row_newbcast; 64-bit types the last only) or SDWA (clamp, omod, neg, abs in the Inst, a
///   scalar register in either source; VOPC with a destination of its own). op_sel only where the row says so.
/// - CDNA memory: glc, slc, sc1 are sc0, nt, sc1 on gfx942 (glc, slc, scc on gfx90a). Data registers may be AGPRs, all
///   or none. With lds a load has no dst; global_load_lds_* have none either. SMEM stores and atomics: src = {sbase,
///   soffset, sdata}, dst[0] with glc; offset is signed, soffset and offset add up. SCRATCH of gfx90a has one address,
///   vaddr or saddr. FLAT's offset has 12 bits. buffer_format is dfmt | nfmt << 4. s_set_gpr_idx_on has its mask in
///   offset.
/// - MFMA: dst[0] and src = {a, b, c}, VGPRs or AGPRs, c may be an inline constant; SMFMAC: {a, b, index}, the
///   accumulator is dst[0]. cbsz, abid, blgp; f64 on gfx942 has neg (the bits of blgp) instead of blgp.
///   v_pk_*_f32 and v_pk_mov_b32 have Type::pk32; op_sel and op_sel_hi choose the register of each half.
Result<Inst> decode(Arch arch, std::span<const uint32_t> words, int wave_size = 0);

/// Encodes into 1 to 3 words. Error (Assembly) names the operand or modifier that cannot be encoded.
/// With the native format of a VOP1, VOP2 or VOPC row the smallest encoding that holds the operands is chosen. That is
/// VOP3 when src1 is scalar, a modifier is set or the mask is not vcc. With encoding VOP3 that form is forced. Checks
/// what the bits cannot express: the constant bus limit, VOPD's register banks, DPP with literals.
struct Encoded {
    std::array<uint32_t, 3> words{};
    int count = 0;
};
Result<Encoded> encode(Arch arch, const Inst& inst);

}  // namespace strata::isa
