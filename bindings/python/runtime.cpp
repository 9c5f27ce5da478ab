#include "convert_p.h"
#include "front_end_p.h"
#include "strata/asm/isa/arch.h"
#include "strata/asm/llvm/assemble.h"
#include "strata/codegen/driver/route.h"
#include "strata/codegen/target/chip.h"
#include "strata/providers/emulated.h"
#include "strata/runtime/device.h"
#include "strata/runtime/realize.h"

namespace strata::python {
namespace {

constexpr std::string_view kFamilies[] = {
#define FAMILY(name, ...) #name,
#include "strata/asm/isa/families.def"
#undef FAMILY
};

const providers::LaunchDetails& details_of(const runtime::Stats::Launch& launch) {
    static const providers::LaunchDetails none;
    return launch.report.details ? *launch.report.details : none;
}

void bind_launch(py::module_& m) {
    using runtime::Stats;
    py::class_<Stats::Launch>(m, "Launch", "One kernel launch.")
        .def_readonly("name", &Stats::Launch::name, "The kernel.")
        .def_readonly("grid", &Stats::Launch::grid, "Workgroups: x, y, z.")
        .def_readonly("block", &Stats::Launch::block, "Threads of a workgroup: x, y, z.")
        .def_readonly("time_ms", &Stats::Launch::time_ms,
                      "Milliseconds on the device; modelled where Stats.modelled is true.")
        .def_readonly("wall_ms", &Stats::Launch::wall_ms,
                      "Milliseconds that the launch took on this machine, as Stats.wall_ms.")
        .def_readonly("compile_ms", &Stats::Launch::compile_ms,
                      "Milliseconds from text to code object when the kernel was made.")
        .def_readonly("bytes", &Stats::Launch::bytes, "Size of all buffers that the kernel was given.")
        .def_readonly("flops", &Stats::Launch::flops,
                      "Floating-point operations, from the kernel's loops; 0 for a user's HIP or assembly.")
        .def_property_readonly(
            "wave_instructions", [](const Stats::Launch& l) { return l.report.wave_instructions; },
            "Instructions that waves ran, on an emulated device.")
        .def_property_readonly(
            "output",
            [](const Stats::Launch& l) {
                return py::reinterpret_steal<py::str>(PyUnicode_DecodeUTF8(
                    l.report.output.data(), static_cast<Py_ssize_t>(l.report.output.size()), "replace"));
            },
            "The text that the kernel printed, workgroup by workgroup; it went to stderr too.")
        .def_property_readonly(
            "instructions", [](const Stats::Launch& l) { return details_of(l).instructions; },
            "With config(emu_fidelity=True): each instruction of the kernel, how often it ran, how near it is to "
            "silicon.")
        .def_property_readonly(
            "findings", [](const Stats::Launch& l) { return details_of(l).findings; },
            "With config(check=True): what strict mode found.");
}

void bind_stats(py::module_& m) {
    using runtime::Stats;
    py::class_<Stats>(m, "Stats", "Counts of launches since reset_stats(), and of memory held now.")
        .def_readonly("kernels", &Stats::kernels, "Launches.")
        .def_readonly("time_ms", &Stats::time_ms,
                      "Milliseconds on the device; modelled where `modelled` is true. A card's launches are timed from "
                      "the first reset_stats() on, and stats() waits for them. Inside of profile() and with "
                      "config(debug=1) each launch is waited for. Others are 0.")
        .def_readonly("modelled", &Stats::modelled, "Whether time_ms comes from a timing model.")
        .def_readonly("bytes", &Stats::bytes, "Size of all buffers that kernels were given.")
        .def_readonly("flops", &Stats::flops, "Floating-point operations of the kernels that Strata wrote.")
        .def_readonly("compile_ms", &Stats::compile_ms, "Milliseconds spent on making programs from kernels.")
        .def_readonly("schedule_ms", &Stats::schedule_ms, "Milliseconds spent on scheduling, search included.")
        .def_readonly("wall_ms", &Stats::wall_ms,
                      "Milliseconds that the host spent in launches: of those after the first reset_stats(), inside "
                      "of profile() and with config(debug=1); others are 0.")
        .def_readonly("launches", &Stats::launches,
                      "The last 4096 launches; without those of a captured function that a card takes as one launch.")
        .def_readonly("live_bytes", &Stats::live_bytes, "Bytes of tensors in device memory, now.")
        .def_readonly("peak_bytes", &Stats::peak_bytes, "The most that live_bytes was since reset_stats().")
        .def_readonly("pooled_bytes", &Stats::pooled_bytes,
                      "Bytes of freed device memory that are kept for the next tensors: config(emu_pool_mb=...).")
        .def_readonly("programs", &Stats::programs, "Programs that are loaded now.")
        .def_readonly("program_bytes", &Stats::program_bytes,
                      "About how much memory of the host they take: config(programs_mb=...).")
        .def_readonly("evicted_programs", &Stats::evicted_programs,
                      "Programs that others displaced since the process began.")
        .def_readonly("plans_made", &Stats::plans_made, "Graphs that were scheduled, since reset_stats().")
        .def_readonly("plans_found", &Stats::plans_found,
                      "Graphs whose signature was computed before, over other memory or with other numbers, since "
                      "reset_stats(): they were not scheduled.")
        .def_readonly("plans", &Stats::plans, "Signatures of graphs whose launches are known now.")
        .def_readonly("plan_bytes", &Stats::plan_bytes,
                      "About how much memory of the host they take, without programs: config(plans_mb=...).")
        .def_readonly("graph_nodes", &Stats::graph_nodes, "Nodes of lazy graphs and of kernels that are kept now.")
        .def_readonly("collections", &Stats::collections,
                      "Looks for what no tensor reaches since the process began: config(garbage_mb=...).")
        .def("__repr__", [](const Stats& s) {
            return fmt::format(
                "<Stats kernels={} time_ms={:.4f}{} bytes={} flops={}; now live_bytes={} peak_bytes={} pooled_bytes={} "
                "programs={} graph_nodes={}>",
                s.kernels, s.time_ms, s.modelled ? " (modelled)" : "", s.bytes, s.flops, s.live_bytes, s.peak_bytes,
                s.pooled_bytes, s.programs, s.graph_nodes);
        });
    m.def(
        "stats", [] { return computing([] { return runtime::stats(); }); },
        "Kernels, time, bytes and operations since reset_stats(); what is held in memory now. Waits for launches that "
        "are timed.");
    m.def("reset_stats", &runtime::reset_stats, "Sets the counters of what ran to 0, and peak_bytes to live_bytes.");
    m.def("_collect", &runtime::collect,
          "Frees what no tensor reaches now, which else happens after a realize at times.");
}

/// Tensors and iterables of them, computed together.
void realize(const py::Args<As<"Tensor | Iterable[Tensor]">>& tensors) {
    std::vector<Tensor*> wanted;
    py::list kept;  // what an iterable makes on the way lives until it is computed
    const auto take = [&](py::handle t) {
        if (!py::isinstance<Tensor>(t))
            user_error(ErrorKind::Usage, "[realize] a tensor was expected, got {}", py::repr(t).cast<std::string>());
        kept.append(t);
        wanted.push_back(t.cast<Tensor*>());
    };
    for (py::handle each : tensors) {
        if (py::isinstance<Tensor>(each) || !py::isinstance<py::iterable>(each))
            take(each);  // a tensor is a sequence of rows made on the way: it is not taken for a list
        else
            for (py::handle t : each) take(t);
    }
    computing([&] { Tensor::realize(wanted); });
}

}  // namespace

void bind_runtime(py::module_& m) {
    bind_launch(m);
    bind_stats(m);
    m.def("devices", &runtime::known_devices, "Names that a device can be opened by.");
    m.def(
        "default_device", [] { return runtime::device().name(); },
        "The device of tensors that name none. Raises DeviceError when STRATA_DEVICE names none that is known.");
    m.def("realize", &realize, "Computes tensors, or lists of them, together: work that they share is done once.");
    m.def(
        "device_properties", [](const std::string& name) -> As<"dict[str, Any]"> {
            runtime::Device& d = runtime::device(name);
            providers::DeviceProperties p = d.properties();
            py::dict out;
            out["name"] = p.name, out["arch"] = p.arch, out["warp_size"] = p.warp_size, out["max_block"] = p.max_block;
            out["lds_per_block"] = p.lds_per_block, out["max_grid"] = p.max_grid, out["units"] = p.units,
            out["memory_bytes"] = p.memory_bytes, out["driver"] = p.driver;
            out["time_is_modelled"] = d.time_is_modelled();
            return py::object(out);
        },
        py::arg("device") = "",
        "name, arch, warp_size (lanes), max_block (threads), lds_per_block (bytes), max_grid, units (compute units), "
        "memory_bytes, driver (\"HIP 6.3.42131\"; empty for an emulated device), time_is_modelled.");
    m.def(
        "_hip_compiler",
        [] {
            const Result<std::string> found = codegen::hip_compiler();
            return std::pair(bool(found), found ? *found : found.error().message);
        },
        "Whether there is one, and where it is or what is missing.");
    m.def(
        "_target", [] { return codegen::name(codegen::route_in_force()); },
        "The route by the setting target: hip or asm.");
    m.def("llvm_available", &isa::llvm_available, "Whether LLVM 19's library is there, which assembles text.");
    m.def(
        "archs",
        [] {
            std::vector<std::string> names;
            for (const isa::ArchInfo& a : isa::archs()) names.emplace_back(a.name);
            return names;
        },
        "Architectures that Strata knows by name.");
    m.def(
        "_families",
        [] {
            std::vector<std::pair<std::string, std::string>> found;
            for (const codegen::Chip chip : codegen::chips())
                found.emplace_back(chip.name(),
                                   chip.is_amd() ? kFamilies[static_cast<size_t>(isa::info(chip).family)] : "nvidia");
            return found;
        },
        "(name, family) of the architectures that Strata makes code for.");
    m.attr("_MOST_OF_ONE_ARCH") = providers::kMostOfOneArch;
}

}  // namespace strata::python
