#include "valu_bits.h"

#include <cstdlib>

namespace strata::emu::rows {

using isa::Type;

namespace {

bool nan_of(uint64_t x, int width) {
    const uint64_t sign = uint64_t{1} << (width - 1);
    const uint64_t infinity = width == 16 ? 0x7c00 : width == 32 ? 0x7f800000 : 0x7ffull << 52;
    return (x & (sign - 1)) > infinity;
}
int64_t position(uint64_t x, int width) {
    const uint64_t sign = uint64_t{1} << (width - 1);
    return x & sign ? -static_cast<int64_t>(x & (sign - 1)) : static_cast<int64_t>(x);
}
/// Floats of `width` bits agree: any NaN for a NaN, else at most `steps` representable numbers apart.
bool same_float(uint64_t want, uint64_t got, int width, int64_t steps) {
    if (nan_of(want, width) || nan_of(got, width)) return nan_of(want, width) && nan_of(got, width);
    if (want == got) return true;
    return steps > 0 && std::llabs(position(want, width) - position(got, width)) <= steps;
}

template <class T>
T unit(T x, bool nan_to_zero) {
    if (std::isnan(x)) return nan_to_zero ? T(0) : x;
    return x > 0 ? std::min(x, T(1)) : T(0);
}

}  // namespace

int width_of(Bits bits) {
    switch (bits) {
        case Bits::b16:
        case Bits::f16:
        case Bits::bf16: return 16;
        case Bits::b64:
        case Bits::f64:
        case Bits::pk_f32: return 64;
        case Bits::b128: return 128;
        case Bits::none: return 0;
        default: return 32;
    }
}

bool agrees(Bits bits, uint64_t want, uint64_t got, int64_t steps) {
    switch (bits) {
        case Bits::f16: return same_float(want & 0xffff, got & 0xffff, 16, steps);
        case Bits::bf16: return same_float(want << 16 & 0xffff0000, got << 16 & 0xffff0000, 32, 0);
        case Bits::f32: return same_float(want, got, 32, steps);
        case Bits::f64: return same_float(want, got, 64, steps);
        case Bits::pk_f16:
            return same_float(want & 0xffff, got & 0xffff, 16, 0) &&
                   same_float(want >> 16 & 0xffff, got >> 16 & 0xffff, 16, 0);
        case Bits::pk_f32:
            return same_float(want & 0xffffffff, got & 0xffffffff, 32, 0) && same_float(want >> 32, got >> 32, 32, 0);
        default: return want == got;
    }
}

uint64_t clamped(Bits bits, uint64_t d, bool nan_to_zero) {
    auto half = [&](uint64_t h) {
        return uint64_t{half_bits(unit(reference::half_value(h & 0xffff), nan_to_zero), 0)};
    };
    auto single = [&](uint64_t s) {
        return uint64_t{std::bit_cast<uint32_t>(unit(std::bit_cast<float>(static_cast<uint32_t>(s)), nan_to_zero))};
    };
    switch (bits) {
        case Bits::f16: return half(d);
        case Bits::f32: return single(d);
        case Bits::f64: return std::bit_cast<uint64_t>(unit(std::bit_cast<double>(d), nan_to_zero));
        case Bits::pk_f16: return half(d) | half(d >> 16) << 16;
        case Bits::pk_f32: return single(d) | single(d >> 32) << 32;
        case Bits::bf16: return single(d << 16) >> 16;
        default: return d;
    }
}

uint64_t field(uint64_t x, int select, bool sign) {
    if (select == isa::Sdwa::dword) return x;
    const int at = select < 4 ? 8 * select : select == isa::Sdwa::word1 ? 16 : 0, bits = select < 4 ? 8 : 16;
    const uint64_t raw = x >> at & ((uint64_t{1} << bits) - 1);
    return sign && raw >> (bits - 1) ? (raw | ~uint64_t{0} << bits) & 0xffffffff : raw;
}
uint32_t placed(uint32_t result, uint32_t old, const isa::Sdwa& sdwa) {
    const int select = sdwa.dst_sel;
    if (select == isa::Sdwa::dword) return result;
    const int at = select < 4 ? 8 * select : select == isa::Sdwa::word1 ? 16 : 0, bits = select < 4 ? 8 : 16;
    const uint32_t mask = ((1u << bits) - 1) << at, value = result << at & mask;
    if (sdwa.dst_unused == isa::Sdwa::preserve) return (old & ~mask) | value;
    const bool fills = sdwa.dst_unused == isa::Sdwa::sign_extend && result >> (bits - 1) & 1;
    return value | (fills && at + bits < 32 ? ~0u << (at + bits) : 0);
}

bool least_normal(Bits bits, uint64_t d) {
    auto is = [&](int at, int width, uint64_t least) {
        const uint64_t all = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
        return (d >> at & (all >> 1)) == least;
    };
    if (bits == Bits::f16 || bits == Bits::pk_f16)
        return is(0, 16, 0x400) || (bits == Bits::pk_f16 && is(16, 16, 0x400));
    if (bits == Bits::f32 || bits == Bits::pk_f32)
        return is(0, 32, 0x800000) || (bits == Bits::pk_f32 && is(32, 32, 0x800000));
    return bits == Bits::f64 && is(0, 64, uint64_t{1} << 52);
}

uint64_t without_denormals(uint64_t bits, Type type) {
    auto flush = [&](int at, int width, int mantissa) {
        const uint64_t sign = uint64_t{1} << (at + width - 1),
                       all = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
        const uint64_t exponent = (all >> 1 & ~((uint64_t{1} << mantissa) - 1)) << at;
        if (!(bits & exponent)) bits &= ~(all << at) | sign;
    };
    if (type == Type::f16 || type == Type::pk16) flush(0, 16, 10);
    if (type == Type::pk16) flush(16, 16, 10);
    if (type == Type::f32 || type == Type::pk32) flush(0, 32, 23);
    if (type == Type::pk32) flush(32, 32, 23);
    if (type == Type::f64) flush(0, 64, 52);
    return bits;
}

}  // namespace strata::emu::rows
