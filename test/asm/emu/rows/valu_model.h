#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "../vector/reference.h"
#include "strata/asm/isa/arch.h"

// A scalar model of the vector instructions, one lane at a time, written from the ISA documents' pseudocode. It shares
// nothing with the emulator's handlers, their names included: a mnemonic has a model only if its spelling is listed.
namespace strata::emu::rows {

using isa::Family;
using reference::Wide;

/// How the bits of a result compare with the handler's.
enum class Bits : uint8_t { none, b16, b32, b64, b128, f16, bf16, f32, f64, pk_f16, pk_f32 };

/// One lane: sources with their modifiers applied, what the operation may depend on, and its result.
/// 16-bit sources are the chosen half; packed ones hold the operand of the low result below that of the high one.
struct Lane {
    Family family{};
    uint32_t mode = 0;
    bool clamp = false;
    // As encoded, for operations that give these bits a meaning of their own
    uint8_t op_sel = 0, op_sel_hi = 0, neg = 0, neg_hi = 0;
    int lane = 0;
    uint64_t s[4] = {};
    uint64_t s2_high = 0;  ///< the upper half of a 128-bit third source
    uint64_t old = 0;      ///< the destination before, of the chosen half for 16-bit ones
    bool carry = false;    ///< this lane's bit of the mask source, or of VCC

    Bits bits = Bits::none;
    uint64_t d = 0, d_high = 0;
    bool mask = false;
    uint32_t extra = 0;  ///< the source after an instruction that writes it (v_swap_b32)

    bool cdna() const { return isa::is_cdna(family); }
    bool ieee() const { return family != Family::rdna4 && (mode >> 9 & 1); }
    int round32() const { return static_cast<int>(mode & 3); }
    int round16() const { return static_cast<int>(mode >> 2 & 3); }

    uint32_t u(int n) const { return static_cast<uint32_t>(s[n]); }
    int32_t i(int n) const { return static_cast<int32_t>(s[n]); }
    uint64_t q(int n) const { return s[n]; }
    int64_t l(int n) const { return static_cast<int64_t>(s[n]); }
    float f(int n) const { return std::bit_cast<float>(u(n)); }
    double g(int n) const { return std::bit_cast<double>(s[n]); }
    uint32_t u16(int n) const { return u(n) & 0xffff; }
    int32_t i16(int n) const { return static_cast<int16_t>(u(n)); }
    uint32_t high(int n) const { return u(n) >> 16; }
    int32_t ihigh(int n) const { return static_cast<int16_t>(u(n) >> 16); }
    Wide h(int n) const { return reference::half_value(u16(n)); }
    Wide hh(int n) const { return reference::half_value(high(n)); }
    float old_f() const { return std::bit_cast<float>(static_cast<uint32_t>(old)); }

    void set(Bits kind, uint64_t value) { bits = kind, d = value; }
    void b16(uint64_t x) { set(Bits::b16, x & 0xffff); }
    void b32(uint64_t x) { set(Bits::b32, x & 0xffffffff); }
    void b64(uint64_t x) { set(Bits::b64, x); }
    void f32(float x) { set(Bits::f32, std::bit_cast<uint32_t>(x)); }
    void f64(double x) { set(Bits::f64, std::bit_cast<uint64_t>(x)); }
    void raw_f16(uint64_t x) { set(Bits::f16, x & 0xffff); }
    void raw_f32(uint64_t x) { set(Bits::f32, x & 0xffffffff); }
    void raw_f64(uint64_t x) { set(Bits::f64, x); }
    /// Rounds to half precision as MODE says.
    void f16(Wide x);
    void pk16(uint32_t low, uint32_t top) { b32((low & 0xffff) | top << 16); }
    void pk_f16(uint32_t low, uint32_t top) { set(Bits::pk_f16, (low & 0xffff) | uint64_t{top & 0xffff} << 16); }
};

constexpr Wide kPi = 3.14159265358979323846264338327950288L;
/// The sine of an angle in turns; exactly zero where the function of a real number is.
inline Wide sine(Wide turns) {
    const Wide r = turns - std::nearbyint(turns);
    return std::fabs(r) == 0.5L ? 0 : r == 0 ? std::copysign(r, turns) : std::sin(2 * kPi * r);
}
inline Wide cosine(Wide turns) {
    const Wide r = std::fabs(turns - std::nearbyint(turns));
    return r == 0.25L ? 0 : std::cos(2 * kPi * r);
}

/// Rounds to a format of `digits` significant binary digits whose least denormal is 2^least: 0 to nearest even, 1 up, 2
/// down, 3 to zero. A number above `largest` becomes infinite, or the largest where the direction says so.
Wide round_to(Wide x, int digits, int least, Wide largest, int direction);
/// The bits of a half of this value, rounded.
uint32_t half_bits(Wide x, int direction);
inline uint32_t half_bits(const Lane& x, Wide value) { return half_bits(value, x.round16()); }

using Run = std::function<void(Lane&)>;

/// Rows of the model: mnemonics that mean the same, separated by spaces, and the operation.
struct Operation {
    std::string_view names;
    void (*run)(Lane&);
};
std::span<const Operation> integer_operations();
std::span<const Operation> narrow_operations();  ///< 16-bit integers and bytes
std::span<const Operation> float_operations();
std::span<const Operation> half_operations();
std::span<const Operation> order_operations();  ///< minimum, maximum, median of floats
std::span<const Operation> convert_operations();
std::span<const Operation> packed_operations();
std::span<const Operation> dot_operations();
std::span<const Operation> byte_float_operations();  ///< 8-bit floats
/// v_cmp and v_cmpx: the relation and the type come from the mnemonic. Empty for another mnemonic.
Run comparison(std::string_view mnemonic);

/// The model of a mnemonic; empty when there is none.
Run model(std::string_view mnemonic);

}  // namespace strata::emu::rows
