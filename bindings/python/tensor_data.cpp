#include "front_end_p.h"
#include "methods_p.h"
#include "strata/runtime/device.h"

// What a tensor of Python knows and gives: properties, values, and the protocols of Python, NumPy and DLPack.
namespace strata::python {
namespace {

Number value_of(Tensor& t) {
    return computing([&] { return t.item(); });
}

bool to_bool(Tensor& t) {
    if (t.numel() != 1)
        user_error(ErrorKind::Usage, "a tensor of shape {} is neither true nor false; use .any() or .all()",
                   to_string(t.shape()));
    return value_of(t).as_double() != 0;
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
    Tensor::HostView view = computing([&] { return t.host_view(); });
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

void bind_properties(Class& c) {
    c.def_property_readonly("shape", &Tensor::shape, "Sizes of the axes.");
    c.def_property_readonly("dtype", &Tensor::dtype, "Element type.");
    c.def_property_readonly("ndim", &Tensor::ndim, "Number of axes.");
    c.def_property_readonly(
        "device", [](const Tensor& t) { return t.device().name(); }, "Where it is computed: 'emu:gfx1100', ...");
    c.def_property_readonly("size", &Tensor::numel, "Number of elements.");
    c.def_property_readonly("nbytes", &Tensor::nbytes, "Bytes of all elements.");
    c.def_property_readonly("is_realized", &Tensor::is_realized, "Whether the value is in memory.");
    c.def_property_readonly(
        "uop", [](const Tensor& t) -> As<"uop.UOp"> {
            GraphScope scope;
            return from_uop(t.uop());
        },
        "The node of the lazy graph.");
    c.def("numel", &Tensor::numel, "Number of elements.");
    c.def("to", &Tensor::to, py::arg("device"),
          "The same values on a device; they are copied through the host when they live elsewhere.");
}

void bind_values(Class& c) {
    c.def(
        "realize",
        [](Tensor& t) -> Tensor& {
            computing([&] { t.realize(); });
            return t;
        },
        py::return_value_policy::reference_internal,
        "Computes the value now; returns the tensor itself. Raises CompileError, LaunchError, MemoryFault, "
        "DeviceError.");
    c.def(
        "item", [](Tensor & t) -> As<"Any"> { return to_python(value_of(t)); },
        "The value of a tensor of one element as a Python number; computes it.");
    c.def(
        "numpy", [](Tensor & t) -> As<"NDArray[Any]"> { return to_numpy(t, true); },
        "A NumPy array with a copy of the values; computes them. DTypeError for types NumPy has not: cast first.");
    c.def(
        "tolist", [](Tensor & t) -> As<"Any"> { return to_list(t); }, "Nested lists of Python numbers; computes them.");
}

void bind_exchange(Class& c) {
    c.def(
        "__array__", [](Tensor & t, As<"Any"> dtype, As<"Any"> copy) -> As<"NDArray[Any]"> {
            py::object array = to_numpy(t, copy.is_none() || copy.cast<bool>());
            return dtype.is_none() ? array : array.attr("astype")(dtype);
        },
        py::arg("dtype") = py::none(), py::arg("copy") = py::none());
    c.def("__dlpack__", [](Tensor & t, const py::kwargs&) -> As<"CapsuleType"> { return to_dlpack(t); });
    c.def("__dlpack_device__", [](const Tensor&) { return std::pair(1, 0); });
}

void bind_protocols(Class& c) {
    c.def("__len__", [](const Tensor& t) {
        if (t.ndim() == 0) throw py::type_error("len() of a 0-d tensor");
        return t.size(0);
    });
    c.def(
        "__iter__", [](const Tensor& t) -> As<"Iterator[Tensor]"> {
            if (t.ndim() == 0) throw py::type_error("iteration over a 0-d tensor");
            py::list rows;
            for (int64_t i = 0; i < t.size(0); ++i) rows.append(t.index({Index::at(i)}));
            return py::object(py::iter(rows));
        });
    c.def("__bool__", &to_bool);
    c.def("__float__", [](Tensor& t) { return value_of(t).as_double(); });
    c.def("__int__", [](Tensor& t) { return value_of(t).as_int(); });
    c.def("__index__", [](Tensor& t) {
        if (!t.dtype().is_integer()) throw py::type_error("only an integer tensor of one element can be an index");
        return value_of(t).as_int();
    });
    c.def("__repr__", [](const Tensor& t) {
        return fmt::format("<Tensor {} {} on {}{}>", to_string(t.shape()), t.dtype().name(), t.device().name(),
                           t.is_realized() ? "" : ", lazy");
    });
}

}  // namespace

void bind_data(Class& c) {
    bind_properties(c);
    bind_values(c);
    bind_exchange(c);
    bind_protocols(c);
}

}  // namespace strata::python
