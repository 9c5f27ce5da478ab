// Kernels under the reference of codegen/interpret: no device, no compiler.
#include "strata/codegen/interpret/interpret.h"

#include "front_end_p.h"
#include "kernels/uop_p.h"
#include "lang/lang_p.h"
#include "strata/codegen/linear/linear.h"
#include "strata/core/uop/walk.h"
#include "strata/runtime/custom.h"

namespace strata::python {
namespace {

using codegen::InterpretedArgument;

/// The types of a kernel's numbers, by their slots.
std::map<int, DType> numbers_of(UOp sink) {
    std::map<int, DType> found;
    for (UOp u : toposort(sink))
        if (u.is(Op::define_var)) found[u.as<VariableArg>().slot] = u.dtype();
    return found;
}

std::set<int> written_by(UOp sink) {
    std::set<int> slots;
    for (UOp u : toposort(sink)) {
        if (!writes_memory(u)) continue;
        const ParamArg& memory = memory_of(u).as<ParamArg>();
        if (memory.space == Space::global) slots.insert(memory.slot);
    }
    return slots;
}

/// Copies of what a launch is given, which the kernel changes.
struct Given {
    Given(UOp sink, const py::list& values) {
        const std::map<int, DType> numbers = numbers_of(sink);
        bytes.resize(values.size());
        for (size_t slot = 0; slot < values.size(); ++slot) {
            if (!py::isinstance<Tensor>(values[slot])) {
                const auto found = numbers.find(static_cast<int>(slot));
                if (found == numbers.end()) {
                    arguments.push_back({dtypes::int32});  // the kernel does not use it
                    continue;
                }
                arguments.push_back(
                    {found->second, {}, to_number(values[slot]).constant(found->second).as<ConstArg>()});
                continue;
            }
            Tensor t = values[slot].cast<Tensor&>();
            bytes[slot].resize(static_cast<size_t>(t.nbytes()));
            computing([&] { t.to_host(bytes[slot].data()); });
            arguments.push_back({t.dtype(), bytes[slot]});
        }
    }
    std::vector<std::vector<uint8_t>> bytes;
    std::vector<InterpretedArgument> arguments;
};

py::object number_of(DType type, const ConstArg& value) {
    if (type.is_bool()) return py::bool_(value.i != 0);
    if (type.is_float()) return py::float_(value.f);
    if (type == dtypes::uint64) return py::int_(static_cast<uint64_t>(value.i));
    return py::int_(value.i);
}

/// Throws a finding with the place of its node.
[[noreturn]] void refuse(const runtime::CustomKernel& kernel, const codegen::Finding& wrong) {
    const std::vector<UOp> nodes = toposort(kernel.graph.get());
    Error error{wrong.kind, fmt::format("[interpret] {}\n  in {}", wrong.what, to_string(wrong.node))};
    error.line = static_cast<int>(std::ranges::find(nodes, wrong.node) - nodes.begin()) + 1;
    throw Exception(runtime::at_places_of(kernel, std::move(error)));
}

py::list interpret(const runtime::CustomKernel& kernel, std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block,
                   int wave_size, const py::list& values, const py::object& observed) {
    GraphScope scope;
    const UOp sink = kernel.graph.get();
    const std::vector<UOp> ops = codegen::order(Scopes(sink)).value();
    Given given(sink, values);
    codegen::InterpretedLaunch launch{.grid = grid, .block = block, .wave_size = wave_size};
    py::list seen;
    if (!observed.is_none()) {
        std::tie(launch.observed_block, launch.observed_thread) =
            observed.cast<std::pair<std::array<uint32_t, 3>, std::array<uint32_t, 3>>>();
        launch.observe = [&](UOp u, std::span<const ConstArg> lanes) {
            py::list held;
            for (const ConstArg& lane : lanes) held.append(number_of(u.dtype().element(), lane));
            seen.append(py::make_tuple(from_uop(u), held));
        };
    }
    if (const auto wrong = codegen::interpret(ops, launch, given.arguments)) refuse(kernel, *wrong);
    if (!observed.is_none()) return seen;
    py::list written;
    for (const int slot : written_by(sink)) {
        const auto at = static_cast<size_t>(slot);
        const Tensor& t = values[at].cast<Tensor&>();
        written.append(py::make_tuple(slot, Tensor::from_host(given.bytes[at].data(), t.shape(), t.dtype())));
    }
    return written;
}

}  // namespace

void bind_lang_interpret(py::module_& m) {
    m.def("interpret", &interpret, py::arg("kernel"), py::arg("grid"), py::arg("block"), py::arg("wave_size"),
          py::arg("values"), py::arg("observed") = py::none());
}

}  // namespace strata::python
