// The trace that a thread builds: its memory, branches and loops.
#include "kernels/uop_p.h"
#include "lang/lang_p.h"
#include "strata/codegen/kernel/scalar_parameters.h"
#include "strata/core/symbolic/symbolic.h"

namespace strata::python {
namespace {

using lang::Trace;

/// A trace in Python, which ends it where an exception leaves it.
struct OpenTrace {
    std::unique_ptr<Trace> trace = std::make_unique<Trace>();
};

UOp memory_of_python(const Handle& h) { return h.get(); }

void bind_control(py::module_& m) {
    m.def("begin_if",
          [](As<"Value | Scalar"> condition) { Trace::current("an if").begin_if(to_condition(condition, "if")); });
    m.def("begin_else", [] { Trace::current("an else").begin_else(); });
    m.def("end_if", [] { Trace::current("an if").end_if(); });
    m.def(
        "begin_loop", [](int64_t size, As<"Value | None"> steps) -> As<"Value"> {
            const UOp count = steps.is_none() ? UOp() : to_offset(steps, "a loop's steps");
            return from_value(Trace::current("a loop").begin_loop(size, count));
        },
        py::arg("size"), py::arg("steps") = py::none());
    m.def("end_loop", [] { Trace::current("a loop").end_loop(); });
    m.def("barrier", [] { Trace::current("lang.barrier").barrier(); });
    m.def("in_branch", [] { return bool(Trace::current("a branch").predicate()); });
}

void bind_memory(py::module_& m) {
    m.def("registers",
          [](int64_t size, DType type) { return Handle(Trace::current("lang.registers").registers(size, type)); });
    m.def("shared", [](int64_t size, DType type) { return Handle(Trace::current("lang.shared").shared(size, type)); });
    m.def(
        "load", [](const Handle& memory, As<"Value | int"> at) -> As<"Value"> {
            return from_value(Trace::current("a load").load(memory_of_python(memory), to_offset(at, "load")));
        });
    m.def("store", [](const Handle& memory, As<"Value | int"> at, As<"Value | Scalar"> value) {
        const UOp to = memory_of_python(memory);
        Trace::current("a store").store(to, to_offset(at, "store"), to_value(value, to.dtype(), "store"));
    });
    m.def("tensor_parameter", [](int slot, DType type, int64_t size) { return Handle(uop::buffer(slot, type, size)); });
    m.def(
        "number_parameter",
        [](int slot, DType type) -> As<"Value"> { return from_value(codegen::number_parameter(slot, type)); });
    m.def(
        "special", [](bool thread, int dim, int64_t size) -> As<"Value"> {
            return from_value(make(Op::special, dtypes::index, {}, SpecialArg{thread, dim, size}));
        });
}

}  // namespace

void bind_lang_trace(py::module_& m) {
    py::class_<OpenTrace>(m, "Trace", "A kernel that this thread traces.")
        .def(py::init<>())
        .def("finish",
             [](OpenTrace& t, const std::string& name) {
                 const Handle sink(t.trace->finish(name));
                 t.trace.reset();
                 return sink;
             })
        .def("close", [](OpenTrace& t) { t.trace.reset(); });
    m.def("is_active", &Trace::is_active);
    bind_control(m);
    bind_memory(m);
}

}  // namespace strata::python
