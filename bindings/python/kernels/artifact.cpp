// Compiled graphs and kernels in Python: what strata.Artifact is over.
#include <algorithm>
#include <map>

#include "front_end_p.h"
#include "kernels/uop_p.h"
#include "kernels_p.h"
#include "strata/asm/llvm/assemble.h"
#include "strata/codegen/kernel/scalar_parameters.h"
#include "strata/core/text/parse.h"
#include "strata/core/uop/walk.h"
#include "strata/executable/manifest.h"
#include "strata/executable/workspace.h"
#include "strata/runtime/arguments.h"
#include "strata/runtime/artifact.h"
#include "strata/runtime/loaded_sequence.h"
#include "strata/runtime/replay.h"

namespace strata::python {
namespace {

using executable::Code, executable::Sequence, executable::TensorOperand;

constexpr const char *kEntry = "The entry in its code object.", *kGrid = "Workgroups: x, y, z; 0: the launch says.",
                     *kBlock = "Threads of a workgroup: x, y, z; 0: the launch says.";

py::bytes bytes_of(const isa::Bytes& object) {
    return py::bytes(reinterpret_cast<const char*>(object.data()), object.size());
}

/// `part` of every kernel, in order.
template <class Part>
std::string joined(const runtime::Artifact& a, std::string_view between, Part part) {
    std::string all;
    for (const executable::Code& k : a.kernels) all += (all.empty() ? "" : std::string(between)) + part(k);
    return all;
}

std::vector<std::tuple<std::string, DType, int64_t>> taken_buffers(const executable::Code& kernel) {
    std::vector<std::tuple<std::string, DType, int64_t>> found;
    for (const executable::TakenBuffer& b : kernel.buffers) found.emplace_back(b.name, b.dtype, b.elements);
    return found;
}

/// Names of the operands that a step's kernel takes the addresses of, in its order; "" for a counter.
std::vector<std::string> arguments_of(const runtime::Artifact& a, size_t step) {
    const std::vector<uint32_t>& operands = a.executable.steps[step].operands;
    const auto name = [&](uint64_t slot) { return a.executable.names[operands[slot]]; };
    std::vector<std::string> names;
    if (step < a.packed.size() && !a.packed[step].empty()) {
        for (const executable::SequenceArgument& argument : a.packed[step])
            if (argument.kind == executable::SequenceArgument::Kind::operand) names.push_back(name(argument.value));
        return names;
    }
    for (const executable::ParameterPlace& place : a.kernels[step].places)
        if (!place.number) names.push_back(place.counter ? "" : name(static_cast<uint64_t>(place.slot)));
    if (names.empty())
        for (size_t slot = 0; slot < operands.size(); ++slot) names.push_back(name(slot));
    return names;
}

std::vector<std::tuple<std::string, DType, int64_t>> operands_of(const runtime::Artifact& a) {
    std::vector<std::tuple<std::string, DType, int64_t>> all;
    for (size_t i = 0; i < a.executable.operands.size(); ++i)
        all.emplace_back(a.executable.names[i], a.executable.operands[i].dtype, a.executable.operands[i].elements);
    return all;
}

std::string assembly_of(const executable::Code& k) {
    return computing([&] { return k.assembly.empty() ? isa::disassemble(k.code_object()).value() : k.assembly; });
}

void bind_artifact_kernel(py::module_& m) {
    using executable::Code;
    py::class_<Code>(m, "ArtifactKernel", "One compiled kernel: launch dimensions and resources.")
        .def_readonly("name", &Code::entry, kEntry)
        .def_readonly("grid", &Code::grid, kGrid)
        .def_readonly("block", &Code::block, kBlock)
        .def_property_readonly(
            "vgprs", [](const Code& k) { return k.info().vgprs; }, "Vector registers a wave.")
        .def_property_readonly(
            "sgprs", [](const Code& k) { return k.info().sgprs; }, "Scalar registers a wave.")
        .def_property_readonly(
            "lds", [](const Code& k) { return k.info().lds; }, "Bytes a workgroup.")
        .def_property_readonly(
            "scratch", [](const Code& k) { return k.info().scratch; }, "Bytes a lane.")
        .def_property_readonly("buffers", &taken_buffers,
                               "The memory whose addresses it takes, in order: (name, dtype, elements). out<i> is "
                               "written, in<i> is read.\n\n"
                               "[] for a kernel of the user's.")
        .def_readonly("source", &Code::text, "HIP text; '' for a finished code object.")
        .def_property_readonly(
            "schedule", [](const Code& k) { return k.schedule; }, "The schedule actions, as text.")
        .def_readonly("compile_ms", &Code::compile_ms, "Milliseconds from text to code object; near 0 from a cache.")
        .def_property_readonly(
            "code_object", [](const Code& k) { return bytes_of(computing([&] { return k.code_object(); })); },
            "ELF that any HIP program can load. DeviceError where there is no compiler for it.")
        .def_property_readonly("assembly", &assembly_of,
                               "Listing of the code object; with target 'asm' as it was written, with comments.")
        .def("__repr__", [](const Code& k) {
            if (!k.object) return fmt::format("<kernel {}, its text alone>", k.entry);
            const isa::KernelInfo& info = k.info();
            return fmt::format("<kernel {} grid={} block={} vgprs={} sgprs={} lds={} scratch={}>", k.entry,
                               k.grid[0] * k.grid[1] * k.grid[2], k.block[0] * k.block[1] * k.block[2], info.vgprs,
                               info.sgprs, info.lds, info.scratch);
        });
}

void bind_artifact(py::module_& m) {
    using executable::Code;
    using runtime::Artifact;
    py::class_<Artifact>(m, "Compiled", "Kernels of one architecture, in order: what strata.Artifact is over.")
        .def_readonly("kernels", &Artifact::kernels, "In order of execution.")
        .def_property_readonly(
            "operands", &operands_of,
            "Memory that the kernels read and write: (name, dtype, elements). in<i> is there before the first kernel, "
            "out<i> is\nthe i-th tensor afterwards, work<i> is between kernels. [] for a kernel of the user's.")
        .def_property_readonly(
            "arguments",
            [](const Artifact& a) {
                std::vector<std::vector<std::string>> all;
                for (size_t step = 0; step < a.executable.steps.size(); ++step) all.push_back(arguments_of(a, step));
                return all;
            },
            "For each kernel the names of the operands whose addresses it takes, in the order of its .buffers; \"\" is "
            "a\ncounter of its own.")
        .def_property_readonly(
            "workspace_size", [](const Artifact& a) { return executable::lay_out_workspace(a.executable).bytes; },
            "Bytes of one block of memory that can hold all operands between kernels, without counters.")
        .def(
            "executable",
            [](const Artifact& a) { return computing([&] { return std::make_shared<const Sequence>(a.sequence()); }); },
            "What a run does. Raises DeviceError where there is no code, UsageError for a kernel alone.")
        .def_property_readonly(
            "source", [](const Artifact& a) { return joined(a, "\n", [](const Code& k) { return k.text; }); },
            "HIP text of all kernels.")
        .def_property_readonly("from_cache", &Artifact::from_cache,
                               "Whether all machine code of it was in a cache, in memory or on disk.")
        .def_readonly("cache_key", &Artifact::cache_key,
                      "What a kernel under @strata.kernel is known by in the cache; \"\" of anything else.")
        .def_property_readonly(
            "graph", [](const Artifact& a) -> As<"UOp | None"> {
                return a.graph.get() ? py::cast(Handle(a.graph.get())) : py::object(py::none());
            },
            "The traced graph of a kernel under @strata.kernel or of UOps, a strata.uop.UOp; None of anything else.")
        .def_property_readonly(
            "assembly", [](const Artifact& a) { return joined(a, "", assembly_of); }, "Listings of all kernels.")
        .def_property_readonly(
            "code_object",
            [](const Artifact& a) {
                if (a.kernels.empty()) return py::bytes();
                return bytes_of(computing([&] { return a.code_object(); }));
            },
            "One with all kernels, by their names; .kernels[i].code_object has each alone.\n\n"
            "Raises Unsupported where one of several is hip_kernel's or asm_kernel's.");
}

/// Tensors with memory of their own on a device, row by row.
UOp placed(Tensor& t, const runtime::Device& device) {
    if (t.placement() != &device) t = t.to(device.name());
    const auto is_whole = [&] { return !t.is_uniform() && whole_buffer(t.in_memory()); };
    if (!is_whole()) t.realize();
    if (!is_whole()) t = t.contiguous().realize();
    return whole_buffer(t.in_memory());
}

/// A sequence on a device, for Python.
struct Loaded {
    std::shared_ptr<const runtime::LoadedSequence> sequence;
    std::vector<Tensor> constants;

    /// `given`: in the order of the inputs, each in the order of its memory.
    std::vector<Tensor> run(std::vector<Tensor> given, const std::vector<runtime::Argument::Number>& numbers) const {
        runtime::refuse_in_recording("an artifact is called");
        const Sequence& of = sequence->sequence();
        runtime::Device& device = sequence->device();
        GraphScope scope;
        std::vector<Tensor> results;
        std::vector<std::shared_ptr<runtime::Buffer>> held;
        std::vector<providers::DevicePtr> addresses;
        for (size_t i = 0; i < of.operands.size(); ++i) {
            const TensorOperand& operand = of.operands[i];
            if (operand.output) results.push_back(Tensor::empty(operand.shape, operand.dtype, device.name()));
            Tensor& t = operand.output ? results.back() : given[i];
            addresses.push_back(0);
            if (t.numel() == 0) continue;
            held.push_back(runtime::find_buffer(placed(t, device)));
            addresses.back() = held.back()->address();
            held.back()->order(operand.output);
        }
        for (const Tensor& constant : constants)
            if (constant.numel() > 0) runtime::find_buffer(whole_buffer(constant.in_memory()))->order(false);
        providers::DevicePtr workspace = 0;
        if (of.workspace > 0) {
            held.push_back(
                std::make_shared<runtime::Buffer>(device, dtypes::uint8, static_cast<int64_t>(of.workspace)));
            workspace = held.back()->address();
            held.back()->order(true);
        }
        std::vector<uint64_t> bits;
        for (size_t i = 0; i < numbers.size(); ++i)
            bits.push_back(runtime::bits_of_number(numbers[i], of.numbers[i].dtype).value());
        sequence->run({addresses, workspace, bits});
        return results;
    }
};

std::shared_ptr<const Loaded> load(const std::shared_ptr<const Sequence>& sequence, std::vector<Tensor> constants,
                                   const std::string& name) {
    return computing([&] {
        runtime::Device& device = runtime::device(name);
        GraphScope scope;
        std::vector<std::shared_ptr<runtime::Buffer>> memory;
        for (Tensor& constant : constants)
            memory.push_back(constant.numel() == 0 ? std::make_shared<runtime::Buffer>(device, constant.dtype(), 1)
                                                   : runtime::find_buffer(placed(constant, device)));
        auto loaded = std::make_shared<const runtime::LoadedSequence>(device, sequence, std::move(memory));
        return std::make_shared<const Loaded>(Loaded{std::move(loaded), std::move(constants)});
    });
}

/// For objects of their own files: `objects` by kernel.
std::string target_of(const Sequence& sequence, const std::vector<std::string>& objects) {
    if (objects.size() != sequence.kernels.size())
        user_error(ErrorKind::Usage, "{} files of {} kernels", objects.size(), sequence.kernels.size());
    return Json(executable::target_to_json(sequence, [&](size_t i) { return objects[i]; })).dump();
}

std::shared_ptr<const Sequence> read_manifest(const std::string& manifest, const std::string& arch,
                                              const std::map<std::string, py::bytes>& files) {
    const Json json = Json::parse(manifest).value();
    const executable::FileContent content = [&](std::string_view name) -> std::optional<std::string_view> {
        const auto found = files.find(std::string(name));
        return found == files.end() ? std::nullopt : std::optional<std::string_view>(found->second);
    };
    return std::make_shared<const Sequence>(executable::sequence_of(json, arch, content).value());
}

void bind_executable(py::module_& m) {
    py::class_<Loaded, std::shared_ptr<Loaded>>(m, "LoadedExecutable", "An Executable on a device.")
        .def(
            "run",
            [](const Loaded& loaded, const std::vector<Tensor>& inputs, const py::list& numbers) {
                std::vector<runtime::Argument::Number> given;
                for (const py::handle value : numbers) {
                    const Number n = to_number(value);
                    given.push_back({n.kind, n.i, n.f, {}});
                }
                return computing([&] { return loaded.run(inputs, given); });
            },
            py::arg("inputs"), py::arg("numbers"), "The outputs, over inputs in the order of their memory.");
    py::class_<Sequence, std::shared_ptr<Sequence>>(m, "Executable",
                                                    "Launches of one architecture over operands by name.")
        .def_readonly("arch", &Sequence::arch, "Its architecture.")
        .def_readonly("workspace", &Sequence::workspace, "Bytes of memory that a run needs besides its operands.")
        .def_property_readonly(
            "interface", [](const Sequence& s) { return Json(executable::interface_to_json(s)).dump(); },
            "Inputs, outputs, numbers and constants as JSON.")
        .def_property_readonly(
            "kernels",
            [](const Sequence& s) {
                std::vector<Code> kernels;
                for (const executable::Kernel& kernel : s.kernels) kernels.push_back(*kernel.code);
                return kernels;
            },
            "Each once.")
        .def("target", &target_of, py::arg("objects"),
             "Kernels, steps and workspace as JSON. objects: for each kernel the file of its code.")
        .def(
            "load",
            [](const std::shared_ptr<Sequence>& s, std::vector<Tensor> constants, const std::string& device) {
                return std::const_pointer_cast<Loaded>(load(s, std::move(constants), device));
            },
            py::arg("constants"), py::arg("device"), "On a device of its architecture.")
        .def_static(
            "read",
            [](const std::string& manifest, const std::string& arch, const std::map<std::string, py::bytes>& files) {
                return std::const_pointer_cast<Sequence>(read_manifest(manifest, arch, files));
            },
            py::arg("manifest"), py::arg("arch"), py::arg("files"),
            "Of the text of a manifest. UsageError names the member that is wrong.");
}

/// An input of a function: its buffer in the graph, and its operand.
using GivenInput = std::tuple<Tensor, std::string, Shape, Shape>;
using GivenNumber = std::tuple<std::string, DType, py::object>;

void add_outputs(runtime::FunctionInputs& function, std::span<const UOp> roots, const std::vector<std::string>& names) {
    for (size_t i = 0; i < roots.size(); ++i) {
        const Shape& shape = roots[i].shape();
        Shape strides(shape.size(), 1);
        for (size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
        function.interface.outputs.push_back({names[i], roots[i].dtype(), shape, strides, true});
    }
}

/// The graphs with stand-ins for memory: inputs, then constants, then numbers. None where a user's kernel runs.
py::object graph_of(std::span<const UOp> roots, const runtime::FunctionInputs& function) {
    UOpMap<UOp> others;
    for (size_t i = 0; i < function.buffers.size(); ++i)
        others[function.buffers[i]] =
            stand_in(i, function.buffers[i].dtype(), function.buffers[i].as<BufferArg>().size);
    for (size_t i = 0; i < function.numbers.size(); ++i) {
        const UOp number =
            buffer_under(codegen::number_tensor(static_cast<int>(i), function.interface.numbers[i].dtype));
        others[number] = stand_in(function.buffers.size() + i, number.dtype(), 1);
    }
    std::vector<UOp> out;
    for (UOp root : roots) {
        const std::vector<UOp> nodes = toposort(root);
        if (std::ranges::any_of(nodes, [](UOp u) { return u.is(Op::custom); })) return py::none();
        out.push_back(substitute(substitute(root, function.in_memory), others));
    }
    return tensors_to_dict(out);
}

/// Memory of a graph: name, type, elements.
using GivenMemory = std::tuple<std::string, DType, int64_t>;

/// Of a graph as graph_of() writes it, compiled again. shapes: of the inputs, with their strides.
runtime::Artifact compile_graph(const py::dict& graph, const std::vector<GivenMemory>& memory,
                                const std::vector<std::pair<Shape, Shape>>& shapes,
                                const std::vector<std::string>& outputs, const std::vector<GivenNumber>& numbers,
                                const std::string& arch) {
    GraphScope scope;
    std::vector<UOp> roots = tensors_of_dict(graph);
    if (roots.size() != outputs.size())
        user_error(ErrorKind::Usage, "the graph has {} roots for {} outputs", roots.size(), outputs.size());
    runtime::FunctionInputs function;
    UOpMap<UOp> others;
    for (size_t i = 0; i < memory.size(); ++i) {
        const auto& [name, dtype, elements] = memory[i];
        function.buffers.push_back(elements == 0 ? stand_in(i, dtype, 0)
                                                 : runtime::new_buffer(runtime::device(), dtype, elements));
        others[stand_in(i, dtype, elements)] = function.buffers.back();
        if (i < shapes.size())
            function.interface.inputs.push_back({name, dtype, shapes[i].first, shapes[i].second});
        else
            function.interface.constants.push_back(name);
    }
    for (size_t i = 0; i < numbers.size(); ++i) {
        const auto& [name, dtype, value] = numbers[i];
        const Number n = to_number(value);
        function.interface.numbers.push_back({name, dtype});
        function.numbers.push_back(runtime::bits_of_number({n.kind, n.i, n.f, {}}, dtype).value());
        others[stand_in(memory.size() + i, dtype, 1)] =
            buffer_under(codegen::number_tensor(static_cast<int>(i), dtype));
    }
    for (UOp& root : roots) root = substitute(root, others);
    add_outputs(function, roots, outputs);
    return computing([&] {
        GraphScope inner;
        return runtime::compile(roots, runtime::target_named(arch), &function);
    });
}

/// The graphs of a function for several architectures, with its constants and its graph.
py::tuple compile_function(const std::vector<Tensor*>& results, const std::vector<GivenInput>& inputs,
                           const std::vector<std::string>& outputs, const std::vector<GivenNumber>& numbers,
                           const std::vector<std::string>& archs) {
    runtime::FunctionInputs function;
    for (const auto& [name, dtype, value] : numbers) {
        const Number n = to_number(value);
        function.interface.numbers.push_back({name, dtype});
        function.numbers.push_back(runtime::bits_of_number({n.kind, n.i, n.f, {}}, dtype).value());
    }
    std::vector<runtime::Artifact> compiled;
    std::vector<Tensor> constants;
    GraphScope outer;
    std::vector<UOp> roots;
    std::vector<Root> kept;
    computing([&] {
        GraphScope scope;
        for (const auto& [tensor, name, shape, strides] : inputs) {
            function.interface.inputs.push_back({name, tensor.dtype(), shape, strides});
            // An empty tensor reads nothing.
            function.buffers.push_back(tensor.numel() == 0 ? stand_in(function.buffers.size(), tensor.dtype(), 0)
                                                           : buffer_under(tensor.uop()));
        }
        roots = whole(results);
        add_outputs(function, roots, outputs);
        kept = runtime::add_constants(roots, function);
        for (const std::string& arch : archs)
            compiled.push_back(runtime::compile(roots, runtime::target_named(arch), &function));
        for (size_t i = inputs.size(); i < function.buffers.size(); ++i) {
            const UOp buffer = function.buffers[i];
            constants.emplace_back(buffer, &runtime::device(buffer.as<BufferArg>().device));
        }
    });
    return py::make_tuple(compiled, constants, graph_of(roots, function));
}

}  // namespace

std::vector<UOp> whole(const std::vector<Tensor*>& tensors) {
    std::vector<UOp> roots;
    for (Tensor* t : tensors) roots.push_back(t->contiguous().uop());
    return roots;
}

void bind_artifacts(py::module_& m) {
    bind_artifact_kernel(m);
    bind_executable(m);
    bind_artifact(m);
    bind_artifact_files(m);
    m.def("_compile", [](const std::vector<Tensor*>& tensors, const std::string& arch) {
        return computing([&] {
            GraphScope scope;
            return runtime::compile(whole(tensors), runtime::target_named(arch));
        });
    });
    m.def("_compile_kernel", [](const runtime::CustomKernel& k, const std::string& arch) {
        return computing([&] { return runtime::compile(k, runtime::target_named(arch)); });
    });
    m.def("_compile_function", &compile_function);
    m.def("_compile_graph", &compile_graph);
    m.def("_number_tensor", [](int place, const As<"DTypeLike">& dtype) {
        GraphScope scope;
        return Tensor(codegen::number_tensor(place, to_dtype(dtype)));
    });
    m.def("_unplaced", [](const Shape& shape, const As<"DTypeLike">& dtype) {  // goes where its partners are
        const Tensor made = Tensor::empty(shape, to_dtype(dtype));
        return made.numel() == 0 ? made : Tensor(made.uop());
    });
    m.def("_is_filled", [](const Tensor& t) {  // something allocated the memory of what _unplaced gave
        return t.numel() > 0 && runtime::find_buffer(buffer_under(t.uop()))->allocated();
    });
}

}  // namespace strata::python
