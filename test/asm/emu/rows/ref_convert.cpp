#include "valu_model.h"

// Conversions between numbers of 16, 32 and 64 bits.
namespace strata::emu::rows {
namespace {

/// To an integer: towards zero, saturating, 0 for NaN.
int64_t whole(Wide x, int64_t low, int64_t high) {
    if (std::isnan(x)) return 0;
    if (x <= static_cast<Wide>(low)) return low;
    if (x >= static_cast<Wide>(high)) return high;
    return static_cast<int64_t>(x);
}
uint64_t i32(Wide x) { return static_cast<uint64_t>(whole(x, INT32_MIN, INT32_MAX)); }
uint64_t u32(Wide x) { return static_cast<uint64_t>(whole(x, 0, UINT32_MAX)); }
uint32_t i16(Wide x) { return static_cast<uint32_t>(whole(x, INT16_MIN, INT16_MAX)) & 0xffff; }
uint32_t u16(Wide x) { return static_cast<uint32_t>(whole(x, 0, UINT16_MAX)); }
/// Rounded as MODE says before it saturates.
uint32_t u8(const Lane& x, Wide value) {
    if (std::isnan(value)) return 0;
    return static_cast<uint32_t>(whole(round_to(value, 64, 0, INFINITY, x.round32()), 0, UINT8_MAX));
}
/// gfx1201 gives the limit of a NaN's sign.
uint64_t floor_of(const Lane& x, Wide value) {
    if (std::isnan(x.f(0)) && x.family == Family::rdna4) return std::signbit(x.f(0)) ? 0x80000000 : 0x7fffffff;
    return i32(std::floor(value));
}

Wide nearest(Wide x) { return round_to(x, 64, 0, INFINITY, 0); }
/// [-1, 1] to a signed, [0, 1] to an unsigned 16-bit integer.
uint32_t snorm(Wide x) { return std::isnan(x) ? 0 : i16(nearest(std::clamp<Wide>(x, -1, 1) * 32767)); }
uint32_t unorm(Wide x) { return std::isnan(x) ? 0 : u16(nearest(std::clamp<Wide>(x, 0, 1) * 65535)); }

uint32_t with_byte(uint32_t word, uint32_t n, uint32_t byte) {
    return (word & ~(255u << 8 * (n & 3))) | byte << 8 * (n & 3);
}
float byte_of(const Lane& x, int n) { return static_cast<float>(x.u(0) >> (8 * n) & 255); }

constexpr Operation kRows[] = {
    {"v_cvt_i32_f32", [](Lane& x) { x.b32(i32(x.f(0))); }},
    {"v_cvt_u32_f32", [](Lane& x) { x.b32(u32(x.f(0))); }},
    {"v_cvt_i32_f64", [](Lane& x) { x.b32(i32(x.g(0))); }},
    {"v_cvt_u32_f64", [](Lane& x) { x.b32(u32(x.g(0))); }},
    {"v_cvt_nearest_i32_f32 v_cvt_rpi_i32_f32",
     [](Lane& x) {
         const Wide whole = std::floor(Wide(x.f(0))), rest = x.f(0) - whole;
         x.b32(floor_of(x, rest >= 0.5L ? whole + 1 : whole));
     }},
    {"v_cvt_floor_i32_f32 v_cvt_flr_i32_f32", [](Lane& x) { x.b32(floor_of(x, x.f(0))); }},
    {"v_cvt_f32_i32", [](Lane& x) { x.f32(static_cast<float>(x.i(0))); }},
    {"v_cvt_f32_u32", [](Lane& x) { x.f32(static_cast<float>(x.u(0))); }},
    {"v_cvt_f64_i32", [](Lane& x) { x.f64(x.i(0)); }},
    {"v_cvt_f64_u32", [](Lane& x) { x.f64(x.u(0)); }},
    {"v_cvt_f32_f64", [](Lane& x) { x.f32(static_cast<float>(x.g(0))); }},
    {"v_cvt_f64_f32", [](Lane& x) { x.f64(x.f(0)); }},
    {"v_cvt_f32_f16", [](Lane& x) { x.f32(static_cast<float>(x.h(0))); }},
    {"v_cvt_f16_f32", [](Lane& x) { x.f16(x.f(0)); }},
    {"v_cvt_f16_u16", [](Lane& x) { x.f16(x.u16(0)); }},
    {"v_cvt_f16_i16", [](Lane& x) { x.f16(x.i16(0)); }},
    {"v_cvt_u16_f16", [](Lane& x) { x.b16(u16(x.h(0))); }},
    {"v_cvt_i16_f16", [](Lane& x) { x.b16(i16(x.h(0))); }},
    {"v_cvt_i32_i16", [](Lane& x) { x.b32(static_cast<uint32_t>(x.i16(0))); }},
    {"v_cvt_u32_u16", [](Lane& x) { x.b32(x.u16(0)); }},
    {"v_cvt_off_f32_i4", [](Lane& x) { x.f32(static_cast<float>(static_cast<int32_t>(x.u(0) << 28) >> 28) / 16); }},
    {"v_cvt_f32_ubyte0", [](Lane& x) { x.f32(byte_of(x, 0)); }},
    {"v_cvt_f32_ubyte1", [](Lane& x) { x.f32(byte_of(x, 1)); }},
    {"v_cvt_f32_ubyte2", [](Lane& x) { x.f32(byte_of(x, 2)); }},
    {"v_cvt_f32_ubyte3", [](Lane& x) { x.f32(byte_of(x, 3)); }},
    {"v_cvt_norm_i16_f16", [](Lane& x) { x.b16(snorm(x.h(0))); }},
    {"v_cvt_norm_u16_f16", [](Lane& x) { x.b16(unorm(x.h(0))); }},
    {"v_cvt_pk_norm_i16_f32 v_cvt_pknorm_i16_f32", [](Lane& x) { x.pk16(snorm(x.f(0)), snorm(x.f(1))); }},
    {"v_cvt_pk_norm_u16_f32 v_cvt_pknorm_u16_f32", [](Lane& x) { x.pk16(unorm(x.f(0)), unorm(x.f(1))); }},
    {"v_cvt_pk_norm_i16_f16 v_cvt_pknorm_i16_f16", [](Lane& x) { x.pk16(snorm(x.h(0)), snorm(x.h(1))); }},
    {"v_cvt_pk_norm_u16_f16 v_cvt_pknorm_u16_f16", [](Lane& x) { x.pk16(unorm(x.h(0)), unorm(x.h(1))); }},
    {"v_cvt_pk_rtz_f16_f32 v_cvt_pkrtz_f16_f32", [](Lane& x) { x.pk_f16(half_bits(x.f(0), 3), half_bits(x.f(1), 3)); }},
    {"v_cvt_pk_i16_f32", [](Lane& x) { x.pk16(i16(x.f(0)), i16(x.f(1))); }},
    {"v_cvt_pk_u16_f32", [](Lane& x) { x.pk16(u16(x.f(0)), u16(x.f(1))); }},
    {"v_cvt_pk_i16_i32", [](Lane& x) { x.pk16(i16(x.i(0)), i16(x.i(1))); }},
    {"v_cvt_pk_u16_u32", [](Lane& x) { x.pk16(u16(x.u(0)), u16(x.u(1))); }},
    {"v_cvt_pk_u8_f32", [](Lane& x) { x.b32(with_byte(x.u(2), x.u(1), u8(x, x.f(0)))); }},
    {"v_cvt_pkaccum_u8_f32", [](Lane& x) { x.b32(with_byte(static_cast<uint32_t>(x.old), x.u(1), u8(x, x.f(0)))); }},
};

}  // namespace

std::span<const Operation> convert_operations() { return kRows; }

}  // namespace strata::emu::rows
