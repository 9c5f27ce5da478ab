// Values of a kernel: Python's operators, types that promote as tensors' do, and what a value refuses.
#include "lang/lang_p.h"
#include "strata/codegen/tile/arithmetic.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/ops/tensor.h"

namespace strata::python {
namespace {

using ValueClass = py::class_<LangValue>;

bool is_index(DType type) { return type.scalar == Scalar::index; }

/// The type of a Python number where it meets a type.
DType type_with(const Number& n, DType other) {
    if (n.kind == Kind::Float) return other.is_float() ? other : dtypes::float32;
    return other.is_bool() && n.kind != Kind::Bool ? dtypes::int32 : other;
}

DType own_type(const Number& n) {
    if (n.kind == Kind::Bool) return dtypes::boolean;
    if (n.kind == Kind::Float) return dtypes::float32;
    if (n.kind == Kind::UInt) return dtypes::uint64;
    return n.i >= int_min(dtypes::int32) && n.i <= int_max(dtypes::int32) ? dtypes::int32 : dtypes::int64;
}

UOp constant_of(const Number& n, DType type, const char* what) {
    if (n.kind == Kind::Complex) user_error(ErrorKind::DType, "[{}] kernels compute with real numbers", what);
    if (is_index(type)) return index_const(n.as_int());
    return n.constant(type);
}

struct Pair {
    UOp a, b;
    bool fits = true;  ///< false: Python asks the other side
};

enum class Wants { number, integer, bits, any };

DType checked_type(const char* name, Wants wants, DType type) {
    if (type.is_bool() && (wants == Wants::number || wants == Wants::integer)) return dtypes::int32;
    if (type.is_float() && (wants == Wants::integer || wants == Wants::bits))
        user_error(ErrorKind::DType, "[{}] takes integers, not {}; cast first, e.g. x.cast('int32')", name,
                   type.name());
    return type;
}

/// Both sides in the type of the operation.
Pair pair_of(const char* name, Wants wants, py::handle left, py::handle right) {
    const LangValue *x = as_value(left), *y = as_value(right);
    for (const auto& [value, given] : {std::pair(x, left), std::pair(y, right)})
        if (!value && !is_number(given) && !py::hasattr(given, "__array_priority__")) return {{}, {}, false};
    const DType type_x = x ? x->get().dtype() : dtypes::none, type_y = y ? y->get().dtype() : dtypes::none;
    if (x && y) {
        const DType type = checked_type(name, wants, lang::promoted(name, type_x, type_y));
        return {lang::converted(x->get(), type), lang::converted(y->get(), type)};
    }
    const Number n = to_number(x ? right : left);
    const DType own = x ? type_x : type_y;
    const DType type = checked_type(name, wants, type_with(n, own));
    const UOp number = constant_of(n, type, name), value = lang::converted(x ? x->get() : y->get(), type);
    return x ? Pair{value, number} : Pair{number, value};
}

py::object not_implemented() { return py::reinterpret_borrow<py::object>(Py_NotImplemented); }

Tensor scalar(UOp x) { return Tensor(lang::machine_value(x)); }

using Make = UOp (*)(UOp, UOp);

UOp quotient(UOp a, UOp b) {
    if (!a.dtype().is_float()) a = lang::converted(a, dtypes::float32), b = lang::converted(b, dtypes::float32);
    return alu(Op::fdiv, {a, b});
}
UOp floor_quotient(UOp a, UOp b) {
    return a.dtype().is_float() ? scalar(a).floor_divide(scalar(b)).uop() : lang::floor_divided(a, b);
}
UOp floor_rest(UOp a, UOp b) {
    return a.dtype().is_float() ? scalar(a).remainder(scalar(b)).uop() : lang::floor_remainder(a, b);
}
UOp power(UOp a, UOp b) { return scalar(a).pow(scalar(b)).uop(); }

/// A count that is known is less than the type's width: more is 0, or the sign.
UOp shifted(Op op, UOp a, UOp b) {
    const int bits = is_index(a.dtype()) ? 64 : a.dtype().bits();
    if (b.is_const() && (const_int(b) < 0 || const_int(b) >= bits))
        user_error(ErrorKind::Usage, "a shift of {} by {}: it is 0 to {}", a.dtype().name(), const_int(b), bits - 1);
    return alu(op, {a, b});
}

struct Row {
    const char *name, *reflected;
    Wants wants;
    Make make;
};

constexpr Row kRows[] = {
    {"__add__", "__radd__", Wants::number, [](UOp a, UOp b) { return a + b; }},
    {"__sub__", "__rsub__", Wants::number, [](UOp a, UOp b) { return a - b; }},
    {"__mul__", "__rmul__", Wants::number, [](UOp a, UOp b) { return a * b; }},
    {"__truediv__", "__rtruediv__", Wants::number, quotient},
    {"__floordiv__", "__rfloordiv__", Wants::number, floor_quotient},
    {"__mod__", "__rmod__", Wants::number, floor_rest},
    {"__pow__", "__rpow__", Wants::number, power},
    {"__and__", "__rand__", Wants::bits, [](UOp a, UOp b) { return alu(Op::bit_and, {a, b}); }},
    {"__or__", "__ror__", Wants::bits, [](UOp a, UOp b) { return alu(Op::bit_or, {a, b}); }},
    {"__xor__", "__rxor__", Wants::bits, [](UOp a, UOp b) { return alu(Op::bit_xor, {a, b}); }},
    {"__lshift__", "__rlshift__", Wants::integer, [](UOp a, UOp b) { return shifted(Op::shl, a, b); }},
    {"__rshift__", "__rrshift__", Wants::integer, [](UOp a, UOp b) { return shifted(Op::shr, a, b); }},
    {"__lt__", nullptr, Wants::any, lang::less},
    {"__le__", nullptr, Wants::any, lang::less_or_equal},
    {"__gt__", nullptr, Wants::any, [](UOp a, UOp b) { return lang::less(b, a); }},
    {"__ge__", nullptr, Wants::any, [](UOp a, UOp b) { return lang::less_or_equal(b, a); }},
    {"__eq__", nullptr, Wants::any, [](UOp a, UOp b) { return alu(Op::cmpeq, {a, b}); }},
    {"__ne__", nullptr, Wants::any, [](UOp a, UOp b) { return alu(Op::cmpne, {a, b}); }},
};

py::object combined(const Row& row, py::handle a, py::handle b) {
    GraphScope scope;
    const Pair pair = pair_of(row.name, row.wants, a, b);
    return pair.fits ? from_value(row.make(pair.a, pair.b)) : not_implemented();
}

void bind_operators(ValueClass& c) {
    for (const Row& row : kRows) {
        c.def(
            row.name, [&row](As<"Any"> a, As<"Any"> b) -> As<"Value"> { return combined(row, a, b); }, py::arg("other"),
            py::pos_only());
        if (row.reflected)
            c.def(
                row.reflected, [&row](As<"Any"> a, As<"Any"> b) -> As<"Value"> { return combined(row, b, a); },
                py::arg("other"), py::pos_only());
    }
    const auto one = [&](const char* name, UOp (*make)(UOp)) {
        c.def(
            name, [make](const LangValue& v) -> As<"Value"> {
                GraphScope scope;
                return from_value(make(v.get()));
            });
    };
    one("__neg__", [](UOp x) { return alu(Op::neg, {x.dtype().is_bool() ? cast(x, dtypes::int32) : x}); });
    one("__pos__", [](UOp x) { return x; });
    one("__abs__", [](UOp x) {
        return x.dtype().is_bool() || x.dtype().is_unsigned() ? x
               : is_index(x.dtype()) ? alu(Op::where, {x < index_const(0), alu(Op::neg, {x}), x})
                                     : alu(Op::abs, {x});
    });
    one("__invert__", [](UOp x) {
        if (x.dtype().is_float()) user_error(ErrorKind::DType, "[~] takes integers and bool, not {}", x.dtype().name());
        return x.dtype().is_bool() ? alu(Op::logical_not, {x}) : alu(Op::bit_not, {lang::machine_value(x)});
    });
}

void bind_properties(ValueClass& c) {
    c.def_property_readonly(
        "dtype", [](const LangValue& v) { return v.get().dtype(); },
        "Its type; dtypes.index of numbers of threads, sizes and steps.");
    c.def(
        "cast", [](const LangValue& v, DType type) -> As<"Value"> {
            GraphScope scope;
            return from_value(lang::converted(v.get(), type));
        },
        py::arg("dtype"), "To another type; float to integer truncates and saturates.");
    c.def(
        "bitcast", [](const LangValue& v, DType type) -> As<"Value"> {
            GraphScope scope;
            const UOp x = lang::machine_value(v.get());
            if (x.dtype().bits() != type.bits() || x.dtype().is_bool() || type.is_bool())
                user_error(ErrorKind::DType, "[bitcast] of {} to {}: the types differ in width or one is bool",
                           x.dtype().name(), type.name());
            return from_value(bitcast(x, type));
        },
        py::arg("dtype"), "The same bits as another type of the same width.");
    c.def_property_readonly("uop", [](const LangValue& v) { return from_uop(v.get()); }, "Its node, a strata.uop.UOp.");
    c.def("__repr__", [](const LangValue& v) {
        GraphScope scope;
        const UOp x = simplify(v.get());
        return fmt::format("<Value {} {}>", x.dtype().name(), x.is_const() ? to_string(x) : info(x.op()).name);
    });
    c.def("__hash__", [](const LangValue& v) { return static_cast<py::ssize_t>(v.get().node()->hash >> 1); });
}

/// Refuses Python's conversions of a value, and says what to write instead.
void bind_refusals(ValueClass& c) {
    const auto refuse = [&](const char* name, const char* instead) {
        c.def(
            name, [instead](const LangValue& v) -> As<"Never"> {
                throw py::type_error(fmt::format("a {} of the kernel has no value while it is traced: {}",
                                                 v.get().dtype().name(), instead));
            });
    };
    refuse("__bool__",
           "an if, while, and, or, not of the kernel's own source decides in the kernel; elsewhere, and in "
           "functions without source, write lang.cond, lang.select, & and |");
    refuse("__int__", "write dtypes.int32(x), or x.cast('int32')");
    refuse("__float__", "write dtypes.float32(x), or x.cast('float32')");
    refuse("__index__",
           "a list, tuple or range of Python's takes Python integers: use lang.registers or lang.shared "
           "memory, or a lang.Constexpr argument");
    refuse("__iter__", "a single number holds nothing to go through");
}

}  // namespace

const LangValue* as_value(py::handle value) {
    static PyTypeObject* const type = reinterpret_cast<PyTypeObject*>(py::type::of<LangValue>().ptr());
    return Py_TYPE(value.ptr()) == type ? py::cast<const LangValue*>(value) : nullptr;
}

py::object from_value(UOp u) { return py::cast(LangValue(u)); }

UOp to_value(py::handle value, DType type, const char* what) {
    if (const LangValue* v = as_value(value)) return lang::converted(v->get(), type);
    if (!is_number(value) && !py::hasattr(value, "dtype"))
        user_error(ErrorKind::Usage, "[{}] takes a value of the kernel or a number, not {}", what, shown(value));
    return constant_of(to_number(value), type, what);
}

UOp to_value(py::handle value, const char* what) {
    if (const LangValue* v = as_value(value)) return v->get();
    if (py::hasattr(value, "dtype")) return to_value(value, to_dtype(value.attr("dtype")), what);
    if (!is_number(value))
        user_error(ErrorKind::Usage, "[{}] takes a value of the kernel or a number, not {}", what, shown(value));
    const Number n = to_number(value);
    return constant_of(n, own_type(n), what);
}

UOp to_offset(py::handle value, const char* what) {
    const UOp x = to_value(value, what);
    if (!x.dtype().is_integer())
        user_error(ErrorKind::DType, "[{}] an index is an integer, not {}: cast it, x.cast('int32')", what,
                   x.dtype().name());
    return cast(x, dtypes::index);
}

UOp to_condition(py::handle value, const char* what) { return lang::is_true(to_value(value, what)); }

void bind_lang_values(py::module_& m) {
    ValueClass c(m, "Value", "A number of a kernel that is being traced: each thread has its own.");
    bind_operators(c);
    bind_properties(c);
    bind_refusals(c);
    m.def(
        "constant", [](As<"Value | Scalar"> value, DType type) -> As<"Value"> {
            GraphScope scope;
            return from_value(to_value(value, type, "constant"));
        });
    m.def("is_value", [](As<"Any"> value) { return as_value(value) != nullptr; });
}

}  // namespace strata::python
