#include "strata/asm/dsl/operand.h"

#include <charconv>
#include <cmath>

#include "strata/asm/dsl/text_p.h"

namespace strata::isa {
namespace {

struct NamedScalar {
    std::string_view name;
    uint16_t code, count;  ///< count 0: one or two registers, as the wave size wants
    bool reserved = false;
};
constexpr NamedScalar kNamedScalars[] = {
    {"vcc", code::vcc_lo, 0},
    {"vcc_lo", code::vcc_lo, 1},
    {"vcc_hi", code::vcc_hi, 1},
    {"exec", code::exec_lo, 0},
    {"exec_lo", code::exec_lo, 1},
    {"exec_hi", code::exec_hi, 1},
    {"null", code::null, 0},
    {"m0", code::m0, 1},
    {"scc", code::scc, 1},
    {"src_scc", code::scc, 1},
    {"src_shared_base", code::shared_base, 0},
    {"src_shared_limit", code::shared_limit, 0},
    {"src_private_base", code::private_base, 0},
    {"src_private_limit", code::private_limit, 0},
    {"flat_scratch", 102, 2, true},
    {"flat_scratch_lo", 102, 1, true},
    {"flat_scratch_hi", 103, 1, true},
    {"xnack_mask", 104, 2, true},
    {"xnack_mask_lo", 104, 1, true},
    {"xnack_mask_hi", 105, 1, true},
    {"src_vccz", code::vccz, 1},
    {"src_execz", code::execz, 1},
    {"vccz", code::vccz, 1},
    {"execz", code::execz, 1},
    {"src_pops_exiting_wave_id", 239, 1},
};

std::optional<int> number(std::string_view text) {
    int value = 0;
    text = trim(text);
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || status != std::errc() || end != text.data() + text.size()) return {};
    return value;
}

/// "3" or "[3:5]" after a register file's prefix; `limit` registers exist.
std::optional<DynOperand> indexed(std::string_view text, int base, int limit, DynOperand (*make)(int, int)) {
    int first = 0, last = 0;
    if (text.starts_with('[') && text.ends_with(']')) {
        text = text.substr(1, text.size() - 2);
        const size_t colon = text.find(':');
        const auto a = number(text.substr(0, colon)), b = colon == text.npos ? a : number(text.substr(colon + 1));
        if (!a || !b) return {};
        first = *a;
        last = *b;
    } else {
        const auto a = number(text);
        if (!a) return {};
        first = last = *a;
    }
    if (first < 0 || last < first || last >= limit) return {};
    return make(base + first, last - first + 1);
}

std::optional<DynOperand> parse_register(std::string_view text) {
    for (const NamedScalar& row : kNamedScalars)
        if (row.name == text)
            return row.reserved ? DynOperand::reserved_scalar(row.code, row.count)
                                : DynOperand::scalar(row.code, row.count);
    if (text.starts_with("ttmp")) return indexed(text.substr(4), code::ttmp0, 16, DynOperand::scalar);
    if (text.starts_with('v')) return indexed(text.substr(1), 0, 256, DynOperand::vgpr);
    if (text.starts_with('a')) return indexed(text.substr(1), 0, 256, DynOperand::agpr);
    if (text.starts_with('s')) return indexed(text.substr(1), 0, 106, DynOperand::scalar);
    return {};
}

std::optional<DynOperand> parse_number(std::string_view text) {
    const std::string copy(text);
    const bool negative = text.starts_with('-');
    std::string_view digits = text.substr(negative ? 1 : 0);
    if (digits.empty() || digits.front() < '0' || digits.front() > '9') return {};
    const bool hex = digits.starts_with("0x") || digits.starts_with("0X");
    uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto whole = std::from_chars(digits.data() + (hex ? 2 : 0), end, value, hex ? 16 : 10);
    if (whole.ec == std::errc() && whole.ptr == end)
        return DynOperand(negative ? -static_cast<int64_t>(value) : static_cast<int64_t>(value));
    if (hex) return {};
    double real = 0;
    const auto fraction = std::from_chars(digits.data(), end, real);
    if (fraction.ec != std::errc() || fraction.ptr != end) return {};
    return DynOperand(negative ? -real : real);
}

std::optional<DynOperand> parse_any(std::string_view text) {
    text = trim(text);
    if (text == "off") return DynOperand();
    if (auto constant = parse_number(text)) return constant;
    bool negate = false, absolute = false;
    auto strip = [&](std::string_view open, std::string_view close) {
        if (text.size() <= open.size() + close.size() || !text.starts_with(open) || !text.ends_with(close))
            return false;
        text = trim(text.substr(open.size(), text.size() - open.size() - close.size()));
        return true;
    };
    negate = strip("-", "") || strip("neg(", ")");
    absolute = strip("|", "|") || strip("abs(", ")");
    const bool sign_extend = strip("sext(", ")");
    const bool upper = text.ends_with(".h"), half = text.starts_with('v') && (upper || text.ends_with(".l"));
    auto operand = parse_register(half ? text.substr(0, text.size() - 2) : text);
    if (operand && half && operand->kind != DynOperand::Kind::vgpr) return {};
    if (operand && half) operand->half = upper ? DynOperand::Half::upper : DynOperand::Half::lower;
    if (!operand && (negate || absolute)) operand = parse_number(text);
    if (!operand) return {};
    operand->negate = negate;
    operand->absolute = absolute;
    operand->sign_extend = sign_extend;
    return operand;
}

std::string spell(std::string_view file, int first, int count) {
    if (count <= 1) return fmt::format("{}{}", file, first);
    return fmt::format("{}[{}:{}]", file, first, first + count - 1);
}

}  // namespace

Result<DynOperand> DynOperand::parse(std::string_view text) {
    if (auto operand = parse_any(text)) return *operand;
    return make_error(ErrorKind::Assembly,
                      "'{}' is no operand; registers are v0 to v255, s0 to s105, v[a:b], s[a:b], vcc, exec, "
                      "m0, null, a0 to a255",
                      text);
}

std::string to_string(const DynOperand& operand) {
    std::string text;
    switch (operand.kind) {
        case DynOperand::Kind::off: text = "off"; break;
        case DynOperand::Kind::label: text = "<label>"; break;
        case DynOperand::Kind::integer: text = fmt::format("{}", operand.integer); break;
        case DynOperand::Kind::real: text = fmt::format("{}", operand.real); break;
        case DynOperand::Kind::vgpr: text = spell("v", operand.index, operand.count); break;
        case DynOperand::Kind::agpr: text = spell("a", operand.index, operand.count); break;
        case DynOperand::Kind::scalar:
            text = spell("s", operand.index, operand.count);
            if (operand.index >= code::ttmp0) text = spell("ttmp", operand.index - code::ttmp0, operand.count);
            for (const NamedScalar& row : kNamedScalars)
                if (row.code == operand.index && row.reserved == operand.reserved &&
                    (row.count == operand.count || operand.index >= code::null)) {
                    text = row.name;
                    break;
                }
    }
    if (operand.sign_extend) text = "sext(" + text + ")";
    if (operand.half != DynOperand::Half::none) text += operand.half == DynOperand::Half::upper ? ".h" : ".l";
    if (operand.absolute) text = "|" + text + "|";
    return operand.negate ? "-" + text : text;
}

}  // namespace strata::isa
