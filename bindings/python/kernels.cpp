#include "convert_p.h"
#include "strata/asm/llvm/assemble.h"
#include "strata/codegen/compile/compile.h"
#include "strata/ops/custom.h"
#include "strata/runtime/artifact.h"
#include "strata/runtime/custom.h"

namespace strata::python {
namespace {

using runtime::CustomKernel;
using Kernel = std::shared_ptr<CustomKernel>;

/// int, (x,), (x, y) or (x, y, z).
ops::Dims dimensions(py::handle value, const char* what) {
    uint32_t out[3] = {1, 1, 1};
    Shape sizes = to_shape(value);
    if (sizes.empty() || sizes.size() > 3)
        user_error(ErrorKind::Launch, "{} has 1 to 3 dimensions, got {}", what, sizes.size());
    for (size_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i] < 1 || sizes[i] > 0x7fffffff)
            user_error(ErrorKind::Launch, "{} {}: every dimension is at least 1", what, to_string(sizes));
        out[i] = static_cast<uint32_t>(sizes[i]);
    }
    return {out[0], out[1], out[2]};
}

Kernel in_python(const ops::UserKernel& kernel) { return std::const_pointer_cast<CustomKernel>(kernel); }

using Sizes = As<"Sizes">;

Kernel hip_kernel(const std::string& source, const std::string& name, Sizes grid, Sizes block, uint32_t lds,
                  const std::vector<std::string>& options) {
    return in_python(ops::hip_kernel(source, name, dimensions(grid, "grid"), dimensions(block, "block"), options, lds));
}

Kernel object_kernel(const py::bytes& object, const std::string& name, Sizes grid, Sizes block, uint32_t lds) {
    std::string_view bytes = object;
    return in_python(ops::asm_kernel(isa::Bytes(bytes.begin(), bytes.end()), dimensions(grid, "grid"),
                                     dimensions(block, "block"), name, lds));
}

/// A Python function over one UOp a buffer -> the kernel it builds.
Kernel uop_kernel(py::handle function, const std::vector<Tensor>& buffers) {
    py::list params;
    for (size_t i = 0; i < buffers.size(); ++i)
        params.append(
            from_uop(make(Op::param, buffers[i].dtype(), {},
                          ParamArg{Space::global, static_cast<int>(i), std::max<int64_t>(buffers[i].numel(), 1)})));
    py::object made = function(*params);
    UOp sink = to_uop(made);
    if (!sink.is(Op::sink))
        user_error(ErrorKind::Usage, "the kernel function must return uop.sink(...), got {}", to_string(sink));
    if (sink.as<SinkArg>().name.empty()) {
        std::string name = py::hasattr(function, "__name__") ? py::str(function.attr("__name__")) : py::str("");
        sink = make(Op::sink, dtypes::none, sink.src(), SinkArg{name == "<lambda>" ? "" : name});
    }
    return in_python(ops::uop_kernel(sink));
}

py::tuple custom_kernel(const Tensor& out, const py::args& inputs, py::handle kernel, py::handle grad) {
    if (!grad.is_none()) user_error(ErrorKind::Unsupported, "[custom_kernel] grad= is not available in this version");
    std::vector<Tensor> buffers{out}, rest;
    for (py::handle x : inputs) rest.push_back(to_tensor(x)), buffers.push_back(rest.back());
    Kernel k = py::isinstance<CustomKernel>(kernel) ? kernel.cast<Kernel>() : nullptr;
    if (!k && !PyCallable_Check(kernel.ptr()))
        user_error(
            ErrorKind::Usage,
            "[custom_kernel] kernel= takes hip_kernel(...), asm_kernel(...) or a function that builds a UOp graph");
    if (!k) k = uop_kernel(kernel, buffers);
    return py::tuple(py::cast(ops::custom_kernel(out, rest, k)));
}

py::bytes bytes_of(const codegen::Compiled& k) {
    return py::bytes(reinterpret_cast<const char*>(k.code_object().data()), k.code_object().size());
}

/// What `part` says of every kernel, in order.
template <class Part>
std::string joined(const runtime::Artifact& a, std::string_view between, Part part) {
    std::string all;
    for (const codegen::Compiled& k : a.kernels) all += (all.empty() ? "" : std::string(between)) + part(k);
    return all;
}

void bind_custom_kernel(py::class_<Tensor> c) {
    OwnSignature own;
    c.def("custom_kernel", &custom_kernel, py::kw_only(), py::arg("kernel"), py::arg("grad") = py::none(),
          "custom_kernel(self, *inputs: ArrayLike, kernel: Kernel, grad: None = None) -> tuple[Tensor, ...]\n\n"
          "Runs a kernel of the user's over this tensor (its output) and the inputs.\n\n"
          "kernel: hip_kernel(...), asm_kernel(...), or a function that gets one uop.UOp a buffer and returns "
          "uop.sink(...).\nReturns one tensor a buffer, the output first. Raises LaunchError when the number of "
          "buffers differs from the\nkernel's parameters, Unsupported for grad.");
}

constexpr const char *kEntry = "The entry in its code object.", *kGrid = "Workgroups: x, y, z.",
                     *kBlock = "Threads of a workgroup: x, y, z.";

void bind_artifact(py::module_& m) {
    using codegen::Compiled;
    using runtime::Artifact;
    auto assembly = [](const Compiled& k) { return isa::disassemble(k.code_object()).value(); };
    py::class_<Compiled>(m, "ArtifactKernel", "One compiled kernel: launch dimensions and resources.")
        .def_readonly("name", &Compiled::entry, kEntry)
        .def_readonly("grid", &Compiled::grid, kGrid)
        .def_readonly("block", &Compiled::block, kBlock)
        .def_property_readonly(
            "vgprs", [](const Compiled& k) { return k.info().vgprs; }, "Vector registers a wave.")
        .def_property_readonly(
            "sgprs", [](const Compiled& k) { return k.info().sgprs; }, "Scalar registers a wave.")
        .def_property_readonly(
            "lds", [](const Compiled& k) { return k.info().lds; }, "Bytes a workgroup.")
        .def_property_readonly(
            "scratch", [](const Compiled& k) { return k.info().scratch; }, "Bytes a lane.")
        .def_readonly("source", &Compiled::text, "HIP text; '' for a finished code object.")
        .def_property_readonly(
            "schedule", [](const Compiled& k) { return codegen::to_string(k.actions); },
            "The schedule actions, as text.")
        .def_readonly("compile_ms", &Compiled::compile_ms,
                      "Milliseconds from text to code object; near 0 from a cache.")
        .def_property_readonly("code_object", &bytes_of, "ELF that any HIP program can load.")
        .def_property_readonly("assembly", assembly, "Listing of the code object.")
        .def("__repr__", [](const Compiled& k) {
            const isa::KernelInfo& info = k.info();
            return fmt::format("<kernel {} grid={} block={} vgprs={} sgprs={} lds={} scratch={}>", k.entry,
                               k.grid[0] * k.grid[1] * k.grid[2], k.block[0] * k.block[1] * k.block[2], info.vgprs,
                               info.sgprs, info.lds, info.scratch);
        });
    py::class_<Artifact>(m, "Artifact",
                         "What strata.compile gives: sources, assembly and code objects of every kernel, in order.")
        .def_readonly("kernels", &Artifact::kernels, "In order of execution.")
        .def_property_readonly(
            "source", [](const Artifact& a) { return joined(a, "\n", [](const Compiled& k) { return k.text; }); },
            "HIP text of all kernels.")
        .def_property_readonly(
            "assembly", [=](const Artifact& a) { return joined(a, "", assembly); }, "Listings of all kernels.")
        .def_property_readonly(
            "code_object",
            [](const Artifact& a) { return a.kernels.empty() ? py::bytes() : bytes_of(a.kernels.back()); },
            "The last kernel's; each kernel has its own in .kernels[i].code_object.");
}

}  // namespace

void bind_kernels(py::module_& m) {
    py::class_<CustomKernel, Kernel>(m, "CustomKernel", "A kernel of the user's, for custom_kernel(kernel=...).")
        .def_readonly("name", &CustomKernel::name, kEntry)
        .def_readonly("grid", &CustomKernel::grid, kGrid)
        .def_readonly("block", &CustomKernel::block, kBlock)
        .def_readonly("lds", &CustomKernel::lds, "Dynamic LDS bytes of a workgroup.")
        .def("__repr__", [](const CustomKernel& k) {
            return fmt::format("<CustomKernel {} grid=({}, {}, {}) block=({}, {}, {})>", k.name, k.grid[0], k.grid[1],
                               k.grid[2], k.block[0], k.block[1], k.block[2]);
        });
    m.def("hip_kernel", &hip_kernel, py::arg("source"), py::kw_only(), py::arg("name"), py::arg("grid"),
          py::arg("block"), py::arg("lds") = 0, py::arg("options") = std::vector<std::string>{},
          "A kernel from HIP source, which may include hip/hip_runtime.h; it compiles on first use.\n\n"
          "name: the kernel, a symbol or the plain name of a C++ function. grid: workgroups, block: threads of a "
          "workgroup, each an\nint or up to three. lds: dynamic LDS bytes. options: compiler options such as -O1 or "
          "-DN=4. Raises LaunchError; using it\nraises CompileError with file:line:column in the source.");
    m.def("_object_kernel", &object_kernel);
    bind_custom_kernel(m.attr("Tensor").cast<py::class_<Tensor>>());
    bind_artifact(m);
    m.def("_compile", [](const std::vector<Tensor*>& tensors, const std::string& arch) {
        std::vector<UOp> roots;
        for (Tensor* t : tensors) roots.push_back(t->contiguous().uop());
        py::gil_scoped_release release;
        return runtime::compile(roots, runtime::target_named(arch));
    });
    m.def("_compile_kernel", [](const CustomKernel& k, const std::string& arch) {
        py::gil_scoped_release release;
        return runtime::compile(k, runtime::target_named(arch));
    });
}

}  // namespace strata::python
