#include <algorithm>

#include "front_end_p.h"
#include "kernels/places_p.h"
#include "kernels/uop_p.h"
#include "kernels_p.h"
#include "package_p.h"
#include "strata/codegen/driver/compile.h"
#include "strata/codegen/driver/compile_graph.h"
#include "strata/codegen/kernel/scalar_parameters.h"
#include "strata/core/uop/kernel.h"
#include "strata/core/uop/walk.h"
#include "strata/executable/memory.h"
#include "strata/ops/custom.h"
#include "strata/runtime/artifact.h"
#include "strata/runtime/custom.h"
#include "strata/runtime/search/search.h"

namespace strata::python {
namespace {

using runtime::CustomKernel;
using Kernel = std::shared_ptr<CustomKernel>;

Kernel in_python(const ops::UserKernel& kernel) { return std::const_pointer_cast<CustomKernel>(kernel); }

using Sizes = As<"Sizes | None">;

Kernel hip_kernel(const std::string& source, const std::string& name, Sizes grid, Sizes block, uint32_t lds,
                  const std::vector<std::string>& options, bool file) {
    ops::Dims g = to_dims(grid, "grid"), b = to_dims(block, "block");
    return in_python(file ? ops::hip_kernel_file(source, name, g, b, options, lds)
                          : ops::hip_kernel(source, name, g, b, options, lds));
}

Kernel object_kernel(const py::bytes& object, const std::string& name, Sizes grid, Sizes block, uint32_t lds) {
    std::string_view bytes = object;
    return in_python(ops::asm_kernel(isa::Bytes(bytes.begin(), bytes.end()), to_dims(grid, "grid"),
                                     to_dims(block, "block"), name, lds));
}

/// Tensors and numbers with a type of their own are given to the kernel; others are for the function that builds it.
bool is_parameter(const ops::KernelArgument& argument) {
    const auto* number = std::get_if<runtime::Argument::Number>(&argument.value.value);
    return argument.tensor || (number && number->exact);
}

/// The kernel's parameter for an argument: a buffer or a number.
UOp parameter(const ops::KernelArgument& argument, int slot) {
    if (argument.tensor)
        return uop::buffer(slot, argument.tensor->dtype(), std::max<int64_t>(argument.tensor->numel(), 1));
    return codegen::number_parameter(slot, *std::get<runtime::Argument::Number>(argument.value.value).exact);
}

/// Buffers of the kernel are those that its function was given: another one has no memory, or is taken for one of them.
void check_buffers(UOp sink, const std::vector<UOp>& given) {
    for (UOp u : toposort(sink))
        if (u.is(Op::param) && u.as<ParamArg>().space == Space::global && std::ranges::find(given, u) == given.end())
            user_error(ErrorKind::Usage,
                       "the kernel uses the buffer {}, which its function was not given. Pass the tensor to "
                       "custom_kernel, and use the buffer that the function gets for it",
                       to_string(u));
}

/// A Python function over one UOp a parameter, and other values as they are -> the kernel it builds.
Kernel uop_kernel(py::handle function, const std::vector<ops::KernelArgument>& arguments,
                  const std::vector<py::object>& values) {
    py::list params;
    std::vector<UOp> given;
    for (size_t i = 0; i < arguments.size(); ++i) {
        GraphScope scope;
        const bool own = is_parameter(arguments[i]);
        if (own) given.push_back(parameter(arguments[i], static_cast<int>(given.size())));
        params.append(own ? from_uop(given.back()) : values[i]);
    }
    const PythonPlaces places;
    py::object made = function_of_package(Called::called)("custom_kernel", function, params);
    py::object name = py::getattr(function, "__name__", py::str(""));
    GraphScope scope;
    UOp sink = to_uop(made);
    if (!sink.is(Op::sink))
        user_error(ErrorKind::Usage, "the kernel function must return uop.sink(...), got {}", to_string(sink));
    check_buffers(sink, given);
    if (sink.as<SinkArg>().name.empty()) {
        std::string own = py::str(name);
        sink = make(Op::sink, dtypes::none, sink.src(), SinkArg{own == "<lambda>" ? "" : own});
    }
    Kernel kernel = in_python(ops::uop_kernel(sink));
    keep_places(kernel, places.of_tree(kernel->graph.get()));
    return kernel;
}

/// `outputs` of arguments that become parameters alone: places count the parameters before.
ops::Outputs among_parameters(ops::Outputs outputs, const std::vector<ops::KernelArgument>& arguments) {
    for (auto& output : outputs) {
        auto* place = std::get_if<int64_t>(&output);
        if (!place || *place < 0 || static_cast<size_t>(*place) >= arguments.size()) continue;
        const auto end = arguments.begin() + *place;
        if (!end->tensor) user_error(ErrorKind::Usage, "[outputs] argument {} is no tensor", *place);
        *place = std::count_if(arguments.begin(), end, is_parameter);
    }
    return outputs;
}

/// The results of a function under @strata.kernel, which tells the kernel for these arguments, what it is given, and
/// its grid.
py::tuple results_of_lang_kernel(const Tensor& out, const py::args& inputs, py::handle kernel,
                                 const ops::Outputs& wanted) {
    py::list given;
    given.append(out);
    for (py::handle x : inputs) given.append(x);
    const auto [k, launched, grid] =
        kernel.attr("chosen")(*py::args(py::tuple(given))).cast<std::tuple<Kernel, py::list, py::object>>();
    std::vector<ops::KernelArgument> arguments;
    for (py::handle x : launched) arguments.push_back(to_kernel_argument(x));
    const ops::LaunchOptions options{.grid = to_dims(grid, "grid")};
    return py::tuple(py::cast(computing([&] { return ops::custom_kernel(arguments, k, options, wanted); })));
}

py::tuple results_of_kernel(const Tensor& out, const py::args& inputs, py::handle kernel, py::handle outputs) {
    std::vector<ops::KernelArgument> arguments{out};
    for (py::handle x : inputs) arguments.push_back(to_kernel_argument(x));
    const ops::Outputs wanted = to_outputs(outputs);
    if (py::isinstance<CustomKernel>(kernel)) {
        const auto k = kernel.cast<Kernel>();
        return py::tuple(py::cast(wanted.empty() ? ops::custom_kernel(arguments, k) : computing([&] {
            return ops::custom_kernel(arguments, k, {}, wanted);
        })));
    }
    if (py::hasattr(kernel, "chosen")) return results_of_lang_kernel(out, inputs, kernel, wanted);
    if (!PyCallable_Check(kernel.ptr()))
        user_error(ErrorKind::Usage,
                   "[custom_kernel] kernel= takes @strata.kernel, hip_kernel(...), asm_kernel(...) or a function that "
                   "builds a UOp graph");
    std::vector<py::object> values{py::none()};
    for (py::handle x : inputs) values.push_back(py::reinterpret_borrow<py::object>(x));
    Kernel k = uop_kernel(kernel, arguments, values);
    std::vector<ops::KernelArgument> given;
    std::ranges::copy_if(arguments, std::back_inserter(given), is_parameter);
    const ops::Outputs of_given = among_parameters(wanted, arguments);
    return py::tuple(py::cast(of_given.empty() ? ops::custom_kernel(given, k) : computing([&] {
        return ops::custom_kernel(given, k, {}, of_given);
    })));
}

py::tuple custom_kernel(const Tensor& out, const py::args& inputs, py::handle kernel, py::handle outputs,
                        py::handle grad) {
    py::tuple results = results_of_kernel(out, inputs, kernel, outputs);
    if (grad.is_none()) return results;
    return function_of_package(Called::of_kernel)(results, inputs, grad);
}

void bind_custom_kernel(py::class_<Tensor> c) {
    OwnSignature own;
    c.def(
        "custom_kernel", &custom_kernel, py::kw_only(), py::arg("kernel"), py::arg("outputs") = py::none(),
        py::arg("grad") = py::none(),
        "custom_kernel(self, *inputs: KernelArgument, kernel: Kernel, outputs: str | int | Sequence[str | int] | None "
        "= None, grad: Callable[..., Any] | None = None) -> tuple[Tensor, ...]\n\nRuns a kernel of the user's over "
        "this tensor (its output) and the inputs, when a result is realized.\n\ninputs: in the kernel's order, what "
        "CustomKernel.__call__ takes. kernel: hip_kernel(...), asm_kernel(...), or a\nfunction that returns "
        "uop.sink(...). The function gets one uop.UOp a tensor and a NumPy number, which each launch\ngives, and "
        "Python's numbers as they are. outputs: the tensors to return, by their places, this one being 0, or by\ntheir "
        "parameters' names. For names the kernel is compiled now. Without outputs all are returned, as the kernel "
        "leaves\nthem, this one first. This and the inputs keep their values. A kernel whose parameters do not tell "
        "what it writes\n(assembly) writes the first alone. Raises LaunchError when an argument does not fit its "
        "parameter.\ngrad: a function of the first result's gradient and of the inputs. It gives the gradient of each "
        "input, or None; for\none input that alone. Without it a gradient that arrives raises Unsupported.");
}

constexpr const char *kEntry = "The entry in its code object.", *kGrid = "Workgroups: x, y, z; 0: the launch says.",
                     *kBlock = "Threads of a workgroup: x, y, z; 0: the launch says.";

executable::Executable outline(const std::vector<Tensor*>& tensors, bool copy_by_kernels) {
    return computing([&] {
        GraphScope scope;
        return runtime::outline(whole(tensors), copy_by_kernels);
    });
}

std::string name_of(const executable::Executable& all, const executable::Step& step) {
    return step.kernel == executable::kNone ? "copy" : all.kernels[step.kernel].name;
}

/// (steps, bytes that must be moved: inputs and results).
py::tuple steps_of(const executable::Executable& all) {
    py::list steps;
    for (size_t s = 0; s < all.steps.size(); ++s) {
        const executable::Provenance& of = all.provenance[s];
        steps.append(py::make_tuple(name_of(all, all.steps[s]), of.result, of.operations, of.read, of.written, of.why));
    }
    uint64_t least_bytes = 0;
    for (const executable::Operand& operand : all.operands)
        if (operand.role != executable::Role::workspace) least_bytes += operand.bytes();
    return py::make_tuple(steps, least_bytes);
}

/// (names of steps, what they fill, bytes in memory at each step, inputs).
py::tuple memory_of(const executable::Executable& all) {
    std::vector<std::string> steps;
    for (const executable::Step& step : all.steps) steps.push_back(name_of(all, step));
    std::vector<std::pair<uint64_t, std::string>> inputs;
    for (size_t i = 0; i < all.inputs; ++i) inputs.emplace_back(all.operands[i].bytes(), all.origins[i].value);
    const std::vector<executable::Lifetime> lives = executable::lifetimes(all);
    std::vector<int> over(all.operands.size(), -1);  // among what steps fill, what was in the same memory before
    for (size_t i = all.inputs; i < lives.size(); ++i)
        if (lives[i].heir != executable::kNone) over[lives[i].heir] = static_cast<int>(i - all.inputs);
    py::list filled;
    for (size_t i = all.inputs; i < lives.size(); ++i)
        filled.append(py::make_tuple(lives[i].bytes, all.origins[i].value, lives[i].first, lives[i].last, over[i],
                                     all.origins[i].why));
    return py::make_tuple(steps, filled, executable::bytes_at(all), inputs);
}

void bind_outlines(py::module_& m) {
    m.def("_outline", [](const std::vector<Tensor*>& tensors) { return steps_of(outline(tensors, true)); });
    m.def("_memory_outline", [](const std::vector<Tensor*>& tensors) { return memory_of(outline(tensors, false)); });
}

}  // namespace

void bind_kernels(py::module_& m) {
    py::class_<CustomKernel, Kernel> c(m, "CustomKernel",
                                       "A kernel of the user's: called, or for custom_kernel(kernel=...).",
                                       py::custom_type_setup(&call_kernels_at_once));
    c.def_readonly("name", &CustomKernel::name, kEntry)
        .def_readonly("grid", &CustomKernel::grid, kGrid)
        .def_readonly("block", &CustomKernel::block, kBlock)
        .def_readonly("lds", &CustomKernel::lds, "Dynamic LDS bytes of a workgroup.")
        .def("__repr__", [](const CustomKernel& k) {
            return fmt::format("<CustomKernel {} grid=({}, {}, {}) block=({}, {}, {})>", k.name, k.grid[0], k.grid[1],
                               k.grid[2], k.block[0], k.block[1], k.block[2]);
        });
    bind_kernel_calls(m, c);
    m.def("_hip_kernel", &hip_kernel);
    m.def("_object_kernel", &object_kernel);
    bind_custom_kernel(m.attr("Tensor").cast<py::class_<Tensor>>());
    bind_artifacts(m);
    bind_tracing(m);
    bind_outlines(m);
    m.def("_stages", [](const Tensor& tensor, const std::string& arch) {
        return computing([&] {
            GraphScope scope;
            const UOp root = tensor.contiguous().uop();
            std::vector<std::vector<std::pair<std::string, std::string>>> out;
            const codegen::Target target = codegen::target_of(isa::parse_arch(arch).value(), codegen::Route::asm_);
            for (const auto& kernel : codegen::stages_of({&root, 1}, target, {.fusion = runtime::usual_fusion()})) {
                out.emplace_back();
                for (const codegen::Stage& stage : kernel) out.back().emplace_back(stage.name, stage.text);
            }
            return out;
        });
    });
    m.def("_hip_code_object", [](const CustomKernel& k, const std::string& arch) {  // with all kernels of the source
        const auto& source = std::get<codegen::HipSource>(k.body);
        const isa::Bytes object = computing([&] {
                                      return codegen::compile_hip(source, isa::parse_arch(arch).value()).value();
                                  }).code_object();
        return py::bytes(reinterpret_cast<const char*>(object.data()), object.size());
    });
}

}  // namespace strata::python
