// Objects of tensors that Python let go of, for the next results. Making one of pybind11's and taking it away takes as
// long as a tenth of a small call.
#include "tensor_object_p.h"

#include <array>

#include "strata/runtime/realize.h"

namespace strata::python {
namespace {

/// Under the GIL. Each is an object that nobody has, over an empty tensor, as pybind11 left it: registered, with its
/// holder.
struct Kept {
    static constexpr size_t kMost = 16;
    std::array<PyObject*, kMost> objects;
    size_t count = 0;
};
Kept kept;

py::detail::instance* as_instance(PyObject* object) { return reinterpret_cast<py::detail::instance*>(object); }
Tensor& tensor_of(PyObject* object) { return *static_cast<Tensor*>(as_instance(object)->simple_value_holder[0]); }

bool is_whole(PyObject* object) {
    const py::detail::instance& i = *as_instance(object);
    return Py_TYPE(object) == tensor_info().type && i.simple_layout && i.owned && !i.has_patients &&
           i.simple_holder_constructed && i.simple_instance_registered && i.simple_value_holder[0];
}

/// Python ends: a device's library may have gone before the tensors.
bool is_ending() {
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing();
#else
    return _Py_IsFinalizing();
#endif
}

void put_away(PyObject* object) {
    if (!is_whole(object) || kept.count == Kept::kMost) return py::detail::pybind11_object_dealloc(object);
    if (as_instance(object)->weakrefs) PyObject_ClearWeakRefs(object);
    tensor_of(object) = Tensor();  // either may run Python, and that fill the place
    if (kept.count == Kept::kMost) return py::detail::pybind11_object_dealloc(object);
    kept.objects[kept.count++] = object;
}

/// The memory of a tensor goes with it.
void let_go(PyObject* object) {
    put_away(object);
    if (!is_ending()) runtime::collect_dropped();
}

}  // namespace

void keep_tensor_objects(PyHeapTypeObject* type) { type->ht_type.tp_dealloc = &let_go; }

py::object tensor_object(Tensor&& t) {
    if (kept.count > 0) {
        PyObject* const object = kept.objects[--kept.count];
        _Py_NewReference(object);
        tensor_of(object) = std::move(t);
        return py::reinterpret_steal<py::object>(object);
    }
    const py::detail::type_info& info = tensor_info();
    auto object = py::reinterpret_steal<py::object>(py::detail::make_new_instance(info.type));
    auto* const instance = as_instance(object.ptr());
    instance->simple_value_holder[0] = new Tensor(std::move(t));
    instance->owned = true;
    info.init_instance(instance, nullptr);
    return object;
}

}  // namespace strata::python
