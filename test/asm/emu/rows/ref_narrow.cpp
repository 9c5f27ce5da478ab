#include "valu_model.h"

// 16-bit integers, bytes and sums of differences.
namespace strata::emu::rows {
namespace {

void unsigned16(Lane& x, int64_t value) {
    x.b16(static_cast<uint64_t>(x.clamp ? std::clamp<int64_t>(value, 0, 0xffff) : value));
}
void signed16(Lane& x, int64_t value) {
    x.b16(static_cast<uint64_t>(x.clamp ? std::clamp<int64_t>(value, -0x8000, 0x7fff) : value));
}
void signed_bits(Lane& x, int32_t value) { x.b16(static_cast<uint32_t>(value)); }
void sum32(Lane& x, uint64_t value) { x.b32(x.clamp ? std::min<uint64_t>(value, UINT32_MAX) : value); }

uint32_t byte(uint64_t x, int n) { return static_cast<uint32_t>(x >> (8 * n) & 255); }
uint32_t distance(uint32_t a, uint32_t b) { return a > b ? a - b : b - a; }
/// The sum of the four bytes' differences; with `masked` a byte 0 of the reference does not count.
uint32_t differences(uint64_t a, uint32_t b, bool masked) {
    uint32_t sum = 0;
    for (int n = 0; n < 4; ++n)
        if (!masked || byte(b, n)) sum += distance(byte(a, n), byte(b, n));
    return sum;
}
void four_sums(Lane& x, bool masked) {
    uint64_t r = 0;
    for (int n = 3; n >= 0; --n) {
        const uint64_t sum = differences(x.q(0) >> (8 * n), x.u(1), masked) + (x.q(2) >> (16 * n) & 0xffff);
        r = r << 16 | (x.clamp ? std::min<uint64_t>(sum, 0xffff) : sum & 0xffff);
    }
    x.b64(r);
}
void four_wide_sums(Lane& x) {
    uint64_t sums[4];
    for (int n = 0; n < 4; ++n) {
        const uint64_t start = (n < 2 ? x.q(2) : x.s2_high) >> (32 * (n & 1)) & 0xffffffff;
        sums[n] = start + differences(x.q(0) >> (8 * n), x.u(1), true);
        sums[n] = x.clamp ? std::min<uint64_t>(sums[n], UINT32_MAX) : sums[n] & 0xffffffff;
    }
    x.set(Bits::b128, sums[0] | sums[1] << 32);
    x.d_high = sums[2] | sums[3] << 32;
}
void permute(Lane& x) {
    const uint64_t data = uint64_t{x.u(0)} << 32 | x.u(1);
    uint32_t r = 0;
    for (int n = 3; n >= 0; --n) {
        const uint32_t select = byte(x.u(2), n);
        uint32_t value;
        if (select >= 13)
            value = 255;
        else if (select == 12)
            value = 0;
        else if (select >= 8)
            value = byte(data, static_cast<int>(2 * (select - 8) + 1)) & 0x80 ? 255 : 0;
        else
            value = byte(data, static_cast<int>(select));
        r = r << 8 | value;
    }
    x.b32(r);
}
void average(Lane& x) {
    uint32_t r = 0;
    for (int n = 3; n >= 0; --n) r = r << 8 | (byte(x.u(0), n) + byte(x.u(1), n) + (byte(x.u(2), n) & 1)) >> 1;
    x.b32(r);
}

template <class T>
T middle(T a, T b, T c) {
    return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

constexpr Operation kRows[] = {
    {"v_mov_b16", [](Lane& x) { x.b16(x.u16(0)); }},
    {"v_not_b16", [](Lane& x) { x.b16(~x.u16(0)); }},
    {"v_and_b16", [](Lane& x) { x.b16(x.u16(0) & x.u16(1)); }},
    {"v_or_b16", [](Lane& x) { x.b16(x.u16(0) | x.u16(1)); }},
    {"v_xor_b16", [](Lane& x) { x.b16(x.u16(0) ^ x.u16(1)); }},
    {"v_cndmask_b16", [](Lane& x) { x.b16(x.carry ? x.u16(1) : x.u16(0)); }},
    {"v_add_nc_u16 v_add_u16", [](Lane& x) { unsigned16(x, int64_t{x.u16(0)} + x.u16(1)); }},
    {"v_sub_nc_u16 v_sub_u16", [](Lane& x) { unsigned16(x, int64_t{x.u16(0)} - x.u16(1)); }},
    {"v_subrev_u16", [](Lane& x) { unsigned16(x, int64_t{x.u16(1)} - x.u16(0)); }},
    {"v_add_nc_i16 v_add_i16", [](Lane& x) { signed16(x, int64_t{x.i16(0)} + x.i16(1)); }},
    {"v_sub_nc_i16 v_sub_i16", [](Lane& x) { signed16(x, int64_t{x.i16(0)} - x.i16(1)); }},
    {"v_mul_lo_u16", [](Lane& x) { x.b16(x.u16(0) * x.u16(1)); }},
    {"v_mad_u16 v_mad_legacy_u16", [](Lane& x) { unsigned16(x, int64_t{x.u16(0)} * x.u16(1) + x.u16(2)); }},
    {"v_mad_i16 v_mad_legacy_i16", [](Lane& x) { signed16(x, int64_t{x.i16(0)} * x.i16(1) + x.i16(2)); }},
    {"v_lshlrev_b16", [](Lane& x) { x.b16(x.u16(1) << (x.u(0) & 15)); }},
    {"v_lshrrev_b16", [](Lane& x) { x.b16(x.u16(1) >> (x.u(0) & 15)); }},
    {"v_ashrrev_i16", [](Lane& x) { signed_bits(x, x.i16(1) >> (x.u(0) & 15)); }},
    {"v_min_u16", [](Lane& x) { x.b16(std::min(x.u16(0), x.u16(1))); }},
    {"v_max_u16", [](Lane& x) { x.b16(std::max(x.u16(0), x.u16(1))); }},
    {"v_min_i16", [](Lane& x) { signed_bits(x, std::min(x.i16(0), x.i16(1))); }},
    {"v_max_i16", [](Lane& x) { signed_bits(x, std::max(x.i16(0), x.i16(1))); }},
    {"v_min3_u16", [](Lane& x) { x.b16(std::min({x.u16(0), x.u16(1), x.u16(2)})); }},
    {"v_max3_u16", [](Lane& x) { x.b16(std::max({x.u16(0), x.u16(1), x.u16(2)})); }},
    {"v_med3_u16", [](Lane& x) { x.b16(middle(x.u16(0), x.u16(1), x.u16(2))); }},
    {"v_min3_i16", [](Lane& x) { signed_bits(x, std::min({x.i16(0), x.i16(1), x.i16(2)})); }},
    {"v_max3_i16", [](Lane& x) { signed_bits(x, std::max({x.i16(0), x.i16(1), x.i16(2)})); }},
    {"v_med3_i16", [](Lane& x) { signed_bits(x, middle(x.i16(0), x.i16(1), x.i16(2))); }},
    {"v_pack_b32_f16",
     [](Lane& x) {
         auto half = [&](uint32_t h) {  // gfx1201 makes signalling NaN quiet
             return x.family == Family::rdna4 && (h & 0x7fff) > 0x7c00 ? h | 0x200 : h;
         };
         x.pk16(half(x.u16(0)), half(x.u16(1)));
     }},
    {"v_sat_pk_u8_i16",
     [](Lane& x) {
         x.b16(static_cast<uint32_t>(std::clamp(x.i16(0), 0, 255)) |
               static_cast<uint32_t>(std::clamp(x.ihigh(0), 0, 255)) << 8);
     }},
    {"v_sad_u8", [](Lane& x) { sum32(x, uint64_t{differences(x.u(0), x.u(1), false)} + x.u(2)); }},
    {"v_sad_hi_u8", [](Lane& x) { sum32(x, (uint64_t{differences(x.u(0), x.u(1), false)} << 16) + x.u(2)); }},
    {"v_msad_u8", [](Lane& x) { sum32(x, uint64_t{differences(x.u(0), x.u(1), true)} + x.u(2)); }},
    {"v_sad_u16",
     [](Lane& x) { sum32(x, uint64_t{distance(x.u16(0), x.u16(1))} + distance(x.high(0), x.high(1)) + x.u(2)); }},
    {"v_sad_u32", [](Lane& x) { sum32(x, uint64_t{distance(x.u(0), x.u(1))} + x.u(2)); }},
    {"v_qsad_pk_u16_u8", [](Lane& x) { four_sums(x, false); }},
    {"v_mqsad_pk_u16_u8", [](Lane& x) { four_sums(x, true); }},
    {"v_mqsad_u32_u8", four_wide_sums},
    {"v_perm_b32", permute},
    {"v_lerp_u8", average},
};

}  // namespace

std::span<const Operation> narrow_operations() { return kRows; }

}  // namespace strata::emu::rows
