// Kernels of Python functions on disk, with their machine code, and what else is kept beside them.
#include "front_end_p.h"
#include "lang/lang_p.h"
#include "strata/codegen/driver/compile.h"
#include "strata/core/process/build_id.h"
#include "strata/core/support/disk_cache.h"
#include "strata/core/support/hash.h"
#include "strata/core/support/settings.h"
#include "strata/runtime/artifact.h"
#include "strata/runtime/custom.h"
#include "strata/runtime/device.h"
#include "strata/runtime/program.h"
#include "strata/runtime/search/tuning_record.h"

namespace strata::python {
namespace {

using Kernel = std::shared_ptr<runtime::CustomKernel>;
using SourcePlace = std::tuple<std::string, uint32_t, uint32_t, uint32_t, std::string>;

CacheKind to_kind(const std::string& kind) {
    for (const CacheKind known : {CacheKind::configs, CacheKind::kernels})
        if (kind == name(known)) return known;
    user_error(ErrorKind::Usage, "no kind of cache entry of Python's: '{}'", kind);
}

/// The device of the first tensor that has one, else the default device.
runtime::Device& device_of(const py::sequence& arguments) {
    for (const py::handle given : arguments)
        if (py::isinstance<Tensor>(given))
            if (const runtime::Device* device = given.cast<const Tensor&>().placement())
                return runtime::device(device->index());
    return runtime::device();
}

runtime::Artifact artifact_of(const runtime::CustomKernel& kernel, executable::Code code, const codegen::Target& target,
                              const std::string& key) {
    return {{runtime::at_places_of(kernel, std::move(code))}, target, {}, key, kernel.graph};
}

void bind_kernels_on_disk(py::module_& m) {
    m.def(
        "prepare",
        [](const Kernel& kernel, const py::sequence& launched) {
            runtime::Device& device = device_of(launched);
            return computing([&] {
                (void)runtime::program(device, *kernel);
                const auto* graph = std::get_if<codegen::Kernel>(&kernel->body);
                return kernel->loaded->written_slots(graph ? graph->sink : UOp());
            });
        },
        "Compiles the kernel for the device of the arguments; the places of those that it writes.");
    m.def(
        "artifact",
        [](const Kernel& kernel, const std::string& arch, const std::string& key, const py::object& kept,
           const std::array<int64_t, 3>& grid) -> As<"tuple[Compiled, bytes]"> {
            std::string bytes = kept.is_none() ? std::string() : std::string(kept.cast<py::bytes>());
            runtime::Artifact artifact = computing([&] {
                const codegen::Target target = runtime::target_named(arch);
                if (const Kernel known = runtime::compiled_of_bytes(bytes, target.arch.name()))
                    return artifact_of(*kernel, std::get<executable::Code>(known->body), target, key);
                runtime::CustomKernel without_places = *kernel;
                without_places.places = {};
                Result<executable::Code> made = runtime::compile_custom(without_places, target);
                if (!made) throw Exception(runtime::at_places_of(*kernel, made.error()));
                bytes = made->object ? runtime::bytes_of_compiled(*kernel, *made, target.arch.name()) : std::string();
                return artifact_of(*kernel, *std::move(made), target, key);
            });
            artifact.graph = Root(graph_of_launch(kernel, grid));
            return py::object(py::make_tuple(artifact, py::bytes(bytes)));
        },
        py::arg("kernel"), py::arg("arch"), py::arg("key"), py::arg("kept"), py::arg("grid"),
        "The compiled kernel, by bytes that it gave before, or None; and such bytes, empty where there are "
        "none.");
}

}  // namespace

void bind_lang_disk(py::module_& m) {
    m.def(
        "arch_of", [](const py::sequence& arguments) { return std::string(device_of(arguments).arch().name()); },
        "The arch of the device where the first tensor is that has one; else of the default device.");
    m.def(
        "interprets", [](const py::sequence& arguments) { return device_of(arguments).interprets(); },
        "True if that device interprets graphs and runs no code.");
    m.def(
        "toolchain_of",
        [](const std::string& arch) {
            return computing([&] {
                if (build_id().empty() || !DiskCache::of_settings().enabled()) return std::string();
                const codegen::Target target = runtime::target_named(arch);
                return fmt::format("{} {} {}", content_hash(build_id()), settings().target,
                                   codegen::compiler_identity(target));
            });
        },
        "What makes code of graphs, with its version; empty where nothing is kept on disk.");
    m.def(
        "model_of", [](const py::sequence& arguments) { return runtime::model_of(device_of(arguments)); },
        "The card of that device, and its driver.");
    m.def("route", [] { return settings().target; });
    m.def(
        "disk_get", [](const std::string& kind, const std::string& key) -> As<"bytes | None"> {
            const std::optional<std::string> found = DiskCache::of_settings().get(to_kind(kind), key);
            return found ? py::object(py::bytes(*found)) : py::object(py::none());
        });
    m.def("disk_put", [](const std::string& kind, const std::string& key, const py::bytes& payload) {
        DiskCache::of_settings().put(to_kind(kind), key, std::string(payload));
    });
    m.def(
        "compiled_bytes", [](const Kernel& kernel, const py::sequence& launched) -> As<"bytes | None"> {
            runtime::Device& device = device_of(launched);
            const auto bytes = computing([&] { return runtime::bytes_of_compiled(*kernel, device); });
            return bytes ? py::object(py::bytes(*bytes)) : py::object(py::none());
        },
        "The kernel with its machine code for the device of the arguments; None where there is none.");
    m.def(
        "compiled_kernel",
        [](const py::bytes& bytes, const py::sequence& launched,
           const std::vector<SourcePlace>& places) -> As<"CustomKernel | None"> {
            std::vector<isa::SourceLine> lines;
            for (const auto& [file, line, column, end_column, text] : places)
                lines.push_back({file, line, column, end_column, text});
            const Kernel kernel =
                runtime::compiled_of_bytes(std::string(bytes), device_of(launched).arch().name(), std::move(lines));
            return kernel ? py::cast(kernel) : py::object(py::none());
        },
        "The kernel of such bytes, without its graph; places: as places_of gave them for the kernel.");
    m.def(
        "places_of",
        [](const runtime::CustomKernel& kernel) {
            std::vector<SourcePlace> places;
            for (const isa::SourceLine& at : kernel.places.places)
                places.emplace_back(at.file, at.line, at.column, at.end_column, at.text);
            return places;
        },
        "Where its operations come from: (file, line, first column, the first one after it, text of the line).");
    bind_kernels_on_disk(m);
}

}  // namespace strata::python
