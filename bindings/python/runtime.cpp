#include "convert_p.h"
#include "strata/asm/isa/arch.h"
#include "strata/asm/llvm/assemble.h"
#include "strata/core/support/settings.h"
#include "strata/runtime/device.h"
#include "strata/runtime/realize.h"

namespace strata::python {
namespace {

/// Settings of a `with strata.config(...)` block: one C++ scope, entered and left with the block.
class Config {
  public:
    explicit Config(const py::kwargs& changes) : changes_(changes) { (void)changed(); }
    Config(const Config&) = delete;
    void enter() { scopes_.push_back(std::make_unique<ScopedSettings>(changed())); }
    void exit() { scopes_.pop_back(); }

  private:
    Settings changed() const {
        Settings s = settings();
        for (auto [key, value] : changes_) {
            std::string name = py::str(key);
            if (name == "beam")
                s.beam = number(name, value, 0, 1000);
            else if (name == "debug")
                s.debug = number(name, value, 0, 7);
            else if (name == "emu_threads")
                s.emu_threads = number(name, value, 0, 1024);
            else if (name == "emu_seed")
                s.emu_seed = value.cast<uint64_t>();
            else if (name == "emu_check")
                s.emu_check = value.cast<bool>();
            else if (name == "emu_ordered")
                s.emu_ordered = value.cast<bool>();
            else if (name == "emu_fidelity")
                s.emu_fidelity = value.cast<bool>();
            else if (name == "emu_budget")
                s.emu_budget = value.cast<uint64_t>();
            else if (name == "no_cache")
                s.no_cache = value.cast<bool>();
            else if (name == "cache_dir")
                s.cache_dir = py::str(value);
            else if (name == "emu_model")
                s.emu_model = py::str(value);
            else if (name == "device")
                s.device = runtime::device(py::str(value).cast<std::string>()).name();
            else if (name == "target")
                s.target = target(py::str(value));
            else
                user_error(ErrorKind::Usage,
                           "config has no setting '{}'; known: beam, target, device, debug, cache_dir, no_cache, "
                           "emu_threads, emu_seed, emu_check, emu_ordered, emu_fidelity, emu_budget, emu_model",
                           name);
        }
        return s;
    }
    static int number(const std::string& name, py::handle value, int low, int high) {
        int n = value.cast<int>();
        if (n < low || n > high) user_error(ErrorKind::Usage, "config({}={}): expected {} to {}", name, n, low, high);
        return n;
    }
    static std::string target(const std::string& name) {
        if (name == "asm")
            user_error(ErrorKind::Unsupported,
                       "target 'asm' (direct lowering) is not available in this version; use 'hip'");
        if (name != "hip") user_error(ErrorKind::Usage, "unknown target '{}'; known: hip, asm", name);
        return name;
    }
    py::kwargs changes_;
    std::vector<std::unique_ptr<ScopedSettings>> scopes_;
};

void bind_stats(py::module_& m) {
    using runtime::Stats;
    py::class_<Stats::Launch>(m, "Launch", "One kernel launch.")
        .def_readonly("name", &Stats::Launch::name)
        .def_readonly("grid", &Stats::Launch::grid)
        .def_readonly("block", &Stats::Launch::block)
        .def_readonly("time_ms", &Stats::Launch::time_ms, "Modelled on an emulated device.")
        .def_readonly("wall_ms", &Stats::Launch::wall_ms, "What the launch took on this machine.")
        .def_readonly("compile_ms", &Stats::Launch::compile_ms)
        .def_readonly("bytes", &Stats::Launch::bytes)
        .def_readonly("flops", &Stats::Launch::flops)
        .def_readonly("wave_instructions", &Stats::Launch::wave_instructions)
        .def_readonly("instructions", &Stats::Launch::instructions,
                      "With config(emu_fidelity=True): an emulator.InstructionUse for each instruction of the kernel.");
    py::class_<Stats>(m, "Stats", "Counters since reset_stats().")
        .def_readonly("kernels", &Stats::kernels)
        .def_readonly("time_ms", &Stats::time_ms, "Milliseconds on the device; modelled where `modelled` is true.")
        .def_readonly("modelled", &Stats::modelled)
        .def_readonly("bytes", &Stats::bytes, "Size of all buffers that kernels were given.")
        .def_readonly("flops", &Stats::flops)
        .def_readonly("compile_ms", &Stats::compile_ms)
        .def_readonly("schedule_ms", &Stats::schedule_ms)
        .def_readonly("wall_ms", &Stats::wall_ms)
        .def_readonly("launches", &Stats::launches, "The last 4096 launches.")
        .def("__repr__", [](const Stats& s) {
            return fmt::format("<Stats kernels={} time_ms={:.4f}{} bytes={} flops={}>", s.kernels, s.time_ms,
                               s.modelled ? " (modelled)" : "", s.bytes, s.flops);
        });
    m.def("stats", &runtime::stats, "Kernels, time, bytes and operations since reset_stats().");
    m.def("reset_stats", &runtime::reset_stats);
}

}  // namespace

void bind_runtime(py::module_& m) {
    py::class_<Config>(
        m, "config",
        "with strata.config(beam=2, device='emu:gfx1100', debug=1): settings for a block; wins over the environment.")
        .def(py::init([](const py::kwargs& changes) { return std::make_unique<Config>(changes); }))
        .def(
            "__enter__",
            [](Config& c) -> Config& {
                c.enter();
                return c;
            },
            py::return_value_policy::reference_internal)
        .def("__exit__", [](Config& c, const py::args&) { c.exit(); });
    bind_stats(m);
    m.def("devices", &runtime::known_devices, "Names that a device can be opened by.");
    m.def("default_device", [] { return runtime::device().name(); });
    m.def(
        "realize",
        [](py::object tensors) {
            // A tensor is a sequence of rows made on the way: it is not taken for a list.
            py::list all = py::isinstance<Tensor>(tensors) ? py::list(py::make_tuple(tensors)) : py::list(tensors);
            std::vector<Tensor*> wanted;
            for (py::handle t : all) {
                if (!py::isinstance<Tensor>(t))
                    user_error(ErrorKind::Usage, "[realize] a tensor was expected, got {}",
                               py::repr(t).cast<std::string>());
                wanted.push_back(t.cast<Tensor*>());
            }
            py::gil_scoped_release release;
            Tensor::realize(wanted);
        },
        py::arg("tensors"), "Computes a tensor or several, together: shared work is done once.");
    m.def(
        "device_properties",
        [](const std::string& name) {
            runtime::Device& d = runtime::device(name);
            hip::DeviceProperties p = d.api().device_properties(d.ordinal()).value();
            py::dict out;
            out["name"] = p.name, out["arch"] = p.arch, out["warp_size"] = p.warp_size, out["max_block"] = p.max_block;
            out["lds_per_block"] = p.lds_per_block, out["max_grid"] = p.max_grid, out["emulated"] = d.emulated();
            return out;
        },
        py::arg("device") = "");
    m.def(
        "settings",
        [] {
            const Settings& s = settings();
            py::dict out;
            out["device"] = s.device, out["target"] = s.target, out["beam"] = s.beam, out["debug"] = s.debug,
            out["cache_dir"] = s.cache_dir;
            out["no_cache"] = s.no_cache, out["emu_threads"] = s.emu_threads, out["emu_seed"] = s.emu_seed,
            out["emu_check"] = s.emu_check, out["emu_ordered"] = s.emu_ordered, out["emu_fidelity"] = s.emu_fidelity;
            out["emu_budget"] = s.emu_budget;
            out["emu_model"] = s.emu_model;
            return out;
        },
        "The settings in force.");
    m.def("llvm_available", &isa::llvm_available);
    m.def("archs", [] {
        std::vector<std::string> names;
        for (const isa::ArchInfo& a : isa::archs()) names.emplace_back(a.name);
        return names;
    });
}

}  // namespace strata::python
