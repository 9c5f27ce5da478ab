// Timings of `strata bench` that need this process's graphs and settings: the stages of a kernel without the ones after
// them. The others are in strata._strata_bench.
#include <map>

#include "convert_p.h"
#include "front_end_p.h"
#include "strata/asm/isa/arch.h"
#include "strata/asm/isa/card.h"
#include "strata/asm/isa/facts.h"
#include "strata/codegen/driver/compile_graph.h"
#include "strata/codegen/driver/compile_kernel.h"
#include "strata/codegen/driver/compile_p.h"
#include "strata/codegen/target/target.h"
#include "strata/core/support/parallel.h"
#include "strata/providers/emulated.h"
#include "strata/runtime/program.h"

namespace strata::python {
namespace {

/// Schedules and renders, what steps share once; compiles nothing.
std::vector<codegen::HipSource> render_only(const std::vector<UOp>& roots) {
    GraphScope scope;
    const codegen::Target target = runtime::target_of(runtime::device());
    struct Unknown : codegen::UserKernels {
        codegen::UserKernel kernel(UOp) const override { return {}; }
    };
    const Unknown users;
    const codegen::CompiledGraph graph =
        codegen::compile_graph(roots, target, {.copy_by_kernels = true, .user_kernels = &users});
    std::vector<codegen::HipSource> rendered(graph.kernels.size());
    parallel_for(rendered.size(), [&](size_t i) {
        const codegen::Kernel& kernel = graph.kernels[i].kernel;
        if (kernel.sink) rendered[i] = codegen::render_kernel(kernel, target).value();
    });
    std::vector<codegen::HipSource> sources;
    for (const executable::Step& step : graph.executable.steps)
        if (graph.kernels[step.kernel].kernel.sink) sources.push_back(rendered[step.kernel]);
    return sources;
}

/// Compiles on one route: without the plugin clang runs as a subprocess.
executable::Code compile_on(const codegen::HipSource& source, isa::Arch arch, bool in_process) {
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
                                    const providers::LaunchRequest&,
                                    providers::LaunchReport&) { return Result<void>(); };
        return a;
    }();
    return api;
}

/// Operations a second of a card by the type of the operands. One figure is of its fastest matrix instruction. The
/// other is of vector instructions that multiply and add two float32 a lane at once (VOPD of RDNA, packed of CDNA).
std::map<std::string, double> peaks(const isa::ArchInfo& arch, const isa::Card& card) {
    const auto clocks = [&](std::string_view mnemonic) {
        const isa::Facts& facts = isa::facts(arch.family, *isa::find_row(arch.family, mnemonic));
        return isa::issue_cycles(arch.family, facts, arch.wave_size);
    };
    const std::string_view vector = is_cdna(arch.family) ? "v_pk_fma_f32" : "v_dual_fmac_f32";
    std::map<std::string, double> out{{"float32", card.simd_clocks_per_s() * 4 * arch.wave_size / clocks(vector)}};
    for (const codegen::MatrixShape& shape : codegen::matrix_shapes()) {
        if (shape.family != arch.family) continue;
        double& peak = out[std::string(shape.operand.name())];
        peak = std::max(peak, card.simd_clocks_per_s() * 2 * shape.m * shape.n * shape.k / clocks(shape.mnemonic));
    }
    return out;
}

void bind_card(py::module_& m) {
    m.def(
        "_card", [](const std::string& arch, const std::string& model) -> As<"dict[str, Any]"> {
            const isa::Arch found = isa::parse_arch(arch).value();
            const isa::Card& card = *isa::find_card(arch, model).value();
            py::dict out;
            out["name"] = card.name, out["dram_gb_per_s"] = card.dram_gbs;
            out["launch_us"] = card.launch_us, out["next_launch_us"] = card.next_launch_us;
            out["peak_ops_per_s"] = peaks(isa::info(found), card);
            return py::object(out);
        },
        py::arg("arch"), py::arg("model") = "",
        "Limits of a modelled card (the arch's default without a name). The keys are name, dram_gb_per_s, launch_us "
        "(from an empty queue), next_launch_us (after another kernel), peak_ops_per_s (by the operands' type).");
}

}  // namespace

void bind_bench(py::module_& m) {
    bind_card(m);
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
            const executable::Code made =
                computing([&] { return compile_on(source, isa::parse_arch(arch).value(), in_process); });
            return py::object(py::make_tuple(made.compile_ms, made.route, made.cached));
        },
        py::arg("text"), py::arg("name"), py::arg("arch"), py::arg("freestanding"), py::arg("in_process"),
        "(milliseconds, route taken, from a cache) of one compilation to a code object.");
}

}  // namespace strata::python
