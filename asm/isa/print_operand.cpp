#include <array>

#include "strata/asm/isa/print_p.h"

namespace strata::isa {
namespace {

constexpr std::array<std::string_view, 9> float_names = {"0.5",  "-0.5", "1.0",  "-1.0",      "2.0",
                                                         "-2.0", "4.0",  "-4.0", "0.15915494"};
constexpr std::array<uint32_t, 9> float32_bits = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                                  0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
constexpr std::array<uint32_t, 9> float16_bits = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                                  0xc000, 0x4400, 0xc400, 0x3118};
constexpr std::array<uint32_t, 9> bfloat16_bits = {0x3f00, 0xbf00, 0x3f80, 0xbf80, 0x4000,
                                                   0xc000, 0x4080, 0xc080, 0x3e22};
constexpr std::array<uint32_t, 8> float64_high = {0x3fe00000, 0xbfe00000, 0x3ff00000, 0xbff00000,
                                                  0x40000000, 0xc0000000, 0x40100000, 0xc0100000};

std::string hex(uint32_t value) { return fmt::format("0x{:x}", value); }

template <size_t N>
std::string float_or_hex(uint32_t value, const std::array<uint32_t, N>& patterns) {
    for (size_t i = 0; i < N; ++i)
        if (patterns[i] == value) return std::string(float_names[i]);
    return hex(value);
}

bool is_inline_int(int32_t value) { return value >= -16 && value <= 64; }

/// A literal is spelled as the inline constant of the same value where there is one; 16-bit integers are compared as 32
/// bits and cut afterwards.
std::string print_literal(uint32_t value, Type type, Packed packed) {
    auto wide = static_cast<int32_t>(value);
    int32_t narrow = static_cast<int16_t>(value);
    switch (type) {
        case Type::f64: return value == 0 ? "0" : float_or_hex(value, float64_high);
        case Type::i64:
        case Type::u64:
        case Type::b64: return value <= 64 ? std::to_string(value) : hex(value);
        case Type::f16:
            return is_inline_int(narrow) ? std::to_string(narrow) : float_or_hex(value & 0xffff, float16_bits);
        case Type::bf16: {
            if (is_inline_int(narrow)) return std::to_string(narrow);
            std::string text = float_or_hex(value & 0xffff, bfloat16_bits);
            return text.starts_with("0x") ? hex(value) : text;
        }
        default: break;
    }
    if (is_inline_int(wide)) return std::to_string(wide);
    if (type == Type::pk16 && packed == Packed::bf16) return float_or_hex(value, bfloat16_bits);
    if (type == Type::pk16 && packed == Packed::f16) return float_or_hex(value, float16_bits);
    std::string text = float_or_hex(value, float32_bits);
    bool integer16 = type == Type::i16 || type == Type::u16 || type == Type::b16;
    return integer16 && text.starts_with("0x") ? hex(value & 0xffff) : text;
}

std::string print_inline(uint32_t code, Type type) {
    if (code <= 192) return std::to_string(code - code::inline_zero);
    if (code <= 208) return std::to_string(192 - static_cast<int>(code));
    bool integer16 = type == Type::i16 || type == Type::u16 || type == Type::b16;
    bool wide = type == Type::f64 || type == Type::b64 || type == Type::i64 || type == Type::u64;
    size_t index = code - code::inline_half;
    if (integer16) return hex(float16_bits[index]);
    return code == code::inline_inv_2pi && wide ? "0.15915494309189532" : std::string(float_names[index]);
}

std::string_view special_name(uint32_t code) {
    switch (code) {
        case code::shared_base: return "src_shared_base";
        case code::shared_limit: return "src_shared_limit";
        case code::private_base: return "src_private_base";
        case code::private_limit: return "src_private_limit";
        case 239: return "src_pops_exiting_wave_id";
        case code::vccz: return "src_vccz";
        case code::execz: return "src_execz";
        case code::scc: return "src_scc";
        default: return {};
    }
}

std::string group(std::string_view file, uint32_t first, int dwords) {
    if (dwords == 1) return fmt::format("{}{}", file, first);
    return fmt::format("{}[{}:{}]", file, first, first + static_cast<uint32_t>(dwords) - 1);
}

}  // namespace

std::string print_register(const Rules& rules, uint32_t code, int dwords) {
    auto named = [&](std::string name) { return dwords == 2 ? name : name + (code % 2 ? "_hi" : "_lo"); };
    if (code >= code::agpr0) return group("a", code - code::agpr0, dwords);
    if (code >= code::vgpr0) return group("v", code - code::vgpr0, dwords);
    if (code < rules.sgprs) return group("s", code, dwords);
    if (code == code::null) return "null";
    if (code == code::m0) return "m0";
    if (code >= code::exec_lo) return named("exec");
    if (code >= code::ttmp0) return group("ttmp", code - code::ttmp0, dwords);
    return named(code >= code::vcc_lo ? "vcc" : code < 104 ? "flat_scratch" : "xnack_mask");
}

std::string print_operand(const Rules& rules, const Operand& operand, uint32_t literal, Packed packed) {
    if (operand.is_literal()) return print_literal(literal, operand.type, packed);
    if (std::string_view special = special_name(operand.code); !special.empty()) return std::string(special);
    bool constant = !operand.is_vector() && operand.code >= code::inline_zero;
    return constant ? print_inline(operand.code, operand.type)
                    : print_register(rules, operand.code, rules.span(operand.type));
}

}  // namespace strata::isa
