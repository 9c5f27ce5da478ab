#pragma once
#include <cstdint>

namespace strata::emu {

/// A value of up to 64 bits with those of its bits that are known, as they come from what was written. An operation
/// knows what its operands decide: an AND with a known 0, the low bits of a sum.
struct Known {
    uint64_t value = 0, bits = ~0ull;
    constexpr bool whole() const { return bits == ~0ull; }
};

/// Bits below the lowest that is not set.
constexpr uint64_t low_ones(uint64_t bits) {
    const uint64_t gap = ~bits & (bits + 1);
    return gap ? gap - 1 : ~0ull;
}

constexpr Known known(uint64_t value) { return {value, ~0ull}; }
constexpr Known operator&(Known a, Known b) {
    return {a.value & b.value, (a.bits & b.bits) | (a.bits & ~a.value) | (b.bits & ~b.value)};
}
constexpr Known operator|(Known a, Known b) {
    return {a.value | b.value, (a.bits & b.bits) | (a.bits & a.value) | (b.bits & b.value)};
}
constexpr Known operator^(Known a, Known b) { return {a.value ^ b.value, a.bits & b.bits}; }
constexpr Known operator~(Known a) { return {~a.value, a.bits}; }
constexpr Known operator+(Known a, Known b) { return {a.value + b.value, low_ones(a.bits & b.bits)}; }
constexpr Known operator-(Known a, Known b) { return {a.value - b.value, low_ones(a.bits & b.bits)}; }
constexpr Known operator*(Known a, Known b) { return {a.value * b.value, low_ones(a.bits & b.bits)}; }
constexpr Known operator<<(Known a, Known by) {
    if (!by.whole()) return {0, 0};
    return {a.value << (by.value & 63), a.bits << (by.value & 63) | ~(~0ull << (by.value & 63))};
}
constexpr Known operator>>(Known a, Known by) {
    if (!by.whole()) return {0, 0};
    return {a.value >> (by.value & 63), a.bits >> (by.value & 63) | ~(~0ull >> (by.value & 63))};
}
/// The low 32 bits with their sign, and a shift that keeps it.
constexpr Known with_sign(Known a) {
    const auto extend = [](uint64_t bits) { return static_cast<uint64_t>(static_cast<int32_t>(bits)); };
    return {extend(a.value), extend(a.bits)};
}
constexpr Known shift_signed(Known a, Known by) {
    if (!by.whole()) return {0, 0};
    const auto shift = [&](uint64_t bits) {
        return static_cast<uint64_t>(static_cast<int64_t>(bits) >> (by.value & 63));
    };
    return {shift(a.value), shift(a.bits)};
}
constexpr Known bits_of(Known a, uint64_t mask) { return a & known(mask); }
constexpr Known low_half(Known a) { return bits_of(a, 0xffff); }
constexpr Known field(Known a, Known offset, Known width) {
    if (!width.whole()) return {0, 0};
    return bits_of(a >> bits_of(offset, 31), (1ull << (width.value & 31)) - 1);
}
constexpr Known field_signed(Known a, Known offset, Known width) {
    const Known bits = field(a, offset, width);
    const uint64_t size = width.value & 31;
    if (!width.whole() || !size) return bits;
    const auto extend = [&](uint64_t value) {
        return static_cast<uint64_t>(static_cast<int64_t>(value << (64 - size)) >> (64 - size));
    };
    return {extend(bits.value), extend(bits.bits)};
}
constexpr Known signed_24(Known a) { return field_signed(a, known(0), known(24)); }
/// v_perm_b32: bytes of b (0 to 3) and of a (4 to 7) by the bytes of the selector. 8 to 11 are signs, 12 is 0, more are
/// 0xff.
constexpr Known permute(Known a, Known b, Known selector) {
    if (!selector.whole()) return {0, 0};
    const Known both = bits_of(a, 0xffffffff) << known(32) | bits_of(b, 0xffffffff);
    Known result = known(0);
    for (uint64_t i = 0; i < 4; ++i) {
        const uint64_t select = selector.value >> 8 * i & 255;
        Known byte = known(select == 12 ? 0 : 255);
        if (select < 8) byte = bits_of(both >> known(8 * select), 255);
        if (select >= 8 && select < 12) {
            const Known sign = bits_of(both >> known(16 * (select - 8) + 15), 1);
            byte = {sign.value * 255, sign.whole() ? ~0ull : ~255ull};
        }
        result = result | byte << known(8 * i);
    }
    return result;
}
/// All or nothing: a result that every bit of the operands may decide.
constexpr Known of_all(Known a) { return a.whole() ? a : Known{a.value, 0}; }
constexpr Known either(Known a, Known b, Known choice) {
    if (choice.whole()) return choice.value ? b : a;
    return {a.value, a.bits & b.bits & ~(a.value ^ b.value)};
}

}  // namespace strata::emu
