// How HIP writes each elementwise op: the spellings of ops.def, and what differs by type.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "strata/codegen/render/expression_p.h"
#include "strata/codegen/render/math_library.h"
#include "strata/core/symbolic/symbolic.h"

namespace strata::codegen {
namespace {

/// The column HIP of ops.def.
struct Spelling {
    enum class Form : uint8_t { own, infix, call, builtin } form = Form::own;
    std::string_view text = {};      ///< the sign, or the function of floats
    std::string_view integers = {};  ///< the function of integers; empty: there is none
    int precedence = kPrimary;
    bool floats = true, in_library = false;
};
constexpr Spelling own{};
constexpr std::string_view itself = "itself";
constexpr Spelling infix(std::string_view sign, int precedence) {
    return {.form = Spelling::Form::infix, .text = sign, .precedence = precedence};
}
constexpr Spelling int_infix(std::string_view sign, int precedence) {
    return {.form = Spelling::Form::infix, .text = sign, .precedence = precedence, .floats = false};
}
constexpr Spelling call(std::string_view function, std::string_view integers = {}) {
    return {.form = Spelling::Form::call, .text = function, .integers = integers};
}
constexpr Spelling ocml(std::string_view function, std::string_view integers = {}) {
    return {.form = Spelling::Form::call, .text = function, .integers = integers, .in_library = true};
}
constexpr Spelling builtin(std::string_view name) { return {.form = Spelling::Form::builtin, .text = name}; }
constexpr Spelling prelude(std::string_view function) { return call(function, function); }

Spelling spelling(Op op) {
    switch (op) {
#define ELEMENTWISE(name, arity, flags, rule, cost, hip, ...) \
    case Op::name: return hip;
#define MACHINE(name, arity, hip, ...) \
    case Op::name: return hip;
#include "strata/core/uop/ops.def"
        default: return own;
    }
}

Expression joined(std::string_view sign, int precedence, const Expression& a, const Expression& b) {
    return {fmt::format("{} {} {}", a.within(precedence), sign, b.within(precedence + 1)), precedence};
}

Expression c_cast(std::string_view type, const Expression& x) {
    return {fmt::format("({}){}", type, x.within(kPrefix)), kPrefix};
}

Expression called(std::string_view function, std::span<const Expression> sources) {
    std::string text;
    for (const Expression& s : sources) text += (text.empty() ? "" : ", ") + s.text;
    return {fmt::format("{}({})", function, text)};
}

bool is_small_integer(DType t) { return t.is_integer() && t.bits() < 32; }

/// Signed 32 and 64 bit results that may not fit: C++ leaves their overflow undefined, ops.def wraps it.
bool may_wrap(UOp u) {
    DType t = u.dtype();
    if (!t.is_integer() || t.is_unsigned() || t.bits() < 32) return false;
    if (u.op() != Op::add && u.op() != Op::sub && u.op() != Op::mul && u.op() != Op::neg) return false;
    using Wide = __int128;
    Bounds a = bounds(u.src(0)), b = u.src().size() > 1 ? bounds(u.src(1)) : Bounds{0, 0};
    Wide low = 0, high = 0;
    if (u.is(Op::neg)) low = -Wide(a.high), high = -Wide(a.low);
    if (u.is(Op::add)) low = Wide(a.low) + b.low, high = Wide(a.high) + b.high;
    if (u.is(Op::sub)) low = Wide(a.low) - b.high, high = Wide(a.high) - b.low;
    if (u.is(Op::mul)) {
        Wide ends[] = {Wide(a.low) * b.low, Wide(a.low) * b.high, Wide(a.high) * b.low, Wide(a.high) * b.high};
        low = std::min({ends[0], ends[1], ends[2], ends[3]}), high = std::max({ends[0], ends[1], ends[2], ends[3]});
    }
    return low < int_min(t) || high > int_max(t);
}

/// Divisions without sign of a value that may have been a small number with one. clang 19 sees that many upper bits are
/// the same and divides by float32 a value with 24 others, as though all were zero.
bool may_repeat_sign(UOp u) {
    constexpr int64_t kSmall = 1 << 24;
    if (!(u.is(Op::idiv) || u.is(Op::mod)) || !u.dtype().is_unsigned() || u.dtype().bits() < 32) return false;
    return std::ranges::any_of(u.src(), [&](UOp s) { return bounds(s).high >= kSmall; });
}

/// Clang 19 takes 0 - x for -x where the sum that it goes into has room for a sign: they differ where x is 0.
bool may_lose_zero(UOp u) {
    return u.is(Op::sub) && u.dtype().is_float() && u.src(0).is_const() && const_value(u.src(0)) == 0;
}

/// Clang 19 makes a loop's sum that ends as a byte one of bytes, and crashes where that is a dot product of four.
bool may_end_as_byte(UOp u) {
    const DType t = u.dtype(), from = u.src(0).dtype();
    return t.is_integer() && t.bits() == 8 && from.is_integer() && from.bits() >= 32 && !u.src(0).is_const();
}

Expression arithmetic(UOp u, const Spelling& row, std::span<const Expression> s) {
    DType t = u.dtype();
    if (may_wrap(u)) {
        std::string_view type = t.bits() == 64 ? "unsigned long" : "unsigned int";
        return c_cast(t.hip(), joined(row.text, row.precedence, c_cast(type, s[0]), c_cast(type, s[1])));
    }
    // Narrow operands are promoted to int, whose product of two uint16 overflows.
    if (u.is(Op::mul) && t == dtypes::uint16)
        return c_cast(t.hip(), joined(row.text, row.precedence, c_cast("unsigned int", s[0]), s[1]));
    const Expression first = may_repeat_sign(u) || may_lose_zero(u) ? called("any_bits", s.first(1)) : s[0];
    Expression plain = joined(row.text, row.precedence, first, s[1]);
    bool compares = info(u.op()).rule == TypeRule::cmp;
    return !compares && is_small_integer(t) ? c_cast(t.hip(), plain) : plain;
}

Expression boolean(UOp u, std::span<const Expression> s) {
    switch (u.op()) {
        case Op::add:
        case Op::max:
        case Op::bit_or: return joined("||", kOr, s[0], s[1]);
        case Op::mul:
        case Op::min:
        case Op::bit_and: return joined("&&", kAnd, s[0], s[1]);
        case Op::sub:
        case Op::bit_xor: return joined("!=", kEqual, s[0], s[1]);
        case Op::bit_not: return {"!" + s[0].within(kPrefix), kPrefix};
        case Op::cmplt: return joined("<", kLess, s[0], s[1]);
        case Op::idiv: return joined("&&", kAnd, s[0], s[1]);
        case Op::mod: return {"false"};
        case Op::pow: return joined("||", kOr, s[0], {"!" + s[1].within(kPrefix), kPrefix});
        case Op::neg:
        case Op::abs:
        case Op::floor:
        case Op::ceil:
        case Op::trunc:
        case Op::rint: return s[0];
        default: return {""};
    }
}

Expression negated(UOp u, const Expression& x) {
    DType t = u.dtype();
    if (may_wrap(u))
        return c_cast(t.hip(), {"-" + c_cast(t.bits() == 64 ? "unsigned long" : "unsigned int", x).text, kPrefix});
    bool doubled = x.text.starts_with('-');
    Expression plain{"-" + (doubled ? "(" + x.text + ")" : x.within(kPrefix)), kPrefix};
    return is_small_integer(t) ? c_cast(t.hip(), plain) : plain;
}

Expression function(UOp u, const Spelling& row, std::span<const Expression> s) {
    if (u.dtype().is_float()) return row.text.empty() ? Expression{""} : called(row.text, s);
    bool unchanged = row.integers == itself || (u.is(Op::abs) && u.dtype().is_unsigned());
    return unchanged ? s[0] : row.integers.empty() ? Expression{""} : called(row.integers, s);
}

Expression built_in(DType type, std::string_view name, std::span<const Expression> s) {
    std::string_view suffix = type == dtypes::float32 ? "f" : type == dtypes::float16 ? "h" : "";
    return called(fmt::format("__builtin_amdgcn_{}{}", name, suffix), s);
}

/// clang 19 takes element 0 of a vector when __builtin_bit_cast is given an lvalue such as v.y: it gets a value.
std::string bits_of(UOp source, const Expression& x) {
    return source.is(Op::lane) ? fmt::format("({}){}", hip_type(source.dtype()), x.within(kPrefix)) : x.text;
}

}  // namespace

Expression spell(UOp u, std::span<const Expression> s) {
    DType t = u.dtype(), from = u.src(0).dtype();
    const Spelling row = spelling(u.op());
    switch (u.op()) {
        case Op::where:
            return {fmt::format("{} ? {} : {}", s[0].within(kOr), s[1].within(kOr), s[2].within(kConditional)),
                    kConditional};
        case Op::cast: return spell_cast(t, from, may_end_as_byte(u) ? called("any_bits", s.first(1)) : s[0]);
        case Op::bitcast: return {fmt::format("__builtin_bit_cast({}, {})", hip_type(t), bits_of(u.src(0), s[0]))};
        case Op::detach:
        case Op::recompute:
        case Op::freeze: return s[0];
        case Op::logical_not: return {"!" + s[0].within(kPrefix), kPrefix};
        case Op::cmpeq:
        case Op::cmpne: return arithmetic(u, row, s);
        default: break;
    }
    if (from.is_bool()) return boolean(u, s);
    switch (u.op()) {
        case Op::neg: return negated(u, s[0]);
        case Op::recip: return joined("/", kMul, literal(constant(t, 1)), s[0]);
        case Op::bit_not: {
            Expression plain{"~" + s[0].within(kPrefix), kPrefix};
            return is_small_integer(t) ? c_cast(t.hip(), plain) : plain;
        }
        default: break;
    }
    if (row.form == Spelling::Form::builtin) return built_in(from, row.text, s);
    if (row.form == Spelling::Form::call) return function(u, row, s);
    bool fits = row.form == Spelling::Form::infix && (row.floats || !from.is_float());
    return fits ? arithmetic(u, row, s) : Expression{""};
}

Expression spell_cast(DType to, DType from, const Expression& x) {
    DType f = from.element(), t = to.element();
    const std::span one(&x, 1);
    bool narrow_float = f.is_float() && (f == dtypes::bfloat16 || f.bits() == 8);
    Expression number = narrow_float ? c_cast("float", x) : x;
    if (t.is_bool()) return joined("!=", kEqual, number, literal(constant(narrow_float ? dtypes::float32 : f, 0)));
    if (t == dtypes::float32 && narrow_float) return number;
    if (f.is_float() && !t.is_float()) return {fmt::format("saturate<{}>({})", t.hip(), number.text)};
    if (t == dtypes::bfloat16 && f == dtypes::float64) return c_cast(t.hip(), called("round_to_odd", one));
    if (t == dtypes::bfloat16 && !f.is_float())
        return called("to_bfloat16",
                      std::array{f.is_integer() && f.bits() >= 32 ? called("round_to_odd", one) : c_cast("float", x)});
    bool through_float = t == dtypes::bfloat16 || (t.is_float() && t.bits() == 8 && f != dtypes::float64);
    if (through_float && f != dtypes::float32 && !narrow_float) number = c_cast("float", x);
    return c_cast(t.hip(), number);
}

std::span<const LibraryFunction> math_library() {
    static const std::vector<LibraryFunction> functions = [] {
        std::vector<LibraryFunction> out;
        for (int i = 0; i < kOpCount; ++i)
            if (Spelling row = spelling(Op(i)); row.in_library) out.push_back({row.text, info(Op(i)).arity});
        return out;
    }();
    return functions;
}

}  // namespace strata::codegen
