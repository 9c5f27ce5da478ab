#pragma once
#include <sstream>

#include "rounded.h"
#include "strata/asm/isa/arch.h"

// Data formats of typed buffer instructions, written from the RDNA3 and RDNA4 ISA documents, 9.3 "Buffer Data", and the
// CDNA3 ISA document, 9.1. How floats become narrower numbers is Direct3D's (functional specification, 3.2.3) where
// AMD's documents are silent. Where neither decides, the model allows what known implementations do, or anything.
namespace strata::emu::harness {

enum class Number : uint8_t { unorm, snorm, uscaled, sscaled, uint, sint, real };
inline bool is_integer(Number n) { return n == Number::uint || n == Number::sint; }

struct DataFormat {
    uint32_t code = 0;        ///< RDNA: the format; CDNA: data format | number format << 4
    std::vector<int> widths;  ///< bits of the components, X first
    Number number = Number::uint;
    std::string name;
    int components() const { return static_cast<int>(widths.size()); }
    uint32_t bits_before(int component) const {
        uint32_t bits = 0;
        for (int i = 0; i < component; ++i) bits += static_cast<uint32_t>(widths[static_cast<size_t>(i)]);
        return bits;
    }
    uint32_t bytes() const { return bits_before(components()) / 8; }
};

/// The format of a name as in "2_10_10_10_UNORM", whose last width is that of X.
inline DataFormat format_of_name(uint32_t code, const std::string& name) {
    static constexpr std::string_view kNumbers[] = {"UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "FLOAT"};
    DataFormat format{code, {}, {}, name};
    std::istringstream tokens(name);
    for (std::string token; std::getline(tokens, token, '_');) {
        if (std::isdigit(static_cast<unsigned char>(token[0])))
            format.widths.insert(format.widths.begin(), std::stoi(token));
        else
            format.number = static_cast<Number>(std::find(std::begin(kNumbers), std::end(kNumbers), token) - kNumbers);
    }
    return format;
}

inline std::vector<DataFormat> rdna_formats() {
    std::vector<DataFormat> all;
#define BUFFER_FORMAT(number, name) \
    if (number) all.push_back(format_of_name(number, #name));
#include "strata/asm/isa/rdna3_buffer_formats.def"
#undef BUFFER_FORMAT
    return all;
}

/// CDNA3 ISA, table of DFMT and NFMT. Dwords are integers or floats ("data that is 32 or 64 bits do not undergo any
/// format conversion"), floats have 10 bits at least.
inline std::vector<DataFormat> cdna_formats() {
    static const char* const kData[] = {"8",        "16",          "8_8",        "32",         "16_16",
                                        "10_11_11", "11_11_10",    "10_10_10_2", "2_10_10_10", "8_8_8_8",
                                        "32_32",    "16_16_16_16", "32_32_32",   "32_32_32_32"};
    static const char* const kNumbers[] = {"UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", nullptr, "FLOAT"};
    std::vector<DataFormat> all;
    for (uint32_t number = 0; number < 8; ++number)
        for (uint32_t data = 0; data < std::size(kData) && kNumbers[number]; ++data) {
            DataFormat format =
                format_of_name((data + 1) | number << 4, std::string(kData[data]) + "_" + kNumbers[number]);
            const int narrowest = *std::min_element(format.widths.begin(), format.widths.end());
            if (format.number == Number::real ? narrowest < 10 : narrowest == 32 && !is_integer(format.number))
                continue;
            all.push_back(format);
        }
    return all;
}

/// The values that a component may have.
struct Allowed {
    enum Kind : uint8_t { equal, either, nan, anything } kind = anything;
    uint32_t bits = 0, other = 0;
    bool allows(uint32_t got, FloatFormat f) const {
        const uint32_t magnitude = f.fraction < 10 ? got : got & (f.sign() - 1);
        if (kind == nan) return magnitude > f.infinity();
        return kind == anything || got == bits || (kind == either && got == other);
    }
};
inline Allowed exactly(uint32_t bits) { return {Allowed::equal, bits, 0}; }

/// Floats of 10 and 11 bits have five of exponent and no sign.
inline FloatFormat float_format(int width) {
    return width == 32 ? kSingle : width == 16 ? kHalf : FloatFormat{width - 5, -14, 15};
}
inline uint32_t ones(int width) { return width == 32 ? ~0u : (1u << width) - 1; }
inline int32_t extended(uint32_t raw, int width) {
    const auto unit = int64_t{1} << width;
    return static_cast<int32_t>(raw >> (width - 1) & 1 ? int64_t{raw} - unit : int64_t{raw});
}

/// The number that a component of memory stands for.
inline double number_in(uint32_t raw, int width, Number n) {
    switch (n) {
        case Number::unorm: return raw / static_cast<double>(ones(width));
        case Number::snorm: return std::max(-1.0, extended(raw, width) / static_cast<double>(ones(width - 1)));
        case Number::uscaled:
        case Number::uint: return raw;
        case Number::sscaled:
        case Number::sint: return extended(raw, width);
        default: return exact_value(raw, float_format(width));
    }
}

/// The result of loading a component. Into halves singles are truncated, everything else is rounded to nearest even
/// (RDNA3.5 and RDNA4 ISA, 9.3.1); CDNA's document has no rounding. None says what becomes of wider integers.
inline Allowed loaded(uint32_t raw, int width, Number n, bool to_half, bool rdna) {
    const uint32_t mask = to_half ? 0xffff : ~0u;
    if (is_integer(n)) {
        const double value = number_in(raw, width, n);
        if (to_half && (n == Number::uint ? value > 0xffff : value < -0x8000 || value > 0x7fff)) return {};
        return exactly(static_cast<uint32_t>(n == Number::uint ? raw : static_cast<uint32_t>(extended(raw, width))) &
                       mask);
    }
    if (n == Number::real && width == (to_half ? 16 : 32)) return exactly(raw);
    const double value = number_in(raw, width, n);
    if (std::isnan(value)) return {Allowed::nan, 0, 0};
    const FloatFormat f = to_half ? kHalf : kSingle;
    const bool cut = to_half && n == Number::real && width == 32;
    const uint32_t bits = rounded(value, f, cut ? Rounding::zero : Rounding::nearest);
    if (to_half && !rdna && exact_value(bits, f) != value) return {};
    return exactly(bits);
}

/// A store of a float into one of fewer bits. Direct3D truncates, other models of this hardware round to nearest.
inline Allowed narrowed(double value, int width) {
    const FloatFormat f = float_format(width);
    if (width < 16 && std::signbit(value)) value = 0;
    return {Allowed::either, rounded(value, f, Rounding::zero), rounded(value, f, Rounding::nearest)};
}

/// The bits of a stored float or integer of a register. No document says what becomes of an integer that does not fit.
inline Allowed stored(uint32_t bits, int width, Number n, bool from_half) {
    const int own = from_half ? 16 : 32;
    if (n == Number::real && width == own) return exactly(bits);
    if (is_integer(n)) {
        const int64_t value = n == Number::uint ? int64_t{bits} : extended(bits, own);
        const int64_t low = n == Number::uint ? 0 : -(int64_t{1} << (width - 1));
        if (value < low || value > low + int64_t{ones(width)}) return {};
        return exactly(static_cast<uint32_t>(value) & ones(width));
    }
    double value = exact_value(bits, from_half ? kHalf : kSingle);
    if (n == Number::real) return std::isnan(value) ? Allowed{Allowed::nan, 0, 0} : narrowed(value, width);
    if (std::isnan(value)) value = 0;
    const bool is_signed = n == Number::snorm || n == Number::sscaled;
    const bool normalised = n == Number::unorm || n == Number::snorm;
    const double top = ones(is_signed ? width - 1 : width);
    const double high = normalised ? 1 : top, low = !is_signed ? 0 : normalised ? -1 : -top - 1;
    value = std::clamp(value, low, high) * (normalised ? top : 1);
    auto word = [&](double whole) { return static_cast<uint32_t>(static_cast<int64_t>(whole)) & ones(width); };
    // Ties go to even or away from zero; scaled numbers lose their fraction or are rounded.
    const double down = std::floor(std::fabs(value)), rest = std::fabs(value) - down;
    const bool tie = rest == 0.5;
    auto with_sign = [&](double magnitude) { return word(std::copysign(magnitude, value)); };
    if (!normalised) return {Allowed::either, with_sign(down), with_sign(rest > 0.5 || tie ? down + 1 : down)};
    if (tie) return {Allowed::either, with_sign(std::fmod(down, 2) == 1 ? down + 1 : down), with_sign(down + 1)};
    return exactly(with_sign(rest > 0.5 ? down + 1 : down));
}

}  // namespace strata::emu::harness
