#include "strata/asm/isa/print/print_p.h"

namespace strata::isa {
namespace {

std::string hex(uint32_t value) { return fmt::format("0x{:x}", value); }

std::string real_or_hex(uint64_t bits, Reals format) {
    auto code = inline_real_code(bits, format);
    return code ? std::string(inline_real(*code).text) : hex(static_cast<uint32_t>(bits));
}

/// A literal is spelled as the inline constant of the same value where there is one. 16-bit integers are compared as 32
/// bits and cut afterwards.
std::string print_literal(uint32_t value, Type type, Reals packed) {
    auto wide = static_cast<int32_t>(value);
    int32_t narrow = static_cast<int16_t>(value);
    switch (type) {
        case Type::f64: {
            auto code = inline_real_code(uint64_t{value} << 32, Reals::f64);
            return value == 0 ? "0" : code ? std::string(inline_real(*code).text) : hex(value);
        }
        case Type::i64:
        case Type::u64:
        case Type::b64: return value <= 64 ? std::to_string(value) : hex(value);
        case Type::f16:
            return inline_integer_code(narrow) ? std::to_string(narrow) : real_or_hex(value & 0xffff, Reals::f16);
        case Type::bf16: {
            if (inline_integer_code(narrow)) return std::to_string(narrow);
            auto code = inline_real_code(value & 0xffff, Reals::bf16);
            return code ? std::string(inline_real(*code).text) : hex(value);
        }
        default: break;
    }
    if (inline_integer_code(wide)) return std::to_string(wide);
    if (type == Type::pk16) return real_or_hex(value, packed);
    auto code = inline_real_code(value, Reals::f32);
    return code ? std::string(inline_real(*code).text) : hex(is_half(type) ? value & 0xffff : value);
}

std::string print_inline(uint32_t code, Type type) {
    if (is_inline_integer(code)) return std::to_string(inline_integer(code));
    if (is_half(type) && type != Type::f16) return hex(inline_real(code).f16);
    return code == code::inline_inv_2pi && is_64bit(type) ? "0.15915494309189532" : std::string(inline_real(code).text);
}

std::string_view special_name(uint32_t code) {
    switch (code) {
        case code::shared_base: return "src_shared_base";
        case code::shared_limit: return "src_shared_limit";
        case code::private_base: return "src_private_base";
        case code::private_limit: return "src_private_limit";
        case code::pops_exiting_wave_id: return "src_pops_exiting_wave_id";
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

std::string print_operand(const Rules& rules, const Operand& operand, uint32_t literal, Reals packed) {
    if (operand.is_literal()) return print_literal(literal, operand.type, packed);
    if (std::string_view special = special_name(operand.code); !special.empty()) return std::string(special);
    bool constant = !operand.is_vector() && operand.code >= code::inline_zero;
    return constant ? print_inline(operand.code, operand.type)
                    : print_register(rules, operand.code, rules.span(operand.type));
}

}  // namespace strata::isa
