// The trace of a function for python/strata/artifacts/function.py.
#include "strata/ops/tracing.h"

#include <memory>
#include <vector>

#include "front_end_p.h"
#include "kernels_p.h"

namespace strata::python {
namespace {

/// For Python's with. It keeps the objects, which are known by where they are.
struct PyTracing {
    explicit PyTracing(std::string function) : tracing(std::move(function)) {}

    ops::Tracing tracing;
    std::vector<py::object> kept = {};
    std::unique_ptr<ops::Tracing::Scope> scope = {};
};

}  // namespace

void bind_tracing(py::module_& m) {
    m.def("_tracing", [] { return ops::Tracing::active() != nullptr; }, "Whether strata.compile traces here.");
    py::class_<PyTracing>(m, "_Tracing", "The trace of a function for strata.compile, on this thread.")
        .def(py::init<std::string>(), py::arg("function"))
        .def(
            "argument",
            [](PyTracing& t, const As<"Tensor">& stand_in, const std::string& name) {
                t.tracing.add_argument(stand_in.cast<const Tensor&>(), name);
                t.kept.push_back(stand_in);
            },
            py::arg("stand_in"), py::arg("name"))
        .def(
            "outside",
            [](PyTracing& t, const As<"Tensor">& tensor, const std::string& name) {
                t.tracing.add_outside(tensor.cast<const Tensor&>(), name);
                t.kept.push_back(tensor);
            },
            py::arg("tensor"), py::arg("name"))
        .def("argument_below", [](const PyTracing& t, const Tensor& view) { return t.tracing.argument_below(view); })
        .def("enter", [](PyTracing& t) { t.scope = std::make_unique<ops::Tracing::Scope>(t.tracing); })
        .def("exit", [](PyTracing& t) { t.scope.reset(); });
}

}  // namespace strata::python
