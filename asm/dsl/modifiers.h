#pragma once
#include <array>

#include "strata/asm/dsl/registers.h"
#include "strata/asm/isa/dpp.h"

// The vocabulary of assembly in C++: `using namespace strata::isa::rdna3;` (rdna4, cdna3) and write
// a.v_add_f32(v[0], v[1], v[0], dpp(row_shr(8)));
namespace strata::isa {

/// Modifiers of all families.
namespace syntax {

/// v[3] is v3, v.range<4>(8) is v[8:11].
struct VgprFile {
    constexpr Vgpr operator[](int i) const { return Vgpr(i); }
    template <int N>
    constexpr VgprRange<N> range(int first) const {
        return VgprRange<N>(first);
    }
};
template <int Base>
struct SgprFile {
    constexpr Sgpr operator[](int i) const { return Sgpr(Base + i); }
    template <int N>
    constexpr SgprRange<N> range(int first) const {
        return SgprRange<N>(Base + first);
    }
};
inline constexpr VgprFile v;
inline constexpr SgprFile<0> s;
inline constexpr SgprFile<code::ttmp0> ttmp;

inline constexpr Special vcc{code::vcc_lo}, exec{code::exec_lo};
inline constexpr Sgpr vcc_lo(code::vcc_lo), vcc_hi(code::vcc_hi), exec_lo(code::exec_lo), exec_hi(code::exec_hi),
    m0(code::m0);
inline constexpr Off off;

inline Modifiers offset(int32_t bytes) { return {.offset = bytes}; }
/// The two offsets of ds_*_2addr, in units of the element (or of 64 elements for stride64).
inline Modifiers offsets(uint8_t first, uint8_t second) { return {.offset = first, .offset1 = second}; }
inline Modifiers gds() { return {.gds = true}; }
inline Modifiers offen() { return {.offen = true}; }
inline Modifiers idxen() { return {.idxen = true}; }
inline Modifiers clamp() { return {.clamp = true}; }
inline Modifiers mul2() { return {.omod = 1}; }
inline Modifiers mul4() { return {.omod = 2}; }
inline Modifiers div2() { return {.omod = 3}; }
/// Bit i: source i reads its upper half; bit 3: the destination is the upper half.
inline Modifiers op_sel(uint8_t bits) { return {.op_sel = bits}; }
inline Modifiers op_sel_hi(uint8_t bits) { return {.op_sel_hi = bits}; }
inline Modifiers neg_lo(uint8_t bits) { return {.neg = bits}; }
inline Modifiers neg_hi(uint8_t bits) { return {.neg_hi = bits}; }
/// Asks for the 64-bit encoding; e32() refuses it.
inline Modifiers e64() { return {.encoding = Modifiers::Encoding::e64}; }
inline Modifiers e32() { return {.encoding = Modifiers::Encoding::e32}; }

/// Lane selection of DPP16 within rows of 16 lanes (RDNA3 ISA, "DPP16").
enum class DppControl : uint16_t {};
constexpr DppControl quad_perm(int a, int b, int c, int d) {
    return DppControl((a & 3) | (b & 3) << 2 | (c & 3) << 4 | (d & 3) << 6);
}
constexpr DppControl row_shl(int lanes) { return DppControl(dpp16::row_shl - 1 + (lanes & 15)); }
constexpr DppControl row_shr(int lanes) { return DppControl(dpp16::row_shr - 1 + (lanes & 15)); }
constexpr DppControl row_ror(int lanes) { return DppControl(dpp16::row_ror - 1 + (lanes & 15)); }
inline constexpr DppControl row_mirror = DppControl(dpp16::row_mirror),
                            row_half_mirror = DppControl(dpp16::row_half_mirror);

struct DppOptions {
    uint8_t row_mask = 0xf, bank_mask = 0xf;
    bool bound_ctrl = false;  ///< lanes without a source read 0 instead of keeping their old value
    bool fi = false;          ///< inactive lanes may be read; RDNA only
};
inline Modifiers dpp(DppControl control, DppOptions o = {}) {
    return {.dpp = {DppKind::dpp16, static_cast<uint16_t>(control), 0, o.row_mask, o.bank_mask, o.bound_ctrl, o.fi}};
}

}  // namespace syntax

/// Modifiers of RDNA3 and RDNA4.
namespace rdna {
using namespace syntax;
inline constexpr Special null{code::null};
constexpr DppControl row_share(int lane) { return DppControl(dpp16::row_share | (lane & 15)); }
constexpr DppControl row_xmask(int mask) { return DppControl(dpp16::row_xmask | (mask & 15)); }
/// Lane i of each group of eight reads lane select[i] of the group.
inline Modifiers dpp8(std::array<int, 8> select, bool fi = false) {
    Modifiers m{.dpp = {.kind = DppKind::dpp8, .fi = fi}};
    for (int i = 0; i < 8; ++i) m.dpp.select |= static_cast<uint32_t>(select[i] & 7) << (3 * i);
    return m;
}
/// An interpolation waits until EXPcnt has fallen to `count`; 7 does not wait.
inline Modifiers wait_exp(uint8_t count) { return {.wait_exp = count}; }
}  // namespace rdna

namespace rdna3 {
using namespace syntax;
using namespace rdna;
inline Modifiers glc() { return {.glc = true}; }
inline Modifiers slc() { return {.slc = true}; }
inline Modifiers dlc() { return {.dlc = true}; }
}  // namespace rdna3

namespace rdna4 {
using namespace syntax;
using namespace rdna;
/// Temporal hints of loads, stores and atomics (RDNA4 ISA, "Memory Scopes and Temporal Hints"). An atomic that names a
/// destination returns.
enum TemporalHint : uint8_t {
    TH_LOAD_RT = 0,
    TH_LOAD_NT = 1,
    TH_LOAD_HT = 2,
    TH_LOAD_LU = 3,
    TH_LOAD_NT_RT = 4,
    TH_LOAD_RT_NT = 5,
    TH_LOAD_NT_HT = 6,
    TH_STORE_RT = 0,
    TH_STORE_NT = 1,
    TH_STORE_HT = 2,
    TH_STORE_RT_WB = 3,
    TH_STORE_NT_RT = 4,
    TH_STORE_RT_NT = 5,
    TH_STORE_NT_HT = 6,
    TH_STORE_NT_WB = 7,
    TH_ATOMIC_RT = 0,
    TH_ATOMIC_RETURN = 1,
    TH_ATOMIC_NT = 2,
    TH_ATOMIC_CASCADE_RT = 4,
    TH_ATOMIC_CASCADE_NT = 6
};
enum Scope : uint8_t { SCOPE_CU, SCOPE_SE, SCOPE_DEV, SCOPE_SYS };
inline Modifiers th(TemporalHint hint) { return {.th = hint}; }
inline Modifiers scope(Scope scope) { return {.scope = scope}; }
/// The byte that a conversion of 8-bit floats reads or writes.
inline Modifiers byte_sel(uint8_t byte) { return {.byte_sel = byte}; }
/// The half of the index register of a sparse product.
inline Modifiers index_key(uint8_t half) { return {.index_key = half}; }
}  // namespace rdna4

namespace cdna3 {
using namespace syntax;
struct AgprFile {
    constexpr Agpr operator[](int i) const { return Agpr(i); }
    template <int N>
    constexpr AgprRange<N> range(int first) const {
        return AgprRange<N>(first);
    }
};
inline constexpr AgprFile acc;
inline constexpr SgprRange<2> flat_scratch(102, true), xnack_mask(104, true);
inline constexpr Sgpr flat_scratch_lo(102, true), flat_scratch_hi(103, true);

/// Cache scope and non-temporal hint; sc0 of an atomic asks for the old value. SMEM and gfx90a call them glc, scc, slc.
inline Modifiers sc0() { return {.glc = true}; }
inline Modifiers sc1() { return {.sc1 = true}; }
inline Modifiers nt() { return {.slc = true}; }
inline Modifiers glc() { return {.glc = true}; }
inline Modifiers slc() { return {.slc = true}; }
inline Modifiers scc() { return {.sc1 = true}; }
/// The data goes to LDS at M0.
inline Modifiers lds() { return {.lds = true}; }

/// MFMA (CDNA3 ISA, "Matrix Arithmetic Instructions"): size and number of the block of A that is broadcast, permutation
/// of B's lanes.
inline Modifiers cbsz(uint8_t log2_blocks) { return {.cbsz = log2_blocks}; }
inline Modifiers abid(uint8_t block) { return {.abid = block}; }
inline Modifiers blgp(uint8_t permutation) { return {.blgp = permutation}; }

constexpr DppControl row_newbcast(int lane) { return DppControl(dpp16::row_newbcast | (lane & 15)); }
inline constexpr DppControl row_bcast15 = DppControl(dpp16::row_bcast15), row_bcast31 = DppControl(dpp16::row_bcast31);
inline constexpr DppControl wave_shl = DppControl(dpp16::wave_shl), wave_rol = DppControl(dpp16::wave_rol),
                            wave_shr = DppControl(dpp16::wave_shr), wave_ror = DppControl(dpp16::wave_ror);

/// Sub-dword addressing (CDNA3 ISA, "SDWA").
enum SdwaSelect : uint8_t { BYTE_0, BYTE_1, BYTE_2, BYTE_3, WORD_0, WORD_1, DWORD };
enum SdwaUnused : uint8_t { UNUSED_PAD, UNUSED_SEXT, UNUSED_PRESERVE };
struct SdwaOptions {
    SdwaSelect dst_sel = DWORD;
    SdwaUnused dst_unused = UNUSED_PRESERVE;
    SdwaSelect src0_sel = DWORD, src1_sel = DWORD;
};
inline Modifiers sdwa(SdwaOptions o) {
    return {
        .sdwa = {
            .present = true, .dst_sel = o.dst_sel, .dst_unused = o.dst_unused, .src_sel = {o.src0_sel, o.src1_sel}}};
}
}  // namespace cdna3

}  // namespace strata::isa
