// Graphs of files under the interpreter: strata interp.
#include "strata/codegen/interpret/interpret.h"

#include "front_end_p.h"
#include "kernels/uop_p.h"
#include "strata/codegen/driver/compile_kernel.h"
#include "strata/codegen/interpret/kernel_list.h"
#include "strata/codegen/interpret/tensors.h"
#include "strata/codegen/linear/opt.h"
#include "strata/core/text/parse.h"
#include "strata/core/uop/walk.h"
#include "strata/runtime/artifact.h"

namespace strata::python {
namespace {

using codegen::InterpretedArgument;
using HostBytes = std::vector<uint8_t>;

HostBytes host_bytes(const Tensor& given) {
    Tensor t = given;
    HostBytes bytes(static_cast<size_t>(t.nbytes()));
    computing([&] { t.to_host(bytes.data()); });
    return bytes;
}

const Tensor& given_tensor(const py::list& values, size_t at, DType type, int64_t elements) {
    if (at >= values.size())
        user_error(ErrorKind::Usage,
                   "the graph reads {} elements of {} as argument {}, and {} were given: --arg {}[{}]", elements,
                   type.name(), at, values.size(), type.name(), elements);
    if (!py::isinstance<Tensor>(values[at]))
        user_error(ErrorKind::Usage, "argument {} is no tensor: the graph has {} elements of {} there", at, elements,
                   type.name());
    const Tensor& t = values[at].cast<const Tensor&>();
    if (t.dtype() != type || t.numel() < elements)
        user_error(ErrorKind::Usage, "argument {} has {} elements of {}, the graph's {} of {}", at, t.numel(),
                   t.dtype().name(), elements, type.name());
    return t;
}

Tensor made_tensor(const HostBytes& bytes, const Shape& shape, DType type) {
    return Tensor::from_host(bytes.data(), shape, type);
}

/// Buffers take the arguments in the order in which the graph reads them.
Tensor interpret_tensor_graph(const Handle& root, const py::list& values) {
    GraphScope scope;
    UOpMap<codegen::TensorValue> given;
    for (UOp u : toposort(root.get())) {
        if (!u.is(Op::buffer)) continue;
        const int64_t elements = u.as<BufferArg>().size;
        const HostBytes bytes = host_bytes(given_tensor(values, given.size(), u.dtype(), elements));
        given[u] = codegen::decode(u.dtype(), {elements}, bytes);
    }
    const UOp graph = root.get();
    const codegen::TensorValue value = computing([&] {
        return codegen::interpret_tensors(std::span(&graph, 1), {.read = [&](UOp u) { return given.at(u); }})[0];
    });
    HostBytes bytes(value.elements() * static_cast<size_t>(value.type.bytes()));
    codegen::encode(value, bytes);
    return made_tensor(bytes, value.shape, value.type);
}

struct GraphArguments {
    GraphArguments(std::span<const UOp> ops, const py::list& values, bool has_counter) {
        bytes.resize(values.size() + 1), given.resize(values.size() + 1, {dtypes::int32});
        int counter = -1;
        for (UOp u : ops)
            if (u.is(Op::param) && u.as<ParamArg>().space == Space::global)
                counter = std::max(counter, u.as<ParamArg>().slot);
        for (UOp u : ops) {
            if (u.is(Op::define_var)) add_number(u, values);
            if (!u.is(Op::param) || u.as<ParamArg>().space != Space::global) continue;
            const auto slot = static_cast<size_t>(u.as<ParamArg>().slot);
            if (has_counter && static_cast<int>(slot) == counter && slot == values.size())
                bytes[slot].resize(sizeof(int32_t));
            else
                bytes[slot] = host_bytes(given_tensor(values, slot, u.dtype().element(), 0));
            given[slot] = {u.dtype().element(), bytes[slot]};
        }
    }
    void add_number(UOp u, const py::list& values) {
        const auto slot = static_cast<size_t>(u.as<VariableArg>().slot);
        if (slot >= values.size())
            user_error(ErrorKind::Usage, "argument {} is missing: a number of {}", slot, u.dtype().name());
        given[slot] = {u.dtype(), {}, to_number(values[slot]).constant(u.dtype()).as<ConstArg>()};
    }
    std::vector<HostBytes> bytes;
    std::vector<InterpretedArgument> given;
};

std::array<uint32_t, 3> grid_or(const py::object& given, std::array<uint32_t, 3> own) {
    if (given.is_none()) return own;
    std::array<uint32_t, 3> sizes{1, 1, 1};
    size_t at = 0;
    for (const py::handle size : py::reinterpret_borrow<py::sequence>(given))
        if (at < 3) sizes[at++] = size.cast<uint32_t>();
    return sizes;
}

/// `lowered`: as the passes of codegen/linear leave it. Both orders of threads run.
py::list interpret_kernel_graph(const Handle& root, const py::list& values, const py::object& grid,
                                const std::string& arch, bool lowered) {
    GraphScope scope;
    const UOp sink = root.get();
    if (!sink.is(Op::sink))
        user_error(ErrorKind::Usage, "the graph ends in {}, and a kernel in a sink: --level tensor",
                   info(sink.op()).name);
    const codegen::Target target = runtime::target_named(arch);
    std::vector<std::string> passes;
    if (lowered)
        for (const auto& pass : codegen::linear_passes()) passes.emplace_back(pass.name);
    codegen::KernelList list = codegen::list_kernel(codegen::run_passes(sink, passes, target).value()).value();
    list.launch.wave_size = target.wave_size;
    list.launch.grid = grid_or(grid, list.launch.grid);
    const GraphArguments arguments(list.ops, values, lowered);
    const auto wrong =
        computing([&] { return codegen::interpret_in_two_orders(list.ops, list.launch, arguments.given); });
    if (wrong) throw Exception(Error{wrong->kind, fmt::format("{}\n  in {}", wrong->what, to_string(wrong->node))});
    py::list left;
    for (size_t slot = 0; slot < values.size(); ++slot) {
        if (!py::isinstance<Tensor>(values[slot])) {
            left.append(values[slot]);
            continue;
        }
        const Tensor& t = values[slot].cast<const Tensor&>();
        left.append(arguments.bytes[slot].empty() ? t : made_tensor(arguments.bytes[slot], t.shape(), t.dtype()));
    }
    return left;
}

/// `change` gets the tree() of each kernel's graph before it is lowered, and gives another one; None: none.
void change_lowering(const py::object& change) {
    if (change.is_none()) return codegen::on_lowering({});
    if (!PyCallable_Check(change.ptr()))
        throw py::type_error("[_on_lowering] change is a function of the sink of a kernel, or None");
    codegen::on_lowering([change = std::make_shared<py::object>(change)](UOp sink) {
        const py::gil_scoped_acquire lock;
        return parse_tree((*change)(tree(sink)).cast<std::string>()).value();
    });
}

}  // namespace

void bind_interpret(UOpModule& u) {
    u.def("_on_lowering", &change_lowering, py::arg("change").none(true));
    u.def("_interpret_tensors", &interpret_tensor_graph, py::arg("graph"), py::arg("values"));
    u.def("_interpret_kernel", &interpret_kernel_graph, py::arg("graph"), py::arg("values"), py::arg("grid"),
          py::arg("arch"), py::arg("lowered"));
}

}  // namespace strata::python
