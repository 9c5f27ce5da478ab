// The trace that a thread builds: its memory, branches and loops.
#include "kernels/kernels_p.h"
#include "kernels/places_p.h"
#include "kernels/uop_p.h"
#include "lang/lang_p.h"
#include "layout/layout_p.h"
#include "strata/codegen/kernel/scalar_parameters.h"
#include "strata/codegen/tile/arithmetic.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/walk.h"
#include "strata/ops/custom.h"
#include "strata/runtime/artifact.h"
#include "strata/runtime/custom.h"

namespace strata::python {
namespace {

using lang::Trace;

/// A trace in Python, which ends it where an exception leaves it.
struct OpenTrace {
    std::unique_ptr<Trace> trace;
    std::unique_ptr<PythonPlaces> places = std::make_unique<PythonPlaces>();
    void close() { trace.reset(), places.reset(); }
};

struct Mark {
    Trace::State state;
};

/// Elements of memory that the launch counts: more than a 32-bit offset reaches.
constexpr int64_t kUnknownSize = int64_t{1} << 40;

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
    m.def("end_loop", [](int64_t stages) { Trace::current("a loop").end_loop(stages); }, py::arg("stages") = 1);
    m.def("break_if",
          [](As<"Value | bool"> condition) { Trace::current("a break").break_if(to_condition(condition, "break")); });
    m.def("barrier", [] { Trace::current("lang.barrier").barrier(); });
    m.def("is_uniform", [](const LangValue& v) {
        GraphScope scope;
        return Trace::current("a loop").is_uniform(simplify(v.get()));
    });
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
    m.def("registers_before_loop",
          [](int64_t size, DType type) { return Handle(Trace::current("a loop").registers_before_loop(size, type)); });
    m.def("choose", [](const lang::View& chosen, const lang::View& a, const lang::View& b, int line) {
        Trace::current("a choice").choose(chosen.memory(), a.memory(), b.memory(), line);
    });
    m.def("renew", [](const lang::View& to, const lang::View& from) {
        GraphScope scope;
        Trace::current("a loop").renew(to.memory(), [&] { lang::store(to, from); });
    });
    m.def("tensor_parameter", [](int slot, DType type, int64_t size) { return Handle(uop::buffer(slot, type, size)); });
    m.def("dynamic_view", [](int slot, DType type, As<"Layout"> layout, As<"Value | int"> elements) {
        GraphScope scope;
        const lang::View whole(uop::buffer(slot, type, kUnknownSize), to_layout(layout));
        return whole.with_extent(to_int(elements));
    });
    m.def("pointer_parameter", [](int slot, DType type) { return Handle(uop::buffer(slot, type, kUnknownSize)); });
    m.def(
        "size_parameter", [](int slot, bool is_wide, int64_t divisor) -> As<"Value"> {
            GraphScope scope;
            const UOp given = codegen::number_parameter(slot, is_wide ? dtypes::int64 : dtypes::int32);
            const UOp positive = alu(Op::max, {cast(given, dtypes::index), index_const(1)});
            return from_value(positive * index_const(divisor));
        });
    m.def(
        "number_parameter",
        [](int slot, DType type) -> As<"Value"> { return from_value(codegen::number_parameter(slot, type)); });
    m.def(
        "special", [](bool thread, int dim, int64_t size) -> As<"Value"> {
            return from_value(make(Op::special, dtypes::index, {}, SpecialArg{thread, dim, size}));
        });
}

void bind_kernels_of_traces(py::module_& m) {
    m.def("kernel_of", [](const Handle& sink, const OpenTrace& trace) {
        auto kernel = std::const_pointer_cast<runtime::CustomKernel>(ops::uop_kernel_of_any_grid(sink.get()));
        keep_places(kernel, trace.places->of_tree(kernel->graph.get()));
        return kernel;
    });
    m.def(
        "graph_of",
        [](const std::shared_ptr<runtime::CustomKernel>& kernel, const std::array<int64_t, 3>& grid) {
            return Handle(graph_of_launch(kernel, grid));
        },
        "The kernel's graph with the grid of a launch in place of its bound.");
    m.def("wave_size_of", [](const std::string& arch) { return runtime::target_named(arch).wave_size; });
}

}  // namespace

UOp graph_of_launch(const std::shared_ptr<runtime::CustomKernel>& kernel, const std::array<int64_t, 3>& grid) {
    const UOp sink = kernel->graph.get();
    if (!sink) return sink;
    GraphScope scope;
    const UOp sized = rebuild(sink, [&](UOp u, std::vector<UOp>& sources) {
        if (!u.is(Op::special) || u.as<SpecialArg>().thread) return u.with_src(sources);
        const int dim = u.as<SpecialArg>().dim;
        return make(Op::special, u.dtype(), {}, SpecialArg{false, dim, grid[static_cast<size_t>(dim)]});
    });
    keep_places_of(sized, kernel);
    return sized;
}

void bind_lang_trace(py::module_& m) {
    py::class_<Mark>(m, "Mark", "A place in a trace.");
    py::class_<OpenTrace>(m, "Trace", "A kernel that this thread traces.")
        .def(py::init([](const std::array<int64_t, 3>& block) {
                 GraphScope scope;
                 std::vector<UOp> threads;
                 for (int dim = 0; dim < 3; ++dim)
                     if (const int64_t size = block[static_cast<size_t>(dim)]; size > 1)
                         threads.push_back(make(Op::special, dtypes::index, {}, SpecialArg{true, dim, size}));
                 OpenTrace made{std::make_unique<Trace>(std::move(threads))};
                 made.places->begin_in_caller();
                 return made;
             }),
             py::arg("block") = std::array<int64_t, 3>{1, 1, 1})
        .def(
            "finish",
            [](OpenTrace& t, const std::string& name, int waves, int registers) {
                const UOp sink = t.trace->finish(name);
                const Handle hinted(make(Op::sink, dtypes::none, sink.src(), SinkArg{name, waves, registers}));
                t.trace.reset();  // the places live on
                return hinted;
            },
            py::arg("name"), py::arg("waves") = 0, py::arg("registers") = 0)
        .def("mark", [](const OpenTrace& t) { return Mark{t.trace->mark()}; })
        .def("undo_to", [](OpenTrace& t, const Mark& mark) { t.trace->undo_to(mark.state); })
        .def("close", &OpenTrace::close);
    m.def("is_active", &Trace::is_active);
    py::class_<Pointer>(m, "Pointer", "An address of the device, as an argument of kernels.")
        .def(py::init([](uint64_t address, DType type) { return Pointer{address, type}; }), py::arg("address"),
             py::arg("dtype"))
        .def_readonly("address", &Pointer::address)
        .def_readonly("dtype", &Pointer::dtype)
        .def("__repr__",
             [](const Pointer& p) { return fmt::format("<Pointer {:#x} to {}>", p.address, p.dtype.name()); });
    bind_control(m);
    bind_memory(m);
    bind_kernels_of_traces(m);
}

}  // namespace strata::python
