// How HIP writes each elementwise op. ops.def has the spelling of the common case; here is what differs by type.
#include <fmt/args.h>
#include <fmt/format.h>

#include "strata/codegen/render/expression_p.h"
#include "strata/core/symbolic/symbolic.h"

namespace strata::codegen {
namespace {

struct Infix {
    Op op;
    std::string_view sign;
    int precedence;
};
constexpr Infix infixes[] = {
    {Op::add, "+", kAdd},        {Op::sub, "-", kAdd},      {Op::mul, "*", kMul},      {Op::fdiv, "/", kMul},
    {Op::idiv, "/", kMul},       {Op::mod, "%", kMul},      {Op::shl, "<<", kShift},   {Op::shr, ">>", kShift},
    {Op::cmplt, "<", kLess},     {Op::cmpeq, "==", kEqual}, {Op::cmpne, "!=", kEqual}, {Op::bit_and, "&", kBitAnd},
    {Op::bit_xor, "^", kBitXor}, {Op::bit_or, "|", kBitOr},
};

const Infix* infix_of(Op op) {
    for (const Infix& row : infixes)
        if (row.op == op) return &row;
    return nullptr;
}

Expression infix(std::string_view sign, int precedence, const Expression& a, const Expression& b) {
    return {fmt::format("{} {} {}", a.within(precedence), sign, b.within(precedence + 1)), precedence};
}

Expression c_cast(std::string_view type, const Expression& x) {
    return {fmt::format("({}){}", type, x.within(kPrefix)), kPrefix};
}

template <class... Texts>
Expression call(std::string_view function, const Texts&... sources) {
    std::string text;
    ((text += (text.empty() ? "" : ", ") + sources.text), ...);
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

Expression arithmetic(UOp u, const Infix& row, std::span<const Expression> s) {
    DType t = u.dtype();
    if (may_wrap(u)) {
        std::string_view type = t.bits() == 64 ? "unsigned long" : "unsigned int";
        return c_cast(t.hip(), infix(row.sign, row.precedence, c_cast(type, s[0]), c_cast(type, s[1])));
    }
    // Narrow operands are promoted to int, whose product of two uint16 overflows.
    if (u.is(Op::mul) && t == dtypes::uint16)
        return c_cast(t.hip(), infix(row.sign, row.precedence, c_cast("unsigned int", s[0]), s[1]));
    Expression plain = infix(row.sign, row.precedence, s[0], s[1]);
    bool compares = info(u.op()).rule == TypeRule::cmp;
    if (!compares && (is_small_integer(t) || t == dtypes::float16))
        return is_small_integer(t) ? c_cast(t.hip(), plain) : plain;
    return plain;
}

Expression boolean(UOp u, std::span<const Expression> s) {
    switch (u.op()) {
        case Op::add:
        case Op::max:
        case Op::bit_or: return infix("||", kOr, s[0], s[1]);
        case Op::mul:
        case Op::min:
        case Op::bit_and: return infix("&&", kAnd, s[0], s[1]);
        case Op::sub:
        case Op::bit_xor: return infix("!=", kEqual, s[0], s[1]);
        case Op::bit_not: return {"!" + s[0].within(kPrefix), kPrefix};
        case Op::cmplt: return infix("<", kLess, s[0], s[1]);
        case Op::idiv: return infix("&&", kAnd, s[0], s[1]);
        case Op::mod: return {"false"};
        case Op::pow: return infix("||", kOr, s[0], {"!" + s[1].within(kPrefix), kPrefix});
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

/// Functions of the prelude by op: the name for floats, and for integers where there is one.
Expression function(UOp u, std::span<const Expression> s) {
    DType t = u.dtype();
    bool is_float = t.is_float();
    switch (u.op()) {
        case Op::max: return call(is_float ? "nan_max" : "max", s[0], s[1]);
        case Op::min: return call(is_float ? "nan_min" : "min", s[0], s[1]);
        case Op::abs: return is_float ? call("fabs", s[0]) : t.is_unsigned() ? s[0] : call("abs", s[0]);
        case Op::floor:
        case Op::ceil:
        case Op::trunc:
        case Op::rint: return is_float ? call(info(u.op()).name, s[0]) : s[0];
        case Op::pow: return call(is_float ? "pow" : "integer_pow", s[0], s[1]);
        case Op::fma: return is_float ? call("fma", s[0], s[1], s[2]) : Expression{""};
        default: return is_float ? call(info(u.op()).name, s[0]) : Expression{""};
    }
}

/// clang 19 takes element 0 of a vector when __builtin_bit_cast is given an lvalue such as v.y: it gets a value.
std::string bits_of(UOp source, const Expression& x) {
    return source.is(Op::lane) ? fmt::format("({}){}", hip_type(source.dtype()), x.within(kPrefix)) : x.text;
}

}  // namespace

Expression spell(UOp u, std::span<const Expression> s) {
    DType t = u.dtype(), from = u.src(0).dtype();
    const Infix* row = infix_of(u.op());
    switch (u.op()) {
        case Op::where:
            return {fmt::format("{} ? {} : {}", s[0].within(kOr), s[1].within(kOr), s[2].within(kTernary_)), kTernary_};
        case Op::cast: return spell_cast(t, from, s[0]);
        case Op::bitcast: return {fmt::format("__builtin_bit_cast({}, {})", hip_type(t), bits_of(u.src(0), s[0]))};
        case Op::logical_not: return {"!" + s[0].within(kPrefix), kPrefix};
        case Op::cmpeq:
        case Op::cmpne: return arithmetic(u, *row, s);
        default: break;
    }
    if (from.is_bool()) return boolean(u, s);
    if (u.is(Op::neg)) return negated(u, s[0]);
    if (u.is(Op::recip)) return infix("/", kMul, literal(constant(t, 1)), s[0]);
    if (t.is_float() && (u.is(Op::mod) || u.is(Op::idiv))) return {""};
    if (u.is(Op::bit_not)) {
        Expression plain{"~" + s[0].within(kPrefix), kPrefix};
        return is_small_integer(t) ? c_cast(t.hip(), plain) : plain;
    }
    bool on_bits = row && (row->precedence < kEqual || row->precedence == kShift);
    if (row && !(on_bits && t.is_float())) return arithmetic(u, *row, s);
    return function(u, s);
}

Expression spell_cast(DType to, DType from, const Expression& x) {
    DType f = from.element(), t = to.element();
    bool narrow_float = f.is_float() && (f == dtypes::bfloat16 || f.bits() == 8);
    Expression number = narrow_float ? c_cast("float", x) : x;
    if (t.is_bool()) return infix("!=", kEqual, number, literal(constant(narrow_float ? dtypes::float32 : f, 0)));
    if (t == dtypes::float32 && narrow_float) return number;
    if (f.is_float() && !t.is_float()) return {fmt::format("saturate<{}>({})", t.hip(), number.text)};
    if (t == dtypes::bfloat16 && f == dtypes::float64) return c_cast(t.hip(), call("round_to_odd", x));
    if (t == dtypes::bfloat16 && !f.is_float())
        return call("to_bfloat16", f.is_integer() && f.bits() >= 32 ? call("round_to_odd", x) : c_cast("float", x));
    bool through_float = t == dtypes::bfloat16 || (t.is_float() && t.bits() == 8 && f != dtypes::float64);
    if (through_float && f != dtypes::float32 && !narrow_float) number = c_cast("float", x);
    return c_cast(t.hip(), number);
}

}  // namespace strata::codegen
