// Where nodes come from: frames of Python.
#include "kernels/places_p.h"

#include "package_p.h"
#include "strata/core/uop/walk.h"

namespace strata::python {
namespace {

template <class T>
py::object taken(T* owned) {
    return py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(owned));
}

isa::SourceLine place_of(const py::object& code, int instruction) {
    const auto [file, line, column, end_column, text] =
        function_of_package(Called::place_of)(code, instruction)
            .cast<std::tuple<std::string, uint32_t, uint32_t, uint32_t, std::string>>();
    return {file, line, column, end_column, text};
}

}  // namespace

bool PythonPlaces::is_package(const py::handle& code) {
    const auto [found, is_new] = is_package_.try_emplace(code.ptr());
    if (is_new) {
        found->second = function_of_package(Called::is_package)(code).cast<bool>();
        kept_.push_back(py::reinterpret_borrow<py::object>(code));  // the address stays this code's
    }
    return found->second;
}

/// Most nodes are made by the call that the one before was made by.
uint32_t PythonPlaces::here() {
    if (!PyGILState_Check()) return 0;
    PyFrameObject* const innermost = PyEval_GetFrame();
    if (!innermost) return 0;
    const py::object code = taken(PyFrame_GetCode(innermost));
    const int instruction = PyFrame_GetLasti(innermost);
    if (code.ptr() == last_code_ && instruction == last_instruction_) return last_number_;
    if (is_package(code)) return outside_of(innermost);
    last_code_ = code.ptr(), last_instruction_ = instruction;
    return last_number_ = number_of(code, instruction);
}

uint32_t PythonPlaces::number_of(const py::object& code, int instruction) {
    const auto [found, is_new] =
        numbers_.try_emplace({code.ptr(), instruction}, static_cast<uint32_t>(instructions_.size() + 1));
    if (is_new) instructions_.emplace_back(code, instruction);
    return found->second;
}

void PythonPlaces::begin_in_caller() {
    if (PyFrameObject* const innermost = PyEval_GetFrame()) outermost_ = taken(PyFrame_GetBack(innermost));
}

/// Of the innermost frame outside of the package.
uint32_t PythonPlaces::outside_of(PyFrameObject* frame) {
    for (py::object held = taken(PyFrame_GetBack(frame)); held; held = taken(PyFrame_GetBack(frame))) {
        if (held.ptr() == outermost_.ptr()) return 0;
        frame = reinterpret_cast<PyFrameObject*>(held.ptr());
        const py::object code = taken(PyFrame_GetCode(frame));
        if (!is_package(code)) return number_of(code, PyFrame_GetLasti(frame));
    }
    return 0;
}

namespace {

struct Placed {
    std::weak_ptr<const runtime::CustomKernel> kernel;
    Root graph;  ///< a node that is gone would give its places to another one; empty: the kernel's own
};

/// Under the GIL. Entries of kernels that are gone leave when another is added.
std::map<const Node*, Placed>& kernels_by_graph() {
    static auto* const all = new std::map<const Node*, Placed>;
    return *all;
}

void add(UOp sink, Placed placed) {
    std::erase_if(kernels_by_graph(), [](const auto& entry) { return entry.second.kernel.expired(); });
    kernels_by_graph().insert_or_assign(sink.node(), std::move(placed));
}

}  // namespace

void keep_places(const std::shared_ptr<runtime::CustomKernel>& kernel, isa::SourcePlaces places) {
    kernel->places = std::move(places);
    add(kernel->graph.get(), {kernel, Root()});
}

void keep_places_of(UOp graph, const std::shared_ptr<const runtime::CustomKernel>& kernel) {
    if (graph != kernel->graph.get() && toposort(graph).size() == kernel->places.of_line.size())
        add(graph, {kernel, Root(graph)});
}

std::shared_ptr<const runtime::CustomKernel> kernel_with_places(UOp sink) {
    const auto found = kernels_by_graph().find(sink.node());
    return found == kernels_by_graph().end() ? nullptr : found->second.kernel.lock();
}

isa::SourcePlaces PythonPlaces::of_tree(UOp sink) const {
    isa::SourcePlaces out;
    for (const auto& [code, instruction] : instructions_) out.places.push_back(place_of(code, instruction));
    for (UOp u : toposort(sink)) out.of_line.push_back(of(u));
    return out;
}

}  // namespace strata::python
