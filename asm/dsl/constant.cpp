#include "strata/asm/dsl/constant_p.h"

#include <bit>

#include "strata/core/dtype/dtype.h"

namespace strata::isa {
namespace {

enum class Width : uint8_t { half, integer_half, packed, word, wide, wide_real };

Width width_of(Type type) {
    switch (type) {
        case Type::f16: return Width::half;
        case Type::b16:
        case Type::i16:
        case Type::u16:
        case Type::bf16: return Width::integer_half;
        case Type::pk16: return Width::packed;
        case Type::f64: return Width::wide_real;
        case Type::b64:
        case Type::i64:
        case Type::u64: return Width::wide;
        default: return Width::word;
    }
}

Reals reals_of(Width width) {
    const bool wide = width == Width::wide || width == Width::wide_real;
    return wide ? Reals::f64 : width == Width::word ? Reals::f32 : Reals::f16;
}

Error does_not_fit(const std::string& value, std::string_view where) {
    return make_error(ErrorKind::Assembly, "{} does not fit {}", value, where);
}

Result<Constant> encode_integer(int64_t value, Width width, bool literal_only) {
    const bool wide = width == Width::wide || width == Width::wide_real;
    const bool half = width == Width::half || width == Width::integer_half;
    const int64_t low = half ? INT16_MIN : INT32_MIN, high = half ? UINT16_MAX : UINT32_MAX;
    const bool fits = value >= low && value <= high;
    if (!wide && !fits)
        return does_not_fit(fmt::format("{:#x}", value), half ? "a 16-bit operand" : "a 32-bit operand");
    // The bits decide: 0xffffffff is the inline constant -1, 0x3f800000 is 1.0.
    if (!wide) value = half ? static_cast<int16_t>(value) : static_cast<int32_t>(value);
    if (!literal_only) {
        if (auto code = inline_integer_code(value)) return Constant{*code};
        const uint64_t pattern = wide   ? static_cast<uint64_t>(value)
                                 : half ? static_cast<uint16_t>(value)
                                        : static_cast<uint32_t>(value);
        if (width != Width::integer_half && width != Width::packed)
            if (auto code = inline_real_code(pattern, reals_of(width))) return Constant{*code};
    }
    if (half) value &= 0xffff;
    if (fits) return Constant{code::literal, static_cast<uint32_t>(value)};
    // A double's literal is its upper half.
    if (width == Width::wide_real && (value & 0xffffffff) == 0)
        return Constant{code::literal, static_cast<uint32_t>(static_cast<uint64_t>(value) >> 32)};
    return does_not_fit(fmt::format("{:#x}", static_cast<uint64_t>(value)),
                        "the 32 bits of a literal; load it from memory");
}

Result<Constant> encode_real(double value, Width width, bool literal_only) {
    const uint64_t half = encode_scalar(dtypes::float16, value);
    switch (width) {
        case Width::integer_half: return make_error(ErrorKind::Assembly, "{} where an integer is needed", value);
        case Width::half: return encode_integer(static_cast<int64_t>(half), width, literal_only);
        case Width::packed:
            if (auto code = inline_real_code(half, Reals::f16)) return Constant{*code};
            return make_error(ErrorKind::Assembly,
                              "{} is no inline constant of a packed operand; give the 32 bits as an integer", value);
        case Width::word:
            return encode_integer(std::bit_cast<uint32_t>(static_cast<float>(value)), width, literal_only);
        case Width::wide:
        case Width::wide_real: break;
    }
    const auto bits = std::bit_cast<uint64_t>(value);
    if (!literal_only)
        if (auto code = bits == 0 ? std::optional(code::inline_zero) : inline_real_code(bits, Reals::f64))
            return Constant{*code};
    if (bits & 0xffffffff)
        return does_not_fit(fmt::format("{}", value), "the upper 32 bits of a double; load it from memory");
    return Constant{code::literal, static_cast<uint32_t>(bits >> 32)};
}

}  // namespace

Result<Constant> encode_constant(const DynOperand& operand, Type type, bool literal_only) {
    const Width width = width_of(type);
    if (operand.kind == DynOperand::Kind::real) return encode_real(operand.real, width, literal_only);
    return encode_integer(operand.integer, width, literal_only);
}

}  // namespace strata::isa
