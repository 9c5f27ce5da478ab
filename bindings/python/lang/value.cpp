// Values of a kernel: Python's operators, types that promote as tensors' do, and what a value refuses.
#include "lang/lang_p.h"
#include "strata/codegen/tile/arithmetic.h"
#include "strata/codegen/tile/functions.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/ops/tensor.h"

namespace strata::python {
namespace {

using ValueClass = py::class_<LangValue>;

bool is_index_type(DType type) { return type.scalar == Scalar::index; }

Kind kind_of_type(DType type) { return is_index_type(type) ? Kind::Int : type.kind(); }

/// The type of a Python number where it meets a type.
DType type_where_met(Kind number, DType other) {
    if (number == Kind::Float) return other.is_float() ? other : dtypes::float32;
    return other.is_bool() && number != Kind::Bool ? dtypes::int32 : other;
}

DType own_type_of(const Number& n) {
    if (n.kind == Kind::Bool) return dtypes::boolean;
    if (n.kind == Kind::Float) return dtypes::float32;
    if (n.kind == Kind::UInt) return dtypes::uint64;
    return n.i >= int_min(dtypes::int32) && n.i <= int_max(dtypes::int32) ? dtypes::int32 : dtypes::int64;
}

UOp constant_of_type(const Number& n, DType type, const char* what) {
    if (n.kind == Kind::Complex) user_error(ErrorKind::DType, "[{}] kernels compute with real numbers", what);
    if (is_index_type(type)) return index_const(n.as_int());
    return n.constant(type);
}

struct Operands {
    UOp a, b;
    bool weak = false;
    bool fits = true;  ///< false: Python asks the other side
};

bool is_numpy_number(py::handle given) {
    return py::hasattr(given, "dtype") && py::hasattr(given, "item") && py::len(given.attr("shape")) == 0;
}

enum class OperandKind { number, integer, bits, any };

DType type_for_operator(const char* name, OperandKind wants, DType type) {
    if (type.is_bool() && (wants == OperandKind::number || wants == OperandKind::integer)) return dtypes::int32;
    if (type.is_float() && (wants == OperandKind::integer || wants == OperandKind::bits))
        user_error(ErrorKind::DType, "[{}] takes integers, not {}; cast first, e.g. x.cast('int32')", name,
                   type.name());
    return type;
}

/// Both sides in the type of the operation.
Operands operands_of(const char* name, OperandKind wants, py::handle left, py::handle right) {
    const LangValue *x = as_value(left), *y = as_value(right);
    for (const auto& [value, given] : {std::pair(x, left), std::pair(y, right)})
        if (!value && !is_number(given) && !is_numpy_number(given)) return {.fits = false};
    if (x && y) {
        const DType type = type_for_operator(name, wants, common_type(name, *x, *y));
        return {lang::converted(x->get(), type), lang::converted(y->get(), type), x->weak && y->weak};
    }
    const LangValue& value = x ? *x : *y;
    const py::handle number = x ? right : left;
    const DType own = value.get().dtype();
    DType type = dtypes::none;
    if (!is_number(number)) {
        const DType exact = to_dtype(number.attr("dtype"));
        type = value.weak ? type_where_met(kind_of_type(own), exact) : lang::promoted(name, own, exact);
    } else {
        const Number n = to_number(number);
        type = value.weak ? lang::promoted(name, own, own_type_of(n)) : type_where_met(n.kind, own);
    }
    type = type_for_operator(name, wants, type);
    const UOp constant = constant_of_type(to_number(number), type, name), other = lang::converted(value.get(), type);
    const bool weak = value.weak && is_number(number);
    return x ? Operands{other, constant, weak} : Operands{constant, other, weak};
}

py::object python_not_implemented() { return py::reinterpret_borrow<py::object>(Py_NotImplemented); }

Tensor as_tensor_of(UOp x) { return Tensor(lang::machine_value(x)); }

using MakesValue = UOp (*)(UOp, UOp);

UOp float_quotient(UOp a, UOp b) {
    if (!a.dtype().is_float()) a = lang::converted(a, dtypes::float32), b = lang::converted(b, dtypes::float32);
    const bool fast = divides_fast() && a.dtype().bits() < 64;
    return fast ? lang::fast("div", a, b) : alu(Op::fdiv, {a, b});
}
UOp floor_quotient(UOp a, UOp b) {
    return a.dtype().is_float() ? as_tensor_of(a).floor_divide(as_tensor_of(b)).uop() : lang::floor_divided(a, b);
}
UOp floor_rest(UOp a, UOp b) {
    return a.dtype().is_float() ? as_tensor_of(a).remainder(as_tensor_of(b)).uop() : lang::floor_remainder(a, b);
}
UOp power_of(UOp a, UOp b) { return as_tensor_of(a).pow(as_tensor_of(b)).uop(); }

/// A count that is known is less than the type's width: more is 0, or the sign.
UOp shifted_value(Op op, UOp a, UOp b) {
    const int bits = is_index_type(a.dtype()) ? 64 : a.dtype().bits();
    if (b.is_const() && (const_int(b) < 0 || const_int(b) >= bits))
        user_error(ErrorKind::Usage, "a shift of {} by {}: it is 0 to {}", a.dtype().name(), const_int(b), bits - 1);
    return alu(op, {a, b});
}

struct OperatorRow {
    const char *name, *reflected;
    OperandKind wants;
    MakesValue make;
};

constexpr OperatorRow kOperators[] = {
    {"__add__", "__radd__", OperandKind::number, [](UOp a, UOp b) { return a + b; }},
    {"__sub__", "__rsub__", OperandKind::number, [](UOp a, UOp b) { return a - b; }},
    {"__mul__", "__rmul__", OperandKind::number, [](UOp a, UOp b) { return a * b; }},
    {"__truediv__", "__rtruediv__", OperandKind::number, float_quotient},
    {"__floordiv__", "__rfloordiv__", OperandKind::number, floor_quotient},
    {"__mod__", "__rmod__", OperandKind::number, floor_rest},
    {"__pow__", "__rpow__", OperandKind::number, power_of},
    {"__and__", "__rand__", OperandKind::bits, [](UOp a, UOp b) { return alu(Op::bit_and, {a, b}); }},
    {"__or__", "__ror__", OperandKind::bits, [](UOp a, UOp b) { return alu(Op::bit_or, {a, b}); }},
    {"__xor__", "__rxor__", OperandKind::bits, [](UOp a, UOp b) { return alu(Op::bit_xor, {a, b}); }},
    {"__lshift__", "__rlshift__", OperandKind::integer, [](UOp a, UOp b) { return shifted_value(Op::shl, a, b); }},
    {"__rshift__", "__rrshift__", OperandKind::integer, [](UOp a, UOp b) { return shifted_value(Op::shr, a, b); }},
    {"__lt__", nullptr, OperandKind::any, lang::less},
    {"__le__", nullptr, OperandKind::any, lang::less_or_equal},
    {"__gt__", nullptr, OperandKind::any, [](UOp a, UOp b) { return lang::less(b, a); }},
    {"__ge__", nullptr, OperandKind::any, [](UOp a, UOp b) { return lang::less_or_equal(b, a); }},
    {"__eq__", nullptr, OperandKind::any, [](UOp a, UOp b) { return alu(Op::cmpeq, {a, b}); }},
    {"__ne__", nullptr, OperandKind::any, [](UOp a, UOp b) { return alu(Op::cmpne, {a, b}); }},
};

py::object combined_values(const OperatorRow& row, py::handle a, py::handle b) {
    GraphScope scope;
    const Operands pair = operands_of(row.name, row.wants, a, b);
    if (!pair.fits) return python_not_implemented();
    const UOp made = row.make(pair.a, pair.b);
    return from_value(made, pair.weak);
}

void bind_value_operators(ValueClass& c) {
    for (const OperatorRow& row : kOperators) {
        c.def(
            row.name, [&row](As<"Any"> a, As<"Any"> b) -> As<"Value"> { return combined_values(row, a, b); },
            py::arg("other"), py::pos_only());
        if (row.reflected)
            c.def(
                row.reflected, [&row](As<"Any"> a, As<"Any"> b) -> As<"Value"> { return combined_values(row, b, a); },
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
               : is_index_type(x.dtype()) ? alu(Op::where, {x < index_const(0), alu(Op::neg, {x}), x})
                                          : alu(Op::abs, {x});
    });
    one("__invert__", [](UOp x) {
        if (x.dtype().is_float()) user_error(ErrorKind::DType, "[~] takes integers and bool, not {}", x.dtype().name());
        return x.dtype().is_bool() ? alu(Op::logical_not, {x}) : alu(Op::bit_not, {lang::machine_value(x)});
    });
}

void bind_value_properties(ValueClass& c) {
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
void bind_value_refusals(ValueClass& c) {
    const auto refuse = [&](const char* name, const char* instead) {
        c.def(
            name, [instead](const LangValue& v) -> As<"Never"> {
                const std::string_view type = v.get().dtype().name();
                throw py::type_error(fmt::format("{} {} of the kernel has no value while it is traced: {}",
                                                 type.starts_with('i') ? "an" : "a", type, instead));
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

py::object merged_values(As<"Value"> condition, As<"Value | Scalar"> x, As<"Value | Scalar"> y) {
    GraphScope scope;
    const LangValue a = to_lang_value(x, "if"), b = to_lang_value(y, "if");
    const DType type = common_type("if", a, b);
    for (const LangValue* v : {&a, &b})
        if (v->get().dtype().is_bool() != type.is_bool() ||
            (v->get().dtype().is_float() != type.is_float() && !v->weak))
            user_error(ErrorKind::DType, "{} one way and {} the other", a.get().dtype().name(), b.get().dtype().name());
    return from_value(
        alu(Op::where, {to_condition(condition, "if"), lang::converted(a.get(), type), lang::converted(b.get(), type)}),
        a.weak && b.weak);
}

}  // namespace

DType common_type(const char* name, const LangValue& x, const LangValue& y) {
    const DType a = x.get().dtype(), b = y.get().dtype();
    if (x.weak == y.weak) return lang::promoted(name, a, b);
    return x.weak ? type_where_met(kind_of_type(a), b) : type_where_met(kind_of_type(b), a);
}

LangValue to_lang_value(py::handle x, const char* what) {
    if (const LangValue* v = as_value(x)) return *v;
    return LangValue(to_value(x, what), is_number(x));
}

const LangValue* as_value(py::handle value) {
    static PyTypeObject* const type = reinterpret_cast<PyTypeObject*>(py::type::of<LangValue>().ptr());
    return Py_TYPE(value.ptr()) == type ? py::cast<const LangValue*>(value) : nullptr;
}

py::object from_value(UOp u, bool weak) { return py::cast(LangValue(u, weak)); }

UOp to_value(py::handle value, DType type, const char* what) {
    if (const LangValue* v = as_value(value)) return lang::converted(v->get(), type);
    if (!is_number(value) && !py::hasattr(value, "dtype"))
        user_error(ErrorKind::Usage, "[{}] takes a value of the kernel or a number, not {}", what, shown(value));
    return constant_of_type(to_number(value), type, what);
}

UOp to_value(py::handle value, const char* what) {
    if (const LangValue* v = as_value(value)) return v->get();
    if (py::hasattr(value, "dtype")) return to_value(value, to_dtype(value.attr("dtype")), what);
    if (!is_number(value))
        user_error(ErrorKind::Usage, "[{}] takes a value of the kernel or a number, not {}", what, shown(value));
    const Number n = to_number(value);
    return constant_of_type(n, own_type_of(n), what);
}

UOp to_offset(py::handle value, const char* what) {
    const UOp x = to_value(value, what);
    if (!x.dtype().is_integer())
        user_error(ErrorKind::DType, "[{}] an index is an integer, not {}: cast it, x.cast('int32')", what,
                   x.dtype().name());
    return cast(x, dtypes::index);
}

UOp to_condition(py::handle value, const char* what) { return lang::is_true(to_value(value, what)); }

/// dtypes.float32(x): a value of that type.
void bind_conversions() {
    const py::object type = py::type::of<DType>();
    type.attr("__call__") = py::cpp_function(
        [](DType self, As<"Value | Scalar"> value) -> As<"Value"> {
            if (!as_value(value) && !lang::Trace::is_active())
                user_error(ErrorKind::Usage,
                           "dtypes.{}(x) is a value of a kernel; outside of one write Tensor(x, dtype=dtypes.{})",
                           self.name(), self.name());
            GraphScope scope;
            if (const LangValue* v = as_value(value)) return from_value(lang::converted(v->get(), self));
            const Number n = to_number(value);
            const bool truncates = n.kind == Kind::Float && !self.is_float();
            return from_value(truncates ? cast(n.constant(dtypes::float64), self) : constant_of_type(n, self, "cast"));
        },
        py::name("__call__"), py::is_method(type), py::arg("value"), py::pos_only(),
        "In a kernel the value as this type: x.cast(dtype).");
}

void bind_lang_values(py::module_& m) {
    bind_conversions();
    ValueClass c(m, "Value", "A number of a kernel that is being traced: each thread has its own.");
    bind_value_operators(c);
    bind_value_properties(c);
    bind_value_refusals(c);
    m.def(
        "constant", [](As<"Value | Scalar"> value, DType type) -> As<"Value"> {
            GraphScope scope;
            return from_value(to_value(value, type, "constant"));
        });
    m.def("merge", &merged_values, py::arg("condition"), py::arg("x"), py::arg("y"),
          "x where the condition is true, else y: numbers and values whose types meet without a change of kind.");
    m.def("valued", [](As<"Value | Scalar"> x) { return to_lang_value(x, "if"); });
    for (const auto& [name, op] : {std::pair("minimum", Op::min), {"maximum", Op::max}})
        m.def(
            name, [ name, op ](As<"Value | Scalar"> x, As<"Value | Scalar"> y) -> As<"Value"> {
                GraphScope scope;
                const LangValue a = to_lang_value(x, "if"), b = to_lang_value(y, "if");
                const DType type = common_type(name, a, b);
                return from_value(alu(op, {lang::converted(a.get(), type), lang::converted(b.get(), type)}),
                                  a.weak && b.weak);
            });
    m.def(
        "fma", [](As<"Value | Scalar"> x, As<"Value | Scalar"> y, As<"Value | Scalar"> z) -> As<"Value"> {
            GraphScope scope;
            const LangValue a = to_lang_value(x, "fma"), b = to_lang_value(y, "fma"), c = to_lang_value(z, "fma");
            const DType type =
                common_type("fma", LangValue(constant(common_type("fma", a, b), 1), a.weak && b.weak), c);
            return from_value(alu(Op::fma, {lang::converted(a.get(), type), lang::converted(b.get(), type),
                                            lang::converted(c.get(), type)}),
                              a.weak && b.weak && c.weak);
        });
    m.def("is_weak", [](const LangValue& v) { return v.weak; });
    m.def("weak", [](const LangValue& v) -> As<"Value"> { return from_value(v.get(), true); });
    m.def(
        "machine_value", [](const LangValue& v) -> As<"Value"> {
            GraphScope scope;
            return from_value(lang::machine_value(v.get()), v.weak);
        });
    m.def(
        "known", [](const LangValue& v) -> As<"Scalar | None"> {
            GraphScope scope;
            const UOp x = simplify(v.get());
            if (!x.is_const()) return py::object(py::none());
            if (x.dtype().is_float()) return py::object(py::float_(const_value(x)));
            if (x.dtype().is_bool()) return py::object(py::bool_(const_int(x) != 0));
            return py::object(py::int_(const_int(x)));
        },
        "The number that a value is, if the kernel need not run to tell.");
    m.def(
        "bounds",
        [](const LangValue& v) {
            GraphScope scope;
            const Bounds b = bounds(simplify(v.get()));
            return std::pair(b.low, b.high);
        },
        "The smallest and the largest number that an integer can be.");
}

}  // namespace strata::python
