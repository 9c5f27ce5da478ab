#include <array>

#include "strata/core/uop/reference.h"
#include "uop_p.h"

namespace strata::python {
namespace {

DType type_of_pair(py::handle a, py::handle b) {
    for (py::handle side : {a, b})
        if (py::isinstance<Handle>(side)) return with_value(side.cast<Handle>().get()).dtype();
    user_error(ErrorKind::DType, "neither {} nor {} has a type: make one a uop.const(value, dtype)", shown(a),
               shown(b));
}

}  // namespace

UOp as_condition(py::handle value) {
    UOp u = operand(value, dtypes::boolean);
    if (!u.dtype().is_bool())
        user_error(ErrorKind::DType, "a condition is a bool, not {}: compare it, x != 0", u.dtype().name());
    return u;
}

UOp with_value(UOp u) {
    if (u.is(Op::index))
        user_error(ErrorKind::DType, "{} is a place in a buffer, not its value: add .load()", to_string(u));
    if (skip_after(u).is(Op::param))
        user_error(ErrorKind::DType, "{} is a whole buffer, not a value: index and load it, buffer[i].load()",
                   to_string(u));
    if (u.dtype() == dtypes::none) user_error(ErrorKind::DType, "{} is an effect: it has no value", to_string(u));
    return u;
}

UOp operand(py::handle value, DType type) {
    if (py::isinstance<Handle>(value)) return with_value(value.cast<Handle>().get());
    Number n = to_number(value);
    if (n.kind == Kind::Float && !type.is_float())
        user_error(ErrorKind::DType, "the float {} does not fit into {}; cast the other side first", n.f, type.name());
    if (type.is_bool() && n.kind != Kind::Bool && n.i != 0 && n.i != 1)
        user_error(ErrorKind::DType, "the integer {} does not fit into boolean; cast the other side first", n.i);
    return n.constant(type);
}

UOp checked(Op op, std::initializer_list<UOp> sources) {
    UOp x = *sources.begin();
    DType type = x.dtype();
    std::array<ConstArg, 3> ones{ConstArg{1, 1}, ConstArg{1, 1}, ConstArg{1, 1}};
    DType result = info(op).rule == TypeRule::cmp ? dtypes::boolean : type;
    bool logic = op != Op::logical_not || type.is_bool();
    if (!logic || !reference(op, result, type, std::span(ones.data(), sources.size())))
        user_error(ErrorKind::DType, "{} does not take {}; cast first", info(op).name, type.name());
    return alu(op, sources);
}

Handle binary(Op op, py::handle a, py::handle b) {
    DType type = type_of_pair(a, b);
    UOp x = operand(a, type), y = operand(b, type);
    if (x.dtype() != y.dtype())
        user_error(ErrorKind::DType, "{} of {} and {}: cast one side, e.g. x.cast('{}')", info(op).name,
                   x.dtype().name(), y.dtype().name(), y.dtype().name());
    return Handle(checked(op, {x, y}));
}

Handle less_or_equal(py::handle a, py::handle b) {
    DType type = type_of_pair(a, b);
    UOp x = operand(a, type), y = operand(b, type), less = binary(Op::cmplt, b, a).get();
    if (!type.is_float()) return Handle(alu(Op::logical_not, {less}));
    return Handle(alu(Op::bit_or, {x < y, alu(Op::cmpeq, {x, y})}));  // false with NaN
}

Handle index_into(UOp pointer, py::handle offset, py::handle predicate) {
    if (!skip_after(pointer).is(Op::param))
        user_error(ErrorKind::Usage, "only a buffer can be indexed, got {}", to_string(pointer));
    UOp at = operand(offset, dtypes::index), condition;
    if (!at.dtype().is_integer())
        user_error(ErrorKind::DType, "an offset is an integer, not {}: cast it first, x.cast('int32')",
                   at.dtype().name());
    if (predicate && !predicate.is_none()) condition = as_condition(predicate);
    return Handle(uop::at(pointer, cast(at, dtypes::index), condition));
}

UOp effect(UOp u) {
    u = uop::effect_below(u);
    if (info(u.op()).is(kEffect)) return u;
    user_error(ErrorKind::Usage, "end closes ranges after an effect such as buffer[i].store(x), got {}", to_string(u));
}

UOp place(const Handle& h, const char* what) {
    if (!h.get().is(Op::index))
        user_error(ErrorKind::Usage, "{} needs an indexed buffer such as buffer[i], got {}", what, to_string(h.get()));
    return h.get();
}

Handle load(const Handle& h, MaybeValue alternative) {
    UOp at = place(h, "load"), other;
    if (!alternative.is_none()) other = operand(alternative, at.dtype());
    if (other && at.src().size() < 3)
        user_error(ErrorKind::Usage,
                   "load(alt=...) is for places with a predicate, buffer.index(i, predicate); {} has none",
                   to_string(at));
    if (other && other.dtype() != at.dtype())
        user_error(ErrorKind::DType, "load of {} with the alternative {}; cast it first", at.dtype().name(),
                   other.dtype().name());
    return Handle(uop::load(at, other));
}

UOp written(UOp at, py::handle value) {
    UOp v = operand(value, at.dtype());
    if (v.dtype() != at.dtype())
        user_error(ErrorKind::DType, "cannot store {} into a buffer of {}; cast the value first", v.dtype().name(),
                   at.dtype().name());
    return v;
}

Handle store(const Handle& h, Value value) {
    UOp at = place(h, "store");
    return Handle(uop::store(at, written(at, value)));
}

std::vector<UOp> nodes(const py::args& args) {
    std::vector<UOp> out;
    for (py::handle arg : args) out.push_back(to_uop(arg));
    return out;
}

std::vector<UOp> effects_of(const char* what, const py::args& args) {
    std::vector<UOp> out = nodes(args);
    for (UOp& u : out) {
        u = uop::effect_below(u);
        if (!info(u.op()).is(kEffect))
            user_error(ErrorKind::Usage, "{} takes effects such as buffer[i].store(x), got {}", what, to_string(u));
    }
    return out;
}

std::vector<UOp> ranges_of(const char* what, const py::args& args) {
    std::vector<UOp> out = nodes(args);
    for (UOp u : out)
        if (!u.is(Op::range)) user_error(ErrorKind::Usage, "{} takes uop.range(...), got {}", what, to_string(u));
    return out;
}

Handle effect_of(Op op, std::vector<UOp> sources, Arg arg) {
    return Handle(make(op, dtypes::none, sources, std::move(arg)));
}

Handle where(const Handle& condition, Value x, Value y) {
    DType type = type_of_pair(x, y);
    UOp a = operand(x, type), b = operand(y, type), which = as_condition(py::cast(condition));
    if (a.dtype() != b.dtype())
        user_error(ErrorKind::DType, "where of {} and {}: cast one side", a.dtype().name(), b.dtype().name());
    return Handle(alu(Op::where, {which, a, b}));
}

UOp to_uop(py::handle value) {
    if (!py::isinstance<Handle>(value)) user_error(ErrorKind::Usage, "a UOp was expected, got {}", shown(value));
    return value.cast<Handle>().get();
}

py::object from_uop(UOp u) { return py::cast(Handle(u)); }

}  // namespace strata::python
