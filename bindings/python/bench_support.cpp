// What `strata bench` times of this process's graphs and settings: the stages of a kernel without the ones after them.
// What needs neither is in strata._strata_bench.
#include "convert_p.h"
#include "front_end_p.h"
#include "strata/asm/isa/arch.h"
#include "strata/codegen/driver/compile_kernel.h"
#include "strata/codegen/driver/compile_p.h"
#include "strata/codegen/schedule/named_storage.h"
#include "strata/core/support/parallel.h"
#include "strata/providers/emulated.h"
#include "strata/runtime/program.h"

namespace strata::python {
namespace {

/// Schedules and renders, what steps share once; compiles nothing.
std::vector<codegen::HipSource> render_only(const std::vector<UOp>& roots) {
    GraphScope scope;
    codegen::NamedStorage storage;
    const codegen::Target target = runtime::target_of(runtime::device());
    std::vector<codegen::HipSource> sources;
    codegen::SharedKernels kernels;
    std::vector<size_t> used;
    for (const codegen::ScheduleItem& item : codegen::make_schedule(roots, storage).items)
        if (!item.body.is(Op::custom)) used.push_back(kernels.start(item).kernel);
    std::vector<codegen::HipSource> rendered(kernels.all().size());
    parallel_for(rendered.size(), [&](size_t i) {
        GraphScope inner;
        const codegen::Kernel kernel = codegen::heuristic(kernels.all()[i], target).kernel;
        rendered[i] = codegen::render_kernel(kernel, target).value();
    });
    for (size_t kernel : used) sources.push_back(rendered[kernel]);
    return sources;
}

/// Compiles on one route: without the plugin clang runs as a subprocess.
codegen::Compiled compile_on(const codegen::HipSource& source, isa::Arch arch, bool in_process) {
    codegen::SearchPaths paths = codegen::SearchPaths::usual();
    if (!in_process) paths.plugin.clear();
    return codegen::compile_hip(source, arch, paths).value();
}

/// Devices whose launches do nothing, for the time that the host takes for them.
const providers::HipApi& null_devices() {
    static const providers::HipApi api = [] {
        providers::HipApi a = providers::emulated();
        a.provider = "null";
        a.module_launch_kernel = [](providers::FunctionHandle*, std::array<uint32_t, 3>, std::array<uint32_t, 3>,
                                    uint32_t, providers::StreamHandle*, std::span<const uint8_t>,
                                    providers::LaunchReport&) { return Result<void>(); };
        return a;
    }();
    return api;
}

}  // namespace

void bind_bench(py::module_& m) {
    m.def(
        "_add_null_devices", [] { runtime::add_provider({"null", null_devices}); },
        "From now on there are devices 'null:gfx1100', ..., whose launches do nothing.");
    m.def(
        "_render_only", [](const std::vector<Tensor*>& tensors) -> As<"list[tuple[str, str]]"> {
            std::vector<UOp> roots;
            for (Tensor* t : tensors) roots.push_back(t->contiguous().uop());
            const std::vector<codegen::HipSource> sources = computing([&] { return render_only(roots); });
            py::list out;
            for (const codegen::HipSource& s : sources) out.append(py::make_tuple(s.kernel, s.text));
            return py::object(out);
        },
        py::arg("tensors"), "The (name, HIP text) of each kernel that computes the tensors; compiles nothing.");
    m.def(
        "_compile_on",
        [](const std::string& text, const std::string& name, const std::string& arch, bool freestanding,
           bool in_process) -> As<"tuple[float, str, bool]"> {
            codegen::HipSource source{text, name, freestanding};
            const codegen::Compiled made =
                computing([&] { return compile_on(source, isa::parse_arch(arch).value(), in_process); });
            return py::object(py::make_tuple(made.compile_ms, made.route, made.cached));
        },
        py::arg("text"), py::arg("name"), py::arg("arch"), py::arg("freestanding"), py::arg("in_process"),
        "(milliseconds, route taken, from a cache) of one compilation to a code object.");
}

}  // namespace strata::python
