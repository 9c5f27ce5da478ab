#pragma once
#include <array>

#include "strata/asm/dsl/registers.h"

// The vocabulary of RDNA3 assembly in C++: `using namespace strata::isa::rdna3;` and write
// a.v_add_f32(v[0], v[1], v[0], dpp(row_shr(8)));
namespace strata::isa::rdna3 {

/// v[3] is v3, v.range<4>(8) is v[8:11].
struct VgprFile {
    constexpr Vgpr operator[](int i) const { return Vgpr(i); }
    template <int N>
    constexpr VgprRange<N> range(int first) const {
        return VgprRange<N>(first);
    }
};
struct SgprFile {
    constexpr Sgpr operator[](int i) const { return Sgpr(i); }
    template <int N>
    constexpr SgprRange<N> range(int first) const {
        return SgprRange<N>(first);
    }
};
inline constexpr VgprFile v;
inline constexpr SgprFile s;

inline constexpr Special vcc{code::vcc_lo}, exec{code::exec_lo}, null{code::null};
inline constexpr Sgpr vcc_lo(code::vcc_lo), vcc_hi(code::vcc_hi), exec_lo(code::exec_lo), exec_hi(code::exec_hi),
    m0(code::m0);
inline constexpr Off off;

inline Modifiers offset(int32_t bytes) { return {.offset = bytes}; }
/// The two offsets of ds_*_2addr, in units of the element (or of 64 elements for stride64).
inline Modifiers offsets(uint8_t first, uint8_t second) { return {.offset = first, .offset1 = second}; }
inline Modifiers glc() { return {.glc = true}; }
inline Modifiers slc() { return {.slc = true}; }
inline Modifiers dlc() { return {.dlc = true}; }
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
enum class DppControl : uint16_t { row_mirror = 0x140, row_half_mirror = 0x141 };
constexpr DppControl quad_perm(int a, int b, int c, int d) {
    return DppControl((a & 3) | (b & 3) << 2 | (c & 3) << 4 | (d & 3) << 6);
}
constexpr DppControl row_shl(int lanes) { return DppControl(0x100 | (lanes & 15)); }
constexpr DppControl row_shr(int lanes) { return DppControl(0x110 | (lanes & 15)); }
constexpr DppControl row_ror(int lanes) { return DppControl(0x120 | (lanes & 15)); }
constexpr DppControl row_share(int lane) { return DppControl(0x150 | (lane & 15)); }
constexpr DppControl row_xmask(int mask) { return DppControl(0x160 | (mask & 15)); }
inline constexpr DppControl row_mirror = DppControl::row_mirror, row_half_mirror = DppControl::row_half_mirror;

struct DppOptions {
    uint8_t row_mask = 0xf, bank_mask = 0xf;
    bool bound_ctrl = false;  ///< lanes without a source read 0 instead of keeping their old value
    bool fi = false;          ///< inactive lanes may be read
};
inline Modifiers dpp(DppControl control, DppOptions o = {}) {
    return {.dpp = {DppKind::dpp16, static_cast<uint16_t>(control), 0, o.row_mask, o.bank_mask, o.bound_ctrl, o.fi}};
}
/// Lane i of each group of eight reads lane select[i] of the group.
inline Modifiers dpp8(std::array<int, 8> select, bool fi = false) {
    Modifiers m{.dpp = {.kind = DppKind::dpp8, .fi = fi}};
    for (int i = 0; i < 8; i++) m.dpp.select |= static_cast<uint32_t>(select[i] & 7) << (3 * i);
    return m;
}

}  // namespace strata::isa::rdna3
