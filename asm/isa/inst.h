#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "strata/asm/isa/arch.h"
#include "strata/core/support/result.h"

namespace strata::isa {

enum class Format : uint8_t {
    SOP1,
    SOP2,
    SOPK,
    SOPC,
    SOPP,
    SMEM,
    VOP1,
    VOP2,
    VOPC,
    VOP3,
    VOP3SD,
    VOP3P,
    VINTERP,
    VOPD,
    DS,
    MUBUF,
    MTBUF,
    MIMG,
    FLAT,
    SCRATCH,
    GLOBAL,
    LDSDIR,
    EXP,
    MFMA,  ///< the matrix opcodes of CDNA's VOP3P, which have fields of their own
};

/// How an operand's bits are read: decides the meaning of inline constants and literals and how many dwords it spans.
enum class Type : uint8_t {
    none,
    b16,
    b32,
    b64,
    b96,
    b128,
    b256,
    b512,
    f16,
    f32,
    f64,
    i16,
    i32,
    i64,
    u16,
    u32,
    u64,
    pk16,
    bf16,
    lanes,
    b1024,
    pk32
};
// `lanes` is a wave-wide scalar mask: one dword in wave32, two in wave64. `pk32` is two 32-bit values in two registers.

/// Operand codes: RDNA3's hardware codes of a 9-bit source field (RDNA3 ISA, "Scalar/Vector operand" tables) for all
/// families. Where a family's bits differ (CDNA has M0 at 124) decode() and encode() translate; accumulation registers,
/// which CDNA marks with a bit of their own, are codes 512 to 767.
namespace code {
constexpr uint16_t vcc_lo = 106, vcc_hi = 107, ttmp0 = 108, null = 124, m0 = 125, exec_lo = 126, exec_hi = 127;
constexpr uint16_t inline_zero = 128, inline_minus_one = 193, shared_base = 235, shared_limit = 236, private_base = 237,
                   private_limit = 238, inline_half = 240, inline_inv_2pi = 248, vccz = 251, execz = 252, scc = 253,
                   literal = 255, vgpr0 = 256, agpr0 = 512;
}  // namespace code

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

enum RowFlag : uint32_t {
    kMemory = 1,
    kStore = 2,
    kAtomic = 4,
    kBranch = 8,
    kTrans = 16,
    kMatrix = 32,
    kNotOnSilicon = 64,
    kReadsVcc = 128,
    kWritesVcc = 256,
    kReadsScc = 512,
    kWritesScc = 1024,
    kWritesExec = 2048,
    kTrue16 = 4096,
    kGraphics = 8192,    // image, export, ray tracing, interpolation: no compute use
    kLiteral = 16384,    // always followed by a literal word (fmaak, fmamk, s_setreg_imm32)
    kOneScalar = 32768,  // reads at most one scalar register or literal, not two
    kWave64 = 65536,     // RDNA's matrix products: the form in wave64, behind wave32's form of the same opcode
};

/// What an operand field accepts.
enum OperandKind : uint8_t { kVgpr = 1, kSgpr = 2, kInline = 4, kLiteralConstant = 8, kAgpr = 16 };

/// Modifiers that a form accepts: one bit a source for the first five groups.
namespace mod {
constexpr uint32_t neg(uint32_t sources) { return sources; }
constexpr uint32_t abs(uint32_t sources) { return sources << 3; }
constexpr uint32_t op_sel(uint32_t sources) { return sources << 6; }  // bit 3: destination
constexpr uint32_t op_sel_hi(uint32_t sources) { return sources << 10; }
constexpr uint32_t neg_hi(uint32_t sources) { return sources << 13; }
constexpr uint32_t clamp = 1 << 16, omod = 1 << 17, offset = 1 << 18, glc = 1 << 19, slc = 1 << 20, dlc = 1 << 21,
                   tfe = 1 << 22, gds = 1 << 23, dpp = 1 << 24, simm = 1 << 25,
                   two_offsets = 1 << 26,  // DS: two 8-bit offsets instead of one of 16 bits
    message = 1 << 27,                     // the source field is a message number, in Inst::offset
    gds_only = 1 << 28,                    // DS: the gds bit must be set
    cache = glc,                           // RDNA4: takes a temporal hint and a scope
    sc1 = 1 << 29,                         // CDNA: bit 1 of the cache scope ("scc" on gfx90a)
    sdwa = 1 << 30,                        // CDNA: takes sub-dword addressing
    matrix = 1u << 31,                     // MFMA: cbsz, abid and blgp (SMFMAC has no blgp)
    lds = neg(1);                          // CDNA's MUBUF and CDNA2's FLAT: the data may go to LDS
}  // namespace mod

/// One instruction form of one family: a row of asm/isa/<family>.def.
struct Row {
    std::string_view mnemonic;  ///< vendor spelling without the _e32/_e64/_dpp suffix: "v_add_f32"
    Format format;
    uint16_t opcode;
    std::array<Type, 2> dst;            ///< vector/scalar destination, second destination (carry-out, sdst)
    std::array<Type, 4> src;            ///< sources in the order of LLVM's text
    uint32_t flags;                     ///< RowFlag bits
    std::array<uint8_t, 2> dst_kind{};  ///< OperandKind bits
    std::array<uint8_t, 4> src_kind{};
    uint32_t modifiers = 0;  ///< mod:: bits
    uint32_t ignored = 0;    ///< mod:: bits that may be set and have no effect
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

/// All rows of a family, sorted by (format, opcode, kWave64).
std::span<const Row> rows(Family family);
/// The row of a mnemonic in a format, or nullptr. Without a format: the row in its native (smallest) format.
const Row* find_row(Family family, std::string_view mnemonic);
const Row* find_row(Family family, std::string_view mnemonic, Format format);
/// The row of an opcode in a format, or nullptr.
const Row* find_row(Family family, Format format, uint16_t opcode);
/// The form of a row of the family in waves of that size: find_row() gives wave32's of RDNA's matrix products.
const Row& in_wave(Family family, const Row& row, int wave_size);

/// Decodes the instruction at the start of `words` as a wave of that size (0: the arch's own) reads it.
/// Error (Assembly) when the bits are no instruction of the arch or the words end inside it.
///
/// Conventions of the Inst it fills, which encode() expects too:
/// - row is the row of the encoding's own format: v_add_f32_e64 gives the VOP3 row (VOP3SD with a scalar destination).
/// - src is in the order of LLVM's text. Where an instruction also reads its destination (v_fmac_f32, v_dot2acc,
///   s_addk_i32, s_cmov_b32, v_swap_b32, v_writelane_b32, d16 loads) the destination is not repeated among the sources.
/// - Implicit mask operands are explicit with Type::lanes: v_cndmask_b32_e32 has src[2] = vcc_lo; v_add_co_ci_u32_e32
///   has dst[1] = vcc_lo and src[2] = vcc_lo; VOPC has dst[0] = vcc_lo; v_cmpx in any encoding has dst[0] = exec_lo.
///   Codes name the low half; in wave64 the operand spans two SGPRs.
/// - SCC, EXEC and the VCC read by v_div_fmas or s_cbranch_vccz are implicit: see Row::flags.
/// - Scalar groups are aligned: the hardware ignores low bits of an SGPR pair or quad, so decode clears them.
/// - SOPK: s_cmpk_* and s_setreg_b32 have the register in src[0]; the 16-bit immediate is in offset, sign-extended.
///   s_sendmsg_rtn_*: the message is in offset.
/// - fmaak: src = {a, b, literal}; fmamk: {a, literal, b}. In VOPD both halves hold only {src0, src1} and the literal K
///   of fmaak (src0 * src1 + K) and fmamk (src0 * K + src1) is implied, as is vcc_lo of v_dual_cndmask_b32.
/// - FLAT, SCRATCH, GLOBAL loads: dst[0] = vdst, src = {vaddr, saddr}; stores and atomics: src = {vaddr, vdata, saddr}
///   (FLAT without saddr; addtid forms without vaddr); atomics have dst[0] only with glc. An operand that is "off" is
///   absent. With saddr a GLOBAL vaddr is one dword (Type::u32), else the 64-bit address. offset is sign-extended;
///   FLAT's is unsigned.
/// - SMEM: dst[0] = sdata, src = {sbase, soffset}; soffset has code null when there is none.
/// - DS: src = {addr, data0, data1} as far as the form has them (ds_store_addtid: {data0}); offset, or offset and
///   offset1 of the two-address forms, not yet scaled.
/// - MUBUF, MTBUF: src = {vaddr, srsrc, soffset, vdata of stores and atomics}; vaddr is absent without offen and idxen,
///   and the pair {index, offset} with both. Loads, and atomics with glc, have dst[0].
/// - Modifiers: neg and abs only where the form takes them. op_sel selects halves of 16-bit operands and is
///   0 for a form that has none.
///   op_sel_hi of VOP3P is raw: its default is all ones (0 for v_fma_mix_*, whose neg_hi means abs).
///   In VOP1, VOP2 and VOPC of RDNA bit 7 of a 16-bit operand's register number is the half: op_sel has it, the code
///   is below v128. Upper halves with encoding VOP3 are that format's op_sel.
/// - RDNA4: VBUFFER is MUBUF and MTBUF, VFLAT, VSCRATCH and VGLOBAL are FLAT, SCRATCH and GLOBAL, VIMAGE and VSAMPLE
///   (opcodes from 256) are MIMG, VEXPORT is EXP. Memory instructions have th and scope instead of glc, slc and dlc;
///   an atomic returns, and has dst[0], where bit 0 of th is set. Their offsets are all sign-extended from 24 bits.
///   Cache control (global_inv, global_wb, global_wbinv) has th and scope only. Prefetches have their length, five
///   bits, in offset1; s_prefetch_*_pc_rel have src = {soffset}.
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
/// With the native format of a VOP1, VOP2 or VOPC row the smallest encoding that holds the operands is chosen (VOP3
/// when src1 is scalar, a modifier is set or the mask is not vcc); with encoding VOP3 that form is forced. Checks what
/// the bits cannot express: the constant bus limit, VOPD's register banks, DPP with literals.
struct Encoded {
    std::array<uint32_t, 3> words{};
    int count = 0;
};
Result<Encoded> encode(Arch arch, const Inst& inst);

/// Dwords spanned by an operand of this type.
int dwords(Type type, int wave_size);
std::string_view name(Format format);

}  // namespace strata::isa
