#include "valu_model.h"

// 32-bit and 64-bit integers and bits (RDNA3 ISA 16.7 to 16.12, CDNA3 ISA 12.7 to 12.11).
namespace strata::emu::rows {
namespace {

using U128 = unsigned __int128;
using I128 = __int128;

int32_t i24(uint32_t x) { return static_cast<int32_t>(x << 8) >> 8; }
uint64_t u24(uint32_t x) { return x & 0xffffff; }

/// A result that clamp saturates.
void unsigned32(Lane& x, int64_t value) {
    x.b32(static_cast<uint64_t>(x.clamp ? std::clamp<int64_t>(value, 0, UINT32_MAX) : value));
}
void signed32(Lane& x, int64_t value) {
    x.b32(static_cast<uint64_t>(x.clamp ? std::clamp<int64_t>(value, INT32_MIN, INT32_MAX) : value));
}
void add_carry(Lane& x, uint64_t a, uint64_t b, uint64_t carry) {
    unsigned32(x, static_cast<int64_t>(a + b + carry));
    x.mask = a + b + carry > UINT32_MAX;
}
void subtract_borrow(Lane& x, uint64_t a, uint64_t b, uint64_t borrow) {
    unsigned32(x, static_cast<int64_t>(a) - static_cast<int64_t>(b + borrow));
    x.mask = b + borrow > a;
}

void mad_u64(Lane& x) {
    const U128 sum = U128{uint64_t{x.u(0)} * x.u(1)} + x.q(2);
    x.mask = sum >> 64 & 1;
    x.b64(x.clamp && x.mask ? UINT64_MAX : static_cast<uint64_t>(sum));
}
void mad_i64(Lane& x) {
    // { D1.i1, D0.i64 } = 65'B(...)
    const I128 sum = I128{int64_t{x.i(0)} * x.i(1)} + x.l(2);
    x.mask = sum >> 64 & 1;
    const I128 most = INT64_MAX, least = INT64_MIN;
    x.b64(static_cast<uint64_t>(x.clamp ? std::clamp(sum, least, most) : sum));
}

int first_one_from_top(uint32_t x) {
    for (int n = 0; n < 32; ++n)
        if (x >> (31 - n) & 1) return n;
    return -1;
}
int first_one_from_bottom(uint32_t x) {
    for (int n = 0; n < 32; ++n)
        if (x >> n & 1) return n;
    return -1;
}
int sign_run(uint32_t x) {
    for (int n = 1; n < 32; ++n)
        if ((x >> (31 - n) & 1) != x >> 31) return n;
    return -1;
}
uint32_t reversed(uint32_t x) {
    uint32_t r = 0;
    for (int n = 0; n < 32; ++n) r = r << 1 | (x >> n & 1);
    return r;
}
uint32_t ones(uint32_t x) {
    uint32_t n = 0;
    for (; x; x >>= 1) n += x & 1;
    return n;
}
uint64_t lanes_below(const Lane& x) { return (uint64_t{1} << x.lane) - 1; }

void bfe_signed(Lane& x) {
    const uint32_t width = x.u(2) & 31;
    // The shift is arithmetic, so that a field beyond the register is filled with its sign.
    const uint64_t wide = static_cast<uint64_t>(int64_t{x.i(0)} >> (x.u(1) & 31));
    x.b32(width == 0 ? 0 : static_cast<uint64_t>(static_cast<int64_t>(wide << (64 - width)) >> (64 - width)));
}

template <class T>
T middle(T a, T b, T c) {
    return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

constexpr Operation kRows[] = {
    {"v_nop v_pipeflush v_clrexcp", [](Lane&) {}},
    {"v_mov_b32 v_accvgpr_mov_b32 v_accvgpr_read_b32 v_accvgpr_write_b32", [](Lane& x) { x.b32(x.u(0)); }},
    {"v_mov_b64", [](Lane& x) { x.b64(x.q(0)); }},
    {"v_swap_b32",
     [](Lane& x) {
         x.b32(x.u(0));
         x.extra = static_cast<uint32_t>(x.old);
     }},
    {"v_not_b32", [](Lane& x) { x.b32(~x.u(0)); }},
    {"v_bfrev_b32", [](Lane& x) { x.b32(reversed(x.u(0))); }},
    {"v_clz_i32_u32 v_ffbh_u32", [](Lane& x) { x.b32(static_cast<uint64_t>(first_one_from_top(x.u(0)))); }},
    {"v_ctz_i32_b32 v_ffbl_b32", [](Lane& x) { x.b32(static_cast<uint64_t>(first_one_from_bottom(x.u(0)))); }},
    {"v_cls_i32 v_ffbh_i32", [](Lane& x) { x.b32(static_cast<uint64_t>(sign_run(x.u(0)))); }},
    {"v_and_b32", [](Lane& x) { x.b32(x.u(0) & x.u(1)); }},
    {"v_or_b32", [](Lane& x) { x.b32(x.u(0) | x.u(1)); }},
    {"v_xor_b32", [](Lane& x) { x.b32(x.u(0) ^ x.u(1)); }},
    {"v_xnor_b32", [](Lane& x) { x.b32(~(x.u(0) ^ x.u(1))); }},
    {"v_xor3_b32", [](Lane& x) { x.b32(x.u(0) ^ x.u(1) ^ x.u(2)); }},
    {"v_or3_b32", [](Lane& x) { x.b32(x.u(0) | x.u(1) | x.u(2)); }},
    {"v_and_or_b32", [](Lane& x) { x.b32((x.u(0) & x.u(1)) | x.u(2)); }},
    {"v_lshl_or_b32", [](Lane& x) { x.b32(x.u(0) << (x.u(1) & 31) | x.u(2)); }},
    {"v_lshl_add_u32", [](Lane& x) { x.b32((x.u(0) << (x.u(1) & 31)) + x.u(2)); }},
    {"v_lshl_add_u64", [](Lane& x) { x.b64((x.q(0) << (x.u(1) & 7)) + x.q(2)); }},
    {"v_add_lshl_u32", [](Lane& x) { x.b32((x.u(0) + x.u(1)) << (x.u(2) & 31)); }},
    {"v_add3_u32", [](Lane& x) { unsigned32(x, int64_t{x.u(0)} + x.u(1) + x.u(2)); }},
    {"v_xad_u32", [](Lane& x) { x.b32((x.u(0) ^ x.u(1)) + x.u(2)); }},
    {"v_cndmask_b32", [](Lane& x) { x.b32(x.carry ? x.u(1) : x.u(0)); }},
    {"v_lshlrev_b32", [](Lane& x) { x.b32(x.u(1) << (x.u(0) & 31)); }},
    {"v_lshrrev_b32", [](Lane& x) { x.b32(x.u(1) >> (x.u(0) & 31)); }},
    {"v_ashrrev_i32", [](Lane& x) { x.b32(static_cast<uint32_t>(x.i(1) >> (x.u(0) & 31))); }},
    {"v_lshlrev_b64", [](Lane& x) { x.b64(x.q(1) << (x.u(0) & 63)); }},
    {"v_lshrrev_b64", [](Lane& x) { x.b64(x.q(1) >> (x.u(0) & 63)); }},
    {"v_ashrrev_i64", [](Lane& x) { x.b64(static_cast<uint64_t>(x.l(1) >> (x.u(0) & 63))); }},
    {"v_add_nc_u32 v_add_u32", [](Lane& x) { unsigned32(x, int64_t{x.u(0)} + x.u(1)); }},
    {"v_sub_nc_u32 v_sub_u32", [](Lane& x) { unsigned32(x, int64_t{x.u(0)} - x.u(1)); }},
    {"v_subrev_nc_u32 v_subrev_u32", [](Lane& x) { unsigned32(x, int64_t{x.u(1)} - x.u(0)); }},
    {"v_add_nc_i32 v_add_i32", [](Lane& x) { signed32(x, int64_t{x.i(0)} + x.i(1)); }},
    {"v_sub_nc_i32 v_sub_i32", [](Lane& x) { signed32(x, int64_t{x.i(0)} - x.i(1)); }},
    {"v_add_co_u32", [](Lane& x) { add_carry(x, x.u(0), x.u(1), 0); }},
    {"v_sub_co_u32", [](Lane& x) { subtract_borrow(x, x.u(0), x.u(1), 0); }},
    {"v_subrev_co_u32", [](Lane& x) { subtract_borrow(x, x.u(1), x.u(0), 0); }},
    {"v_add_co_ci_u32 v_addc_co_u32", [](Lane& x) { add_carry(x, x.u(0), x.u(1), x.carry); }},
    {"v_sub_co_ci_u32 v_subb_co_u32", [](Lane& x) { subtract_borrow(x, x.u(0), x.u(1), x.carry); }},
    {"v_subrev_co_ci_u32 v_subbrev_co_u32", [](Lane& x) { subtract_borrow(x, x.u(1), x.u(0), x.carry); }},
    {"v_mul_lo_u32", [](Lane& x) { x.b32(uint64_t{x.u(0)} * x.u(1)); }},
    {"v_mul_hi_u32", [](Lane& x) { x.b32(uint64_t{x.u(0)} * x.u(1) >> 32); }},
    {"v_mul_hi_i32", [](Lane& x) { x.b32(static_cast<uint64_t>(int64_t{x.i(0)} * x.i(1) >> 32)); }},
    {"v_mul_u32_u24", [](Lane& x) { unsigned32(x, static_cast<int64_t>(u24(x.u(0)) * u24(x.u(1)))); }},
    {"v_mul_hi_u32_u24", [](Lane& x) { x.b32(u24(x.u(0)) * u24(x.u(1)) >> 32); }},
    {"v_mul_i32_i24", [](Lane& x) { signed32(x, int64_t{i24(x.u(0))} * i24(x.u(1))); }},
    {"v_mul_hi_i32_i24", [](Lane& x) { x.b32(static_cast<uint64_t>(int64_t{i24(x.u(0))} * i24(x.u(1)) >> 32)); }},
    {"v_mad_u32_u24", [](Lane& x) { unsigned32(x, static_cast<int64_t>(u24(x.u(0)) * u24(x.u(1)) + x.u(2))); }},
    {"v_mad_i32_i24", [](Lane& x) { signed32(x, int64_t{i24(x.u(0))} * i24(x.u(1)) + x.i(2)); }},
    {"v_mad_u32_u16", [](Lane& x) { unsigned32(x, int64_t{x.u16(0)} * x.u16(1) + x.u(2)); }},
    {"v_mad_i32_i16", [](Lane& x) { signed32(x, int64_t{x.i16(0)} * x.i16(1) + x.i(2)); }},
    {"v_mad_u64_u32 v_mad_co_u64_u32", mad_u64},
    {"v_mad_i64_i32 v_mad_co_i64_i32", mad_i64},
    {"v_min_i32", [](Lane& x) { x.b32(static_cast<uint32_t>(std::min(x.i(0), x.i(1)))); }},
    {"v_max_i32", [](Lane& x) { x.b32(static_cast<uint32_t>(std::max(x.i(0), x.i(1)))); }},
    {"v_min_u32", [](Lane& x) { x.b32(std::min(x.u(0), x.u(1))); }},
    {"v_max_u32", [](Lane& x) { x.b32(std::max(x.u(0), x.u(1))); }},
    {"v_min3_i32", [](Lane& x) { x.b32(static_cast<uint32_t>(std::min({x.i(0), x.i(1), x.i(2)}))); }},
    {"v_max3_i32", [](Lane& x) { x.b32(static_cast<uint32_t>(std::max({x.i(0), x.i(1), x.i(2)}))); }},
    {"v_med3_i32", [](Lane& x) { x.b32(static_cast<uint32_t>(middle(x.i(0), x.i(1), x.i(2)))); }},
    {"v_min3_u32", [](Lane& x) { x.b32(std::min({x.u(0), x.u(1), x.u(2)})); }},
    {"v_max3_u32", [](Lane& x) { x.b32(std::max({x.u(0), x.u(1), x.u(2)})); }},
    {"v_med3_u32", [](Lane& x) { x.b32(middle(x.u(0), x.u(1), x.u(2))); }},
    {"v_maxmin_i32", [](Lane& x) { x.b32(static_cast<uint32_t>(std::min(std::max(x.i(0), x.i(1)), x.i(2)))); }},
    {"v_minmax_i32", [](Lane& x) { x.b32(static_cast<uint32_t>(std::max(std::min(x.i(0), x.i(1)), x.i(2)))); }},
    {"v_maxmin_u32", [](Lane& x) { x.b32(std::min(std::max(x.u(0), x.u(1)), x.u(2))); }},
    {"v_minmax_u32", [](Lane& x) { x.b32(std::max(std::min(x.u(0), x.u(1)), x.u(2))); }},
    {"v_bfe_u32", [](Lane& x) { x.b32(x.u(0) >> (x.u(1) & 31) & ((uint64_t{1} << (x.u(2) & 31)) - 1)); }},
    {"v_bfe_i32", bfe_signed},
    {"v_bfi_b32", [](Lane& x) { x.b32((x.u(0) & x.u(1)) | (~x.u(0) & x.u(2))); }},
    {"v_bfm_b32", [](Lane& x) { x.b32(((uint64_t{1} << (x.u(0) & 31)) - 1) << (x.u(1) & 31)); }},
    {"v_alignbit_b32", [](Lane& x) { x.b32((uint64_t{x.u(0)} << 32 | x.u(1)) >> (x.u(2) & 31)); }},
    {"v_alignbyte_b32", [](Lane& x) { x.b32((uint64_t{x.u(0)} << 32 | x.u(1)) >> (x.u(2) & 3) * 8); }},
    {"v_bcnt_u32_b32", [](Lane& x) { x.b32(ones(x.u(0)) + x.u(1)); }},
    {"v_mbcnt_lo_u32_b32", [](Lane& x) { x.b32(ones(x.u(0) & static_cast<uint32_t>(lanes_below(x))) + x.u(1)); }},
    {"v_mbcnt_hi_u32_b32", [](Lane& x) { x.b32(ones(x.u(0) & static_cast<uint32_t>(lanes_below(x) >> 32)) + x.u(1)); }},
};

}  // namespace

std::span<const Operation> integer_operations() { return kRows; }

}  // namespace strata::emu::rows
