#include <fmt/format.h>

#include <cmath>

#include "strata/codegen/render/expression_p.h"

namespace strata::codegen {
namespace {

std::string with_point(std::string digits) {
    return digits.find_first_of(".en") == digits.npos ? digits + ".0" : digits;
}

/// A float32 or float64 literal.
Expression real(double value, bool wide) {
    const char* suffix = wide ? "" : "f";
    if (std::isnan(value)) return {fmt::format("__builtin_nan{}(\"\")", suffix)};
    int precedence = std::signbit(value) ? kPrefix : kPrimary;
    const char* sign = std::signbit(value) ? "-" : "";
    if (std::isinf(value)) return {fmt::format("{}__builtin_inf{}()", sign, suffix), precedence};
    double size = std::abs(value);
    std::string digits = wide ? fmt::format("{}", size) : fmt::format("{}", static_cast<float>(size));
    return {sign + with_point(digits) + suffix, precedence};
}

Expression integer(DType type, int64_t value) {
    if (type == dtypes::uint64) return {fmt::format("{}ul", static_cast<uint64_t>(value))};
    if (type == dtypes::uint32) return {fmt::format("{}u", static_cast<uint32_t>(value))};
    const char* suffix = type == dtypes::int64 ? "l" : "";
    if (value == int_min(type) && type.bits() >= 32) return {fmt::format("(-{}{} - 1)", int_max(type), suffix)};
    Expression plain{fmt::format("{}{}", value, suffix), value < 0 ? kPrefix : kPrimary};
    if (type.bits() >= 32) return plain;
    return {fmt::format("({}){}", hip_type(type), plain.text), kPrefix};
}

}  // namespace

std::string hip_type(DType type) {
    if (type.lanes == 1) return std::string(type.hip());
    std::string name(type.hip());
    if (size_t space = name.find(' '); space != name.npos)  // "unsigned short" -> "ushort", "signed char" -> "char"
        name = (name.starts_with("unsigned") ? "u" : "") + name.substr(space + 1);
    return fmt::format("{}{}", name, type.lanes);
}

Expression literal(UOp u) {
    DType type = u.dtype().element();
    if (u.dtype().lanes > 1) {
        std::string one = literal(constant(type, const_value(u))).text, all = one;
        for (int i = 1; i < u.dtype().lanes; ++i) all += ", " + one;
        return {fmt::format("make_{}({})", hip_type(u.dtype()), all)};
    }
    if (type.is_bool()) return {const_int(u) ? "true" : "false"};
    if (!type.is_float()) return integer(type, const_int(u));
    Expression value = real(const_value(u), type == dtypes::float64);
    if (type.bits() >= 32) return value;
    return {fmt::format("({}){}", hip_type(type), value.text), kPrefix};
}

bool is_generated_name(std::string_view name) {
    return name.size() > 2 && (name[0] == 'e' || name[0] == 'r') && name[1] == '_' &&
           name.find_first_not_of("0123456789_", 1) == name.npos;
}

}  // namespace strata::codegen
