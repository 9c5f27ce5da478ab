#include "convert_p.h"
#include "strata/core/support/settings.h"
#include "strata/ops/nn.h"
#include "strata/ops/random.h"
#include "strata/runtime/device.h"

namespace strata::python {
namespace {

using Class = py::class_<Tensor>;

Tensor placed(Tensor t, const std::string& device) { return device.empty() ? t : t.to(device); }

void bind_creation(Class& c) {
    c.def(py::init([](py::handle data, py::handle dtype, const std::string& device) {
              return to_tensor(data, to_optional_dtype(dtype), device);
          }),
          py::arg("data"), py::arg("dtype") = py::none(), py::arg("device") = "",
          "A tensor from nested lists, a number, a NumPy array or anything with __array__. Python floats become "
          "float32.");
    c.def_static(
        "empty",
        [](const py::args& shape, py::handle dtype, const std::string& device) {
            return Tensor::empty(to_shape(shape), to_dtype(dtype), device);
        },
        py::arg("dtype") = "float32", py::arg("device") = "", "Uninitialised memory of a shape.");
    c.def_static(
        "full",
        [](py::handle shape, py::handle value, py::handle dtype, const std::string& device) {
            return placed(Tensor::full(to_shape(shape), to_number(value), to_optional_dtype(dtype)), device);
        },
        py::arg("shape"), py::arg("fill_value"), py::arg("dtype") = py::none(), py::arg("device") = "");
    c.def_static(
        "zeros",
        [](const py::args& shape, py::handle dtype, const std::string& device) {
            return placed(Tensor::zeros(to_shape(shape), to_dtype(dtype)), device);
        },
        py::arg("dtype") = "float32", py::arg("device") = "");
    c.def_static(
        "ones",
        [](const py::args& shape, py::handle dtype, const std::string& device) {
            return placed(Tensor::ones(to_shape(shape), to_dtype(dtype)), device);
        },
        py::arg("dtype") = "float32", py::arg("device") = "");
    c.def_static(
        "arange",
        [](py::handle start, py::handle stop, py::handle step, py::handle dtype, const std::string& device) {
            Number first = to_number(start);
            Tensor t = stop.is_none()
                           ? Tensor::arange(first, to_optional_dtype(dtype))
                           : Tensor::arange(first, to_number(stop), to_number(step), to_optional_dtype(dtype));
            return placed(t, device);
        },
        py::arg("start"), py::arg("stop") = py::none(), py::arg("step") = 1, py::arg("dtype") = py::none(),
        py::arg("device") = "", "start, start + step, ... below stop; arange(n) counts from 0.");
    c.def_static(
        "linspace",
        [](double start, double stop, int64_t num, py::handle dtype, bool endpoint, const std::string& device) {
            return placed(Tensor::linspace(start, stop, num, to_dtype(dtype), endpoint), device);
        },
        py::arg("start"), py::arg("stop"), py::arg("num") = 50, py::arg("dtype") = "float32",
        py::arg("endpoint") = true, py::arg("device") = "");
    c.def_static(
        "eye",
        [](int64_t n, std::optional<int64_t> m, int64_t k, py::handle dtype, const std::string& device) {
            return placed(Tensor::eye(n, m, k, to_dtype(dtype)), device);
        },
        py::arg("n"), py::arg("m") = py::none(), py::arg("k") = 0, py::arg("dtype") = "float32",
        py::arg("device") = "");
    c.def_static(
        "rand",
        [](const py::args& shape, py::handle dtype, const std::string& device) {
            return ops::rand(to_shape(shape), to_dtype(dtype), device);
        },
        py::arg("dtype") = "float32", py::arg("device") = "", "Uniform in [0, 1); see manual_seed.");
    c.def_static(
        "randn",
        [](const py::args& shape, py::handle dtype, const std::string& device) {
            return ops::randn(to_shape(shape), to_dtype(dtype), device);
        },
        py::arg("dtype") = "float32", py::arg("device") = "", "Normal, mean 0, deviation 1.");
    c.def_static(
        "randint",
        [](int64_t low, int64_t high, py::handle shape, py::handle dtype, const std::string& device) {
            return ops::randint(to_shape(shape), low, high, to_dtype(dtype), device);
        },
        py::arg("low"), py::arg("high"), py::arg("shape"), py::arg("dtype") = "int64", py::arg("device") = "");
    c.def_static("manual_seed", &ops::manual_seed, py::arg("seed") = 0);
    c.def(
        "full_like",
        [](const Tensor& t, py::handle v, py::handle d) { return t.full_like(to_number(v), to_optional_dtype(d)); },
        py::arg("fill_value"), py::arg("dtype") = py::none());
    c.def(
        "zeros_like", [](const Tensor& t, py::handle d) { return t.zeros_like(to_optional_dtype(d)); },
        py::arg("dtype") = py::none());
    c.def(
        "ones_like", [](const Tensor& t, py::handle d) { return t.ones_like(to_optional_dtype(d)); },
        py::arg("dtype") = py::none());
    c.def("tril", &Tensor::tril, py::arg("diagonal") = 0).def("triu", &Tensor::triu, py::arg("diagonal") = 0);
}

void bind_movement(Class& c) {
    c.def(
        "reshape", [](const Tensor& t, const py::args& s) { return t.reshape(to_shape(s)); },
        "The same elements in another shape; one axis may be -1.");
    c.def("permute", [](const Tensor& t, const py::args& axes) {
        Shape s = to_shape(axes);
        return t.permute(std::vector<int>(s.begin(), s.end()));
    });
    c.def("transpose", &Tensor::transpose, py::arg("axis0") = -2, py::arg("axis1") = -1,
          "Exchanges two axes, the last two by default.");
    c.def_property_readonly("T", &Tensor::T, "All axes reversed.");
    c.def_property_readonly("mT", &Tensor::matrix_transpose);
    c.def("movedim", &Tensor::movedim, py::arg("source"), py::arg("destination"));
    c.def("expand", [](const Tensor& t, const py::args& s) { return t.expand(to_shape(s)); });
    c.def("broadcast_to", [](const Tensor& t, const py::args& s) { return t.broadcast_to(to_shape(s)); });
    c.def(
        "pad",
        [](const Tensor& t, const std::vector<std::pair<int64_t, int64_t>>& p, py::handle value) {
            return t.pad(p, to_number(value));
        },
        py::arg("padding"), py::arg("value") = 0, "One (before, after) an axis.");
    c.def(
        "shrink", [](const Tensor& t, const std::vector<std::pair<int64_t, int64_t>>& b) { return t.shrink(b); },
        py::arg("bounds"), "One (begin, end) an axis.");
    c.def("flip", [](const Tensor& t, py::handle axis) { return t.flip(to_axes(axis)); }, py::arg("axis") = py::none());
    c.def("roll", &Tensor::roll, py::arg("shift"), py::arg("axis"));
    c.def(
        "squeeze", [](const Tensor& t, py::handle axis) { return t.squeeze(to_axes(axis)); },
        py::arg("axis") = py::none());
    c.def("unsqueeze", &Tensor::unsqueeze, py::arg("axis"));
    c.def("flatten", &Tensor::flatten, py::arg("start_dim") = 0, py::arg("end_dim") = -1);
    c.def(
        "unflatten", [](const Tensor& t, int axis, py::handle sizes) { return t.unflatten(axis, to_shape(sizes)); },
        py::arg("axis"), py::arg("sizes"));
    c.def(
        "split",
        [](const Tensor& t, py::handle sizes, int axis) {
            return PyIndex_Check(sizes.ptr()) ? t.split(sizes.cast<int64_t>(), axis)
                                              : t.split(sizes.cast<std::vector<int64_t>>(), axis);
        },
        py::arg("sizes"), py::arg("axis") = 0);
    c.def("chunk", &Tensor::chunk, py::arg("chunks"), py::arg("axis") = 0);
    c.def("repeat", &Tensor::repeat, py::arg("repeats"), py::arg("axis") = py::none());
    c.def("tile", [](const Tensor& t, const py::args& counts) { return t.tile(to_shape(counts)); });
    c.def("contiguous", &Tensor::contiguous);
    c.def("__getitem__", [](const Tensor& t, py::handle key) { return t.index(to_indices(key)); });
    c.def("take", &Tensor::take, py::arg("indices"), py::arg("axis") = py::none());
    c.def("gather", &Tensor::gather, py::arg("axis"), py::arg("indices"));
    c.def(
        "one_hot", [](const Tensor& t, int64_t n, py::handle d) { return t.one_hot(n, to_dtype(d)); },
        py::arg("classes"), py::arg("dtype") = "int64");
}

void bind_reductions(Class& c) {
    auto typed = [&](const char* name, Tensor (Tensor::*f)(Axes, bool, OptionalDType) const) {
        c.def(
            name,
            [f](const Tensor& t, py::handle axis, bool keepdims, py::handle dtype) {
                return (t.*f)(to_axes(axis), keepdims, to_optional_dtype(dtype));
            },
            py::arg("axis") = py::none(), py::arg("keepdims") = false, py::arg("dtype") = py::none());
    };
    auto plain = [&](const char* name, Tensor (Tensor::*f)(Axes, bool) const) {
        c.def(
            name, [f](const Tensor& t, py::handle axis, bool keepdims) { return (t.*f)(to_axes(axis), keepdims); },
            py::arg("axis") = py::none(), py::arg("keepdims") = false);
    };
    auto spread = [&](const char* name, Tensor (Tensor::*f)(Axes, double, bool) const) {
        c.def(
            name,
            [f](const Tensor& t, py::handle axis, double correction, bool keepdims) {
                return (t.*f)(to_axes(axis), correction, keepdims);
            },
            py::arg("axis") = py::none(), py::arg("correction") = 0.0, py::arg("keepdims") = false);
    };
    auto position = [&](const char* name, Tensor (Tensor::*f)(OptionalAxis, bool) const) {
        c.def(name, f, py::arg("axis") = py::none(), py::arg("keepdims") = false);
    };
    typed("sum", &Tensor::sum), typed("prod", &Tensor::prod);
    plain("max", &Tensor::max), plain("min", &Tensor::min), plain("mean", &Tensor::mean), plain("any", &Tensor::any),
        plain("all", &Tensor::all), plain("logsumexp", &Tensor::logsumexp);
    spread("var", &Tensor::var), spread("std", &Tensor::std);
    position("argmax", &Tensor::argmax), position("argmin", &Tensor::argmin);
    c.def(
        "cumsum", [](const Tensor& t, OptionalAxis axis, py::handle d) { return t.cumsum(axis, to_optional_dtype(d)); },
        py::arg("axis") = py::none(), py::arg("dtype") = py::none());
    c.def(
        "cumprod",
        [](const Tensor& t, OptionalAxis axis, py::handle d) { return t.cumprod(axis, to_optional_dtype(d)); },
        py::arg("axis") = py::none(), py::arg("dtype") = py::none());
    c.def("softmax", &Tensor::softmax, py::arg("axis") = -1)
        .def("log_softmax", &Tensor::log_softmax, py::arg("axis") = -1);
    c.def("matmul", [](const Tensor& a, py::handle b) { return a.matmul(to_tensor(b)); }, py::arg("other"));
    c.def("dot", [](const Tensor& a, py::handle b) { return a.dot(to_tensor(b)); }, py::arg("other"));
}

using BinaryFunction = Tensor (*)(const Operand&, const Operand&);

py::object binary(BinaryFunction f, py::handle a, py::handle b) {
    if (!OperandHolder::accepts(b) || !OperandHolder::accepts(a))
        return py::reinterpret_borrow<py::object>(Py_NotImplemented);
    return py::cast(f(OperandHolder(a).get(), OperandHolder(b).get()));
}

void bind_operators(Class& c) {
    struct Row {
        const char *name, *reflected;
        BinaryFunction function;
    };
    for (const Row& row : {Row{"__add__", "__radd__", &ops::add},
                           {"__sub__", "__rsub__", &ops::sub},
                           {"__mul__", "__rmul__", &ops::mul},
                           {"__truediv__", "__rtruediv__", &ops::div},
                           {"__floordiv__", "__rfloordiv__", &ops::floor_divide},
                           {"__mod__", "__rmod__", &ops::remainder},
                           {"__pow__", "__rpow__", &ops::pow},
                           {"__and__", "__rand__", &ops::bitwise_and},
                           {"__or__", "__ror__", &ops::bitwise_or},
                           {"__xor__", "__rxor__", &ops::bitwise_xor},
                           {"__lshift__", "__rlshift__", &ops::bitwise_left_shift},
                           {"__rshift__", "__rrshift__", &ops::bitwise_right_shift},
                           {"__eq__", nullptr, &ops::eq},
                           {"__ne__", nullptr, &ops::ne},
                           {"__lt__", nullptr, &ops::lt},
                           {"__le__", nullptr, &ops::le},
                           {"__gt__", nullptr, &ops::gt},
                           {"__ge__", nullptr, &ops::ge}}) {
        BinaryFunction f = row.function;
        c.def(row.name, [f](py::handle a, py::handle b) { return binary(f, a, b); });
        if (row.reflected) c.def(row.reflected, [f](py::handle a, py::handle b) { return binary(f, b, a); });
    }
    auto matmul = [](py::handle a, py::handle b) -> py::object {
        if (!OperandHolder::accepts(b) || is_number(b)) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
        return py::cast(to_tensor(a).matmul(to_tensor(b)));
    };
    c.def("__matmul__", matmul);
    c.def("__rmatmul__", [matmul](py::handle a, py::handle b) { return matmul(b, a); });
    c.def("__neg__", [](const Tensor& t) { return t.neg(); }).def("__pos__", [](const Tensor& t) { return t; });
    c.def("__abs__", [](const Tensor& t) { return t.abs(); }).def("__invert__", [](const Tensor& t) {
        return t.bitwise_invert();
    });
    c.attr("__hash__") = py::module_::import("builtins").attr("object").attr("__hash__");
    c.attr("__array_priority__") = 1000;
}

void bind_elementwise(Class& c) {
#define UNARY(name, ...) c.def(#name, [](const Tensor& t) { return t.name(); });
#define BINARY(name, ...)                                                                                            \
    c.def(                                                                                                           \
        #name, [](py::handle a, py::handle b) { return ops::name(OperandHolder(a).get(), OperandHolder(b).get()); }, \
        py::arg("other"));
#include "strata/ops/elementwise.def"
#undef UNARY
#undef BINARY
    auto clamp = [](const Tensor& t, py::handle low, py::handle high) {
        auto bound = [](py::handle h) { return h.is_none() ? std::optional<Number>() : std::optional(to_number(h)); };
        return t.clamp(bound(low), bound(high));
    };
    c.def("clamp", clamp, py::arg("min") = py::none(), py::arg("max") = py::none());
    c.def("clip", clamp, py::arg("min") = py::none(), py::arg("max") = py::none());
    c.def(
        "cast", [](const Tensor& t, py::handle d) { return t.cast(to_dtype(d)); }, py::arg("dtype"),
        "To another type; float to integer truncates and saturates, NaN gives 0.");
    c.def("astype", [](const Tensor& t, py::handle d) { return t.cast(to_dtype(d)); }, py::arg("dtype"));
    c.def(
        "bitcast", [](const Tensor& t, py::handle d) { return t.bitcast(to_dtype(d)); }, py::arg("dtype"),
        "The same bits as another type of the same width.");
    c.def(
        "where",
        [](const Tensor& condition, py::handle a, py::handle b) {
            return ops::where(condition, OperandHolder(a).get(), OperandHolder(b).get());
        },
        py::arg("x"), py::arg("y"), "x where this is true, else y.");
}

bool to_bool(Tensor& t) {
    if (t.numel() != 1)
        user_error(ErrorKind::Usage, "a tensor of shape {} is neither true nor false; use .any() or .all()",
                   to_string(t.shape()));
    return t.item().as_double() != 0;
}

/// (dtype code, bits) of DLPack's DLDataType; Unsupported for types it has no code for.
std::pair<int, int> dlpack_type(DType t) {
    if (t.is_bool()) return {6, 8};
    if (t == dtypes::bfloat16) return {4, 16};
    if (t.is_float() && t.bits() == 8) user_error(ErrorKind::Unsupported, "[__dlpack__] {} is not exchanged", t.name());
    return {t.is_float() ? 2 : t.is_unsigned() ? 1 : 0, t.bits()};
}

// The memory layout of DLPack 0.8's DLManagedTensor (dlpack.h), as consumers expect it behind a "dltensor" capsule.
struct DLTensor {
    void* data;
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};
struct DLManagedTensor {
    DLTensor tensor;
    void* context;
    void (*deleter)(DLManagedTensor*);
};
struct Exported {
    DLManagedTensor managed{};
    Shape shape;
    std::shared_ptr<runtime::Buffer> memory;
};

py::capsule to_dlpack(Tensor& t) {
    auto [code, bits] = dlpack_type(t.dtype());
    Tensor::HostView view = t.host_view();
    if (!view.data && t.numel())
        user_error(ErrorKind::Unsupported, "[__dlpack__] the memory of {} is not readable by the host",
                   t.device().name());
    auto* exported = new Exported{{}, t.shape(), view.memory};
    exported->managed.tensor = {
        view.data, 1, 0, t.ndim(), static_cast<uint8_t>(code), static_cast<uint8_t>(bits), 1, exported->shape.data(),
        nullptr,   0};
    exported->managed.context = exported;
    exported->managed.deleter = [](DLManagedTensor* self) { delete static_cast<Exported*>(self->context); };
    return py::capsule(&exported->managed, "dltensor", [](PyObject* capsule) {
        if (!PyCapsule_IsValid(capsule, "dltensor")) return;  // taken: the consumer deletes it
        auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
        managed->deleter(managed);
    });
}

void bind_data(Class& c) {
    c.def_property_readonly(
        "shape", [](const Tensor& t) { return py::tuple(py::cast(t.shape())); }, "Sizes of the axes.");
    c.def_property_readonly("dtype", &Tensor::dtype).def_property_readonly("ndim", &Tensor::ndim);
    c.def_property_readonly(
        "device", [](const Tensor& t) { return t.device().name(); }, "Where it is computed: 'emu:gfx1100', ...");
    c.def_property_readonly("size", &Tensor::numel, "Number of elements.").def("numel", &Tensor::numel);
    c.def_property_readonly("nbytes", &Tensor::nbytes);
    c.def_property_readonly("is_realized", &Tensor::is_realized, "Whether the value is in memory.");
    c.def_property_readonly("uop", [](const Tensor& t) { return from_uop(t.uop()); }, "The node of the lazy graph.");
    c.def("__len__", [](const Tensor& t) {
        if (t.ndim() == 0) throw py::type_error("len() of a 0-d tensor");
        return t.size(0);
    });
    c.def("__iter__", [](const Tensor& t) -> py::object {
        if (t.ndim() == 0) throw py::type_error("iteration over a 0-d tensor");
        py::list rows;
        for (int64_t i = 0; i < t.size(0); i++) rows.append(t.index({Index::at(i)}));
        return py::iter(rows);
    });
    c.def(
        "realize",
        [](Tensor& t) -> Tensor& {
            py::gil_scoped_release release;
            return t.realize();
        },
        py::return_value_policy::reference_internal, "Computes the value now; returns the tensor itself.");
    c.def(
        "item",
        [](Tensor& t) {
            Number n = [&] {
                py::gil_scoped_release release;
                return t.item();
            }();
            return to_python(n);
        },
        "The value of a tensor of one element as a Python number.");
    c.def("numpy", [](Tensor& t) { return to_numpy(t, true); }, "A NumPy array with a copy of the values.");
    c.def("tolist", &to_list, "Nested lists of Python numbers.");
    c.def(
        "__array__",
        [](Tensor& t, py::handle dtype, py::handle copy) {
            py::object array = to_numpy(t, copy.is_none() || copy.cast<bool>());
            return dtype.is_none() ? array : array.attr("astype")(dtype);
        },
        py::arg("dtype") = py::none(), py::arg("copy") = py::none());
    c.def("__dlpack__", [](Tensor& t, const py::kwargs&) { return to_dlpack(t); });
    c.def("__dlpack_device__", [](const Tensor&) { return py::make_tuple(1, 0); });
    c.def("to", [](const Tensor& t, const std::string& device) { return t.to(device); }, py::arg("device"));
    c.def("__bool__", &to_bool);
    c.def("__float__", [](Tensor& t) { return t.item().as_double(); });
    c.def("__int__", [](Tensor& t) { return t.item().as_int(); });
    c.def("__index__", [](Tensor& t) {
        if (!t.dtype().is_integer()) throw py::type_error("only an integer tensor of one element can be an index");
        return t.item().as_int();
    });
    c.def("__repr__", [](const Tensor& t) {
        return fmt::format("<Tensor {} {} on {}{}>", to_string(t.shape()), t.dtype().name(), t.device().name(),
                           t.is_realized() ? "" : ", lazy");
    });
}

}  // namespace

void bind_tensor(py::module_& m) {
    Class c(m, "Tensor",
            "A lazy n-dimensional array on a device. Operations build a graph; realize, item, numpy and tolist compute "
            "it.");
    bind_data(c);
    bind_creation(c);
    bind_movement(c);
    bind_reductions(c);
    bind_elementwise(c);
    bind_operators(c);
}

void bind_functions(py::module_& m) {
    m.def(
        "where",
        [](py::handle c, py::handle a, py::handle b) {
            return ops::where(OperandHolder(c).get(), OperandHolder(a).get(), OperandHolder(b).get());
        },
        py::arg("condition"), py::arg("x"), py::arg("y"));
    auto all_tensors = [](py::handle list) {
        std::vector<Tensor> out;
        for (py::handle t : list) out.push_back(to_tensor(t));
        return out;
    };
    m.def(
        "cat", [=](py::handle list, int axis) { return ops::cat(all_tensors(list), axis); }, py::arg("tensors"),
        py::arg("axis") = 0, "Joins tensors along an axis they have.");
    m.def(
        "stack", [=](py::handle list, int axis) { return ops::stack(all_tensors(list), axis); }, py::arg("tensors"),
        py::arg("axis") = 0, "Joins tensors of one shape along a new axis.");
    m.def("broadcast_shapes", [](py::handle a, py::handle b) {
        return py::tuple(py::cast(ops::broadcast_shapes(to_shape(a), to_shape(b))));
    });
    m.def("manual_seed", &ops::manual_seed, py::arg("seed") = 0);
    py::module_ nn = m.def_submodule("nn", "Functions of neural networks, by composition of tensor operations.");
    nn.def("linear", &ops::linear, py::arg("x"), py::arg("weight"), py::arg("bias") = py::none(),
           "x (..., in) @ weight (out, in)^T + bias (out,).");
    nn.def("layernorm", &ops::layernorm, py::arg("x"), py::arg("axes") = 1, py::arg("weight") = py::none(),
           py::arg("bias") = py::none(), py::arg("eps") = 1e-5);
    nn.def("rmsnorm", &ops::rmsnorm, py::arg("x"), py::arg("weight") = py::none(), py::arg("eps") = 1e-6);
    nn.def("embedding", &ops::embedding, py::arg("ids"), py::arg("weight"),
           "Rows of weight by integer ids: ids.shape + (width,).");
    nn.def("scaled_dot_product_attention", &ops::scaled_dot_product_attention, py::arg("query"), py::arg("key"),
           py::arg("value"), py::arg("mask") = py::none(), py::arg("causal") = false, py::arg("scale") = py::none());
    nn.def(
        "cross_entropy",
        [](const Tensor& x, const Tensor& y, const std::string& r) {
            if (r != "mean" && r != "sum" && r != "none")
                user_error(ErrorKind::Usage, "[cross_entropy] reduction '{}': use mean, sum or none", r);
            return ops::cross_entropy(x, y,
                                      r == "mean"  ? ops::Reduction::mean
                                      : r == "sum" ? ops::Reduction::sum
                                                   : ops::Reduction::none);
        },
        py::arg("logits"), py::arg("target"), py::arg("reduction") = "mean");
}

}  // namespace strata::python
