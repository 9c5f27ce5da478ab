#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "strata/asm/emu/machine/handler.h"
#include "strata/asm/emu/memory/atomic_lanes.h"

// Atomic float additions: rounded to nearest even whatever MODE says. Local memory follows MODE's denormal bits. The
// caches' 32-bit addition flushes denormals in GFX90a and GFX11 and keeps them since GFX942 and GFX12; 64-bit and
// packed ones keep them. Sources: CDNA3 ISA 9.2, RDNA3 ISA "Float Atomics"; LLVM's
// FeatureMemoryAtomicFAddF32DenormalSupport.
namespace strata::emu {
namespace {

using f32 = float;
using f64 = double;

/// Two bits as in MODE.FP_DENORM: bit 0 lets denormal inputs pass, bit 1 denormal results.
using Denormals = u32;
constexpr Denormals kKeep = 3, kFlush = 0;

template <class T>
T flushed(T x, bool keep) {
    return keep || std::fpclassify(x) != FP_SUBNORMAL ? x : std::copysign(T{0}, x);
}

/// Results where a value is not a finite number, before or after. Of two NaNs memory's, quiet; opposite infinities give
/// the positive NaN.
template <class T>
[[gnu::noinline]] T odd_sum(T old, T data, Denormals denormals) {
    constexpr bool wide = sizeof(T) == 8;
    using Bits = std::conditional_t<wide, u64, u32>;
    constexpr Bits kQuiet = Bits{1} << (wide ? 51 : 22);
    if (std::isnan(old)) return std::bit_cast<T>(std::bit_cast<Bits>(old) | kQuiet);
    if (std::isnan(data)) return std::bit_cast<T>(std::bit_cast<Bits>(data) | kQuiet);
    const T result = flushed(old, denormals & 1) + flushed(data, denormals & 1);
    if (std::isnan(result)) return std::bit_cast<T>(std::bit_cast<Bits>(std::numeric_limits<T>::infinity()) | kQuiet);
    return flushed(result, denormals & 2);
}

/// The sum as the hardware forms it.
template <class T>
T sum(T old, T data, Denormals denormals) {
    using Bits = std::conditional_t<sizeof(T) == 8, u64, u32>;
    constexpr Bits kMinimum = std::bit_cast<Bits>(std::numeric_limits<T>::min());
    auto denormal = [](T x) { return 2 * std::bit_cast<Bits>(x) - 1 < 2 * kMinimum - 1; };
    const T result = old + data;
    const bool flushes = denormals != kKeep && (denormal(old) || denormal(data) || denormal(result));
    if (flushes || std::isnan(result)) [[unlikely]]
        return odd_sum(old, data, denormals);
    return result;
}

f32 half_to_float(u32 half) {
    const u32 exponent = half >> 10 & 31, fraction = half & 1023, sign = (half & 0x8000) << 16;
    if (exponent == 31) return std::bit_cast<f32>(sign | 0x7f800000 | fraction << 13);
    if (exponent != 0) return std::bit_cast<f32>(sign | (exponent + 112) << 23 | fraction << 13);
    return std::copysign(static_cast<f32>(fraction) * 0x1p-24f, std::bit_cast<f32>(sign | 0x3f800000));
}
/// Nearest even.
u32 float_to_half(f32 x) {
    const u32 bits = std::bit_cast<u32>(x), sign = bits >> 16 & 0x8000;
    const f32 magnitude = std::fabs(x);
    if (std::isnan(x)) return sign | 0x7e00 | (bits >> 13 & 0x3ff);
    if (magnitude >= 65520.0f) return sign | 0x7c00;
    if (magnitude < 0x1p-14f) return sign | static_cast<u32>(std::nearbyint(magnitude * 0x1p24f));
    const u32 rounded = (bits & 0x7fffffff) + 0xfff + (bits >> 13 & 1);
    return sign | ((rounded >> 13) - (112u << 10));
}
f32 brain_to_float(u32 brain) { return std::bit_cast<f32>(brain << 16); }
u32 float_to_brain(f32 x) {
    const u32 bits = std::bit_cast<u32>(x);
    if (std::isnan(x)) return bits >> 16 | 0x40;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

using U4 = u32 __attribute__((vector_size(16)));
using I4 = i32 __attribute__((vector_size(16)));
using F4 = f32 __attribute__((vector_size(16)));

/// The formats of packed additions: one number at a time for all there is, four at a time for finite ones.
struct Half {
    static constexpr u32 kExponents = 0x7c007c00;
    static f32 widen(u32 x) { return half_to_float(x); }
    static u32 narrow(f32 x) { return float_to_half(x); }
    static F4 widen(U4 x) {
        const U4 magnitude = x & 0x7fff, normal = (magnitude << 13) + (112u << 23);
        const U4 tiny = (U4)(__builtin_convertvector((I4)magnitude, F4) * 0x1p-24f);
        return (F4)((x & 0x8000) << 16 | ((I4)magnitude < 0x400 ? tiny : normal));
    }
    static U4 narrow(F4 x) {
        const U4 magnitude = (U4)x & 0x7fffffff;
        const U4 rounded = ((magnitude + 0xfff + (magnitude >> 13 & 1)) >> 13) - (112u << 10);
        const U4 tiny = (U4)((F4)magnitude + 0.5f) - 0x3f000000;  // a single's last bit is that of halves here
        const U4 in_range = (I4)rounded < 0x7c00 ? rounded : U4{} + 0x7c00;
        return ((U4)x >> 16 & 0x8000) | ((I4)magnitude < 0x38800000 ? tiny : in_range);
    }
};
struct Brain {
    static constexpr u32 kExponents = 0x7f807f80;
    static f32 widen(u32 x) { return brain_to_float(x); }
    static u32 narrow(f32 x) { return float_to_brain(x); }
    static F4 widen(U4 x) { return (F4)(x << 16); }
    static U4 narrow(F4 x) { return ((U4)x + 0x7fff + ((U4)x >> 16 & 1)) >> 16; }
};

/// True if both numbers' exponents are below the largest: one more in the last place carries into the sign then.
template <class Format>
bool finite(u32 pair) {
    constexpr u32 kLast = Format::kExponents & ~(Format::kExponents << 1);
    return (((pair & Format::kExponents) + kLast) & 0x80008000) == 0;
}

/// A single's 24 bits hold enough of the sum that rounding it again is rounding once.
template <class Format>
u32 packed_sum(u32 old, u32 data) {
    if (finite<Format>(old) && finite<Format>(data)) [[likely]] {
        const F4 wide = Format::widen(U4{old & 0xffff, data & 0xffff, old >> 16, data >> 16});
        const U4 sums = Format::narrow(wide + __builtin_shufflevector(wide, wide, 1, 0, 3, 2));
        return sums[0] | sums[2] << 16;
    }
    const u32 low = Format::narrow(sum(Format::widen(old & 0xffff), Format::widen(data & 0xffff), kKeep));
    const u32 high = Format::narrow(sum(Format::widen(old >> 16), Format::widen(data >> 16), kKeep));
    return (low & 0xffff) | high << 16;
}

enum class Rule : uint8_t { keep, flush, mode };

template <class T, Rule rule>
const Op* add_float(Wave* wave, const Op* op) {
    constexpr int kModeBit = sizeof(T) == 8 ? 6 : 4;
    const Denormals denormals = rule == Rule::keep ? kKeep : rule == Rule::flush ? kFlush : wave->mode >> kModeBit & 3;
    const bool done = denormals == kKeep
                          ? for_lanes<T, 1>(wave, op, [](T old, T data, T) { return sum(old, data, kKeep); })
                          : for_lanes<T, 1>(wave, op, [=](T old, T data, T) { return sum(old, data, denormals); });
    if (!done) return nullptr;
    STRATA_EMU_NEXT;
}

template <u32 (*add)(u32, u32)>
const Op* add_packed(Wave* wave, const Op* op) {
    if (!for_lanes<u32, 1>(wave, op, [](u32 old, u32 data, u32) { return add(old, data); })) return nullptr;
    STRATA_EMU_NEXT;
}

struct Row {
    std::string_view name;
    Handler local, flushing, keeping;  ///< where the caches flush denormals, and where they keep them
    uint8_t bytes;
};
constexpr Handler kAddHalves = add_packed<packed_sum<Half>>, kAddBrains = add_packed<packed_sum<Brain>>;
constexpr Row kRows[] = {
    {"add_f32", add_float<f32, Rule::mode>, add_float<f32, Rule::flush>, add_float<f32, Rule::keep>, 4},
    {"add_f64", add_float<f64, Rule::mode>, add_float<f64, Rule::keep>, add_float<f64, Rule::keep>, 8},
    {"pk_add_f16", kAddHalves, kAddHalves, kAddHalves, 4},
    {"pk_add_bf16", kAddBrains, kAddBrains, kAddBrains, 4},
};

}  // namespace

bool adds_floats(std::string_view operation) {
    return std::ranges::find(kRows, operation, &Row::name) != std::end(kRows);
}

std::optional<Op> choose_float_atomic(const Decoded& decoded, MemoryFields fields, std::string_view operation) {
    auto row = std::ranges::find(kRows, operation, &Row::name);
    if (row == std::end(kRows)) return {};
    const bool flushes = decoded.family() == isa::Family::rdna3 || decoded.family() == isa::Family::cdna2;
    fields.bytes = row->bytes;
    return Op(fields.space == Space::local ? row->local : flushes ? row->flushing : row->keeping, fields);
}

}  // namespace strata::emu
