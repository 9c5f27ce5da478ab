#include "strata/ops/tensor.h"

#include <algorithm>

#include "convert_p.h"
#include "front_end_p.h"
#include "methods_p.h"
#include "package_p.h"
#include "strata/ops/random.h"
#include "tensor_object_p.h"

namespace strata::python {
namespace {

/// The rows of methods.def and elementwise.def.
void bind_rows(TensorClass& c) {
#define CREATION(name, parameters, meaning) bind_creation(c, #name, &Tensor::name, #parameters, meaning);
#define METHOD(result, name, parameters, meaning) bind_method(c, #name, &Tensor::name, #parameters, meaning);
#define COMPUTED(result, name, parameters, meaning) bind_computed(c, #name, &Tensor::name, #parameters, meaning);
#define SIZES(name, parameters, meaning) bind_sizes(c, #name, &Tensor::name, #parameters, meaning);
#define VIEW(name, meaning) c.def_property_readonly(#name, &Tensor::name, meaning);
#include "strata/ops/methods.def"
#undef CREATION
#undef METHOD
#undef COMPUTED
#undef SIZES
#undef VIEW
#define UNARY(name, accepts, meaning, ...) c.def(#name, &Tensor::name, meaning);
#define BINARY(name, accepts, meaning, ...) c.def(#name, &ops::name, py::arg("other"), meaning);
#include "strata/ops/elementwise.def"
#undef UNARY
#undef BINARY
    c.attr("astype") = c.attr("cast");
    for (auto [elsewhere, ours] : {std::pair("view", "reshape"),
                                   {"ravel", "flatten"},
                                   {"moveaxis", "movedim"},
                                   {"swapaxes", "transpose"},
                                   {"swapdims", "transpose"},
                                   {"absolute", "abs"},
                                   {"amax", "max"},
                                   {"amin", "min"},
                                   {"negative", "neg"},
                                   {"power", "pow"},
                                   {"true_divide", "div"}})
        c.attr(elsewhere) = c.attr(ours);
}

/// Functions of strata.linalg that are methods too.
void bind_linalg(TensorClass& c) {
    c.def(
        "outer",
        [](const Tensor& t, const As<"ArrayLike">& other) {
            return function_of_package(Called::outer)(t, other).cast<Tensor>();
        },
        py::arg("other"), "(n,), (m,) -> (n, m): the products of all pairs.");
    c.def(
        "cross",
        [](const Tensor& t, const As<"ArrayLike">& other, int axis) {
            return function_of_package(Called::cross)(t, other, py::arg("axis") = axis).cast<Tensor>();
        },
        py::arg("other"), py::arg("axis") = -1, "The cross product along an axis of 3 elements.");
    c.def(
        "diagonal",
        [](const Tensor& t, int64_t offset) {
            return function_of_package(Called::diagonal)(t, py::arg("offset") = offset).cast<Tensor>();
        },
        py::arg("offset") = 0, "(..., n, m) -> (..., k): the elements [i, i + offset]. A view.");
    c.def(
        "trace",
        [](const Tensor& t, int64_t offset, OptionalDType dtype) {
            return function_of_package(Called::trace)(t, py::arg("offset") = offset, py::arg("dtype") = dtype)
                .cast<Tensor>();
        },
        py::arg("offset") = 0, py::arg("dtype") = py::none(),
        "The sum of a diagonal. Integers give int64 (uint64 for unsigned).");
    c.def(
        "norm",
        [](const Tensor& t, const As<"float | str | None">& ord, const As<"Axes">& axis, bool keepdims) {
            return function_of_package(Called::norm)(t, ord, axis, keepdims).cast<Tensor>();
        },
        py::arg("ord") = py::none(), py::arg("axis") = py::none(), py::arg("keepdims") = false,
        "numpy.linalg.norm: over one axis, or all of them without an order, the norm of vectors; over two that of "
        "matrices.");
}

/// PyTorch's methods that mean one of Strata's with an argument.
void bind_names_of_pytorch(TensorClass& c) {
    c.def("dim", &Tensor::ndim, "Number of axes: ndim.");
    c.def("clone", [](const Tensor& t) { return t; }, "A tensor of its own with the same value; costs nothing.");
    c.def(
        "cpu", [](const Tensor& t) { return computing([&] { return Tensor(t).realize(); }); },
        "This tensor, computed, on the device that it is on: numpy(), item() and tolist() read values from any "
        "device.");
    for (auto [name, type] : {std::pair("half", dtypes::float16),
                              {"bfloat16", dtypes::bfloat16},
                              {"float", dtypes::float32},
                              {"int", dtypes::int32},
                              {"bool", dtypes::boolean},
                              {"double", dtypes::float64},
                              {"short", dtypes::int16},
                              {"long", dtypes::int64}})
        c.def(
            name, [type](const Tensor& t) { return t.cast(type); },
            ("cast to " + std::string(type.name()) + ".").c_str());
    c.def(
        "type_as", [](const Tensor& t, const Tensor& other) { return t.cast(other.dtype()); }, py::arg("other"),
        "cast to the type of the other.");
    c.def(
        "view_as", [](const Tensor& t, const Tensor& other) { return t.reshape(other.shape()); }, py::arg("other"),
        "reshape to the shape of the other.");
    c.def(
        "expand_as", [](const Tensor& t, const Tensor& other) { return t.expand(other.shape()); }, py::arg("other"),
        "expand to the shape of the other.");
}

// Methods whose arguments in Python are not those of C++.

using FromShape = Tensor (*)(const Shape&, DType, const std::string& device);

void bind_filled(TensorClass& c, const char* name, FromShape f, const char* meaning) {
    OwnSignature own;
    c.def_static(
        name,
        [f](const py::args& shape, DType dtype, const std::string& device) {
            return f(to_shape(shape), dtype, device);
        },
        py::arg("dtype") = "float32", py::arg("device") = "",
        fmt::format("{}(*shape: Shape, dtype: DTypeLike = 'float32', device: str = '') -> Tensor\n\n{}", name, meaning)
            .c_str());
}

void bind_creation_of_its_own(TensorClass& c) {
    c.def(py::init([](As<"ArrayLike"> data, OptionalDType dtype, const std::string& device) {
              return to_tensor(data, dtype, device);
          }),
          py::arg("data"), py::arg("dtype") = py::none(), py::arg("device") = "",
          "From nested lists, a number, a NumPy array or anything with __array__. Python floats become float32.");
    bind_filled(
        c, "empty", [](const Shape& s, DType t, const std::string& device) { return Tensor::empty(s, t, device); },
        "Uninitialised memory of a shape: empty(2, 3) or empty((2, 3)).");
    bind_filled(
        c, "zeros",
        [](const Shape& s, DType t, const std::string& device) { return placed(Tensor::zeros(s, t), device); },
        "0 everywhere: zeros(2, 3) or zeros((2, 3)).");
    bind_filled(
        c, "ones",
        [](const Shape& s, DType t, const std::string& device) { return placed(Tensor::ones(s, t), device); },
        "1 everywhere: ones(2, 3) or ones((2, 3)).");
    bind_filled(
        c, "rand", [](const Shape& s, DType t, const std::string& device) { return ops::rand(s, t, device); },
        "Uniform in [0, 1); see manual_seed.");
    bind_filled(
        c, "randn", [](const Shape& s, DType t, const std::string& device) { return ops::randn(s, t, device); },
        "Normal, mean 0, deviation 1; see manual_seed.");
    c.def_static(
        "randint",
        [](int64_t low, int64_t high, const Shape& shape, DType dtype, const std::string& device) {
            return ops::randint(shape, low, high, dtype, device);
        },
        py::arg("low"), py::arg("high"), py::arg("shape"), py::arg("dtype") = "int64", py::arg("device") = "",
        "Integers in [low, high); see manual_seed.");
    c.def_static(
        "arange",
        [](Number start, std::optional<Number> stop, Number step, OptionalDType dtype, const std::string& device) {
            return placed(Tensor::arange(stop ? start : Number(0), stop.value_or(start), step, dtype), device);
        },
        py::arg("start"), py::arg("stop") = py::none(), py::arg("step") = 1, py::arg("dtype") = py::none(),
        py::arg("device") = "",
        "start, start + step, ... below stop; arange(n) counts from 0. int64, or float32 when an argument is a float.");
}

using Key = As<"IndexPart | EllipsisType | tuple[IndexPart | EllipsisType, ...]">;
using Limit = As<"Operand | None">;

/// NumPy's scalars count as numbers, which take the tensor's type.
py::object limit(py::handle value) {
    bool scalar = !py::isinstance<Tensor>(value) && py::hasattr(value, "dtype") && py::hasattr(value, "item") &&
                  py::hasattr(value, "shape") && py::len(value.attr("shape")) == 0;
    return scalar ? to_python(to_number(value)) : py::reinterpret_borrow<py::object>(value);
}

bool has_mask(const std::vector<strata::Index>& indices) {
    return std::any_of(indices.begin(), indices.end(), [](const strata::Index& i) {
        return i.kind == strata::Index::Kind::tensor && i.indices.dtype().is_bool();
    });
}

Tensor indexed(const Tensor& t, py::handle key) {
    std::vector<strata::Index> indices = to_indices(key);
    return has_mask(indices) ? computing([&] { return t.index(indices); }) : t.index(indices);
}

void assign_at(Tensor& t, py::handle key, py::handle value) {
    std::vector<strata::Index> indices = to_indices(key);
    OperandHolder holder(value);
    t.assign(has_mask(indices) ? computing([&] { return t.with(indices, holder.get()); })
                               : t.with(indices, holder.get()));
}

void bind_methods_of_their_own(TensorClass& c) {
    c.def(
        "split",
        [](const Tensor& t, As<"int | Sequence[int]"> sizes, int axis) {
            return PyIndex_Check(sizes.ptr()) ? t.split(sizes.cast<int64_t>(), axis)
                                              : t.split(sizes.cast<Shape>(), axis);
        },
        py::arg("sizes"), py::arg("axis") = 0, "TwoStage of a size, the last may be smaller, or of the sizes given.");
    c.def(
        "__getitem__", [](const Tensor& t, Key key) { return indexed(t, key); }, py::arg("key"), py::pos_only(),
        "NumPy's indexing. A mask computes: the size of the result depends on how many of its elements are set.");
    c.def(
        "__setitem__", [](Tensor& t, Key key, As<"Operand"> value) { assign_at(t, key, value); }, py::arg("key"),
        py::arg("value"), py::pos_only(),
        "The tensor becomes a new value, with others in these places; tensors made from it before keep the old one.");
    c.def(
        "repeat",
        [](const Tensor& t, As<"int | ArrayLike"> repeats, OptionalAxis axis) {
            if (PyIndex_Check(repeats.ptr()) && !py::isinstance<Tensor>(repeats))
                return t.repeat(to_integer(repeats, "[repeat] a count"), axis);
            Tensor counts = to_tensor(repeats);
            return computing([&] { return t.repeat(counts, axis); });
        },
        py::arg("repeats"), py::arg("axis") = py::none(),
        "Repeats each element, as numpy.repeat does (tile is PyTorch's and tinygrad's repeat); without axis, of the "
        "flat array.\nA count an element computes: the size of the result depends on the counts.");
    c.def(
        "clamp",
        [](const Tensor& t, Limit min, Limit max) {
            std::optional<OperandHolder> low, high;
            if (!min.is_none()) low.emplace(limit(min));
            if (!max.is_none()) high.emplace(limit(max));
            return ops::clamp(t, low ? std::optional(low->get()) : std::nullopt,
                              high ? std::optional(high->get()) : std::nullopt);
        },
        py::arg("min") = py::none(), py::arg("max") = py::none(), "Not below min, not above max, which broadcast.");
    c.attr("clip") = c.attr("clamp");
    c.attr("repeat_interleave") = c.attr("repeat");
    c.def(
        "matmul", [](const Tensor& a, As<"ArrayLike"> b) { return a.matmul(to_tensor(b)); }, py::arg("other"),
        "(..., n, k) x (..., k, m) -> (..., n, m); leading axes broadcast. Narrow floats accumulate as float32.");
    c.def(
        "dot", [](const Tensor& a, As<"ArrayLike"> b) { return a.dot(to_tensor(b)); }, py::arg("other"),
        "matmul that also takes 0-D tensors.");
    c.def(
        "where",
        [](const Tensor& condition, const Operand& x, const Operand& y) { return ops::where(condition, x, y); },
        py::arg("x"), py::arg("y"), "x where this is true, else y.");
}

using Value = As<"Operand">;
using Answer = As<"Tensor">;  ///< or NotImplemented: Python asks the other side
using BinaryFunction = Tensor (*)(const Operand&, const Operand&);

Answer binary(BinaryFunction f, py::handle a, py::handle b) {
    if (!OperandHolder::accepts(b) || !OperandHolder::accepts(a))
        return py::reinterpret_borrow<py::object>(Py_NotImplemented);
    return py::cast(f(OperandHolder(a).get(), OperandHolder(b).get()));
}

/// x += y and its like keep the shape and the type of x, which Python's own would change unseen.
Answer in_place(Answer result, py::handle a, std::string_view sign) {
    if (!py::isinstance<Tensor>(result)) return result;
    const Tensor &now = result.cast<const Tensor&>(), &was = a.cast<const Tensor&>();
    if (now.shape() != was.shape())
        user_error(ErrorKind::Shape, "x {}= y would change x from shape {} to {}: write x = x {} y", sign,
                   to_string(was.shape()), to_string(now.shape()), sign);
    if (now.dtype() != was.dtype())
        user_error(ErrorKind::DType, "x {}= y would change x from {} to {}: write x = x {} y, or cast y", sign,
                   was.dtype().name(), now.dtype().name(), sign);
    return result;
}

Answer matrix_product(py::handle a, py::handle b) {
    for (py::handle side : {a, b})
        if (!OperandHolder::accepts(side) || is_number(side))
            return py::reinterpret_borrow<py::object>(Py_NotImplemented);
    return py::cast(to_tensor(a).matmul(to_tensor(b)));
}

void bind_operators(TensorClass& c) {
    struct Row {
        const char *name, *reflected;
        BinaryFunction function;
        const char* sign = "";
    };
    for (const Row& row : {Row{"__add__", "__radd__", &ops::add, "+"},
                           {"__sub__", "__rsub__", &ops::sub, "-"},
                           {"__mul__", "__rmul__", &ops::mul, "*"},
                           {"__truediv__", "__rtruediv__", &ops::div, "/"},
                           {"__floordiv__", "__rfloordiv__", &ops::floor_divide, "//"},
                           {"__mod__", "__rmod__", &ops::remainder, "%"},
                           {"__pow__", "__rpow__", &ops::pow, "**"},
                           {"__and__", "__rand__", &ops::bitwise_and, "&"},
                           {"__or__", "__ror__", &ops::bitwise_or, "|"},
                           {"__xor__", "__rxor__", &ops::bitwise_xor, "^"},
                           {"__lshift__", "__rlshift__", &ops::bitwise_left_shift, "<<"},
                           {"__rshift__", "__rrshift__", &ops::bitwise_right_shift, ">>"},
                           {"__eq__", nullptr, &ops::eq},
                           {"__ne__", nullptr, &ops::ne},
                           {"__lt__", nullptr, &ops::lt},
                           {"__le__", nullptr, &ops::le},
                           {"__gt__", nullptr, &ops::gt},
                           {"__ge__", nullptr, &ops::ge}}) {
        BinaryFunction f = row.function;
        c.def(row.name, [f](Value a, Value b) { return binary(f, a, b); }, py::arg("other"), py::pos_only());
        if (!row.reflected) continue;
        c.def(row.reflected, [f](Value a, Value b) { return binary(f, b, a); }, py::arg("other"), py::pos_only());
        std::string changing = "__i" + std::string(row.name + 2);
        c.def(
            changing.c_str(), [f, sign = row.sign](Value a, Value b) { return in_place(binary(f, a, b), a, sign); },
            py::arg("other"), py::pos_only());
    }
    using Matrix = As<"ArrayLike">;
    c.def("__matmul__", [](Matrix a, Matrix b) { return matrix_product(a, b); }, py::arg("other"), py::pos_only());
    c.def(
        "__imatmul__", [](Matrix a, Matrix b) { return in_place(matrix_product(a, b), a, "@"); }, py::arg("other"),
        py::pos_only());
    c.def("__rmatmul__", [](Matrix a, Matrix b) { return matrix_product(b, a); }, py::arg("other"), py::pos_only());
    c.def("__neg__", &Tensor::neg).def("__abs__", &Tensor::abs).def("__invert__", &Tensor::bitwise_invert);
    c.def("__pos__", &Tensor::positive);
    c.attr("__hash__") = py::module_::import("builtins").attr("object").attr("__hash__");
    c.attr("__array_priority__") = 1000;
}

}  // namespace

void bind_tensor(py::module_& m) {
    TensorClass c(
        m, "Tensor",
        "A lazy n-dimensional array on a device. Operations build a graph; realize, item, numpy and tolist compute "
        "it.\n\nShapes of elementwise operands broadcast; types are promoted by the array API's rules. Errors: "
        "ShapeError names both\nshapes, DTypeError both types, UsageError what was wrong with an argument.",
        py::custom_type_setup(&keep_tensor_objects));
    bind_data(m, c);
    bind_creation_of_its_own(c);
    bind_rows(c);
    bind_methods_of_their_own(c);
    bind_linalg(c);
    bind_names_of_pytorch(c);
    bind_operators(c);
    bind_gradients(m, c);
    bind_capture(m);
}

}  // namespace strata::python
