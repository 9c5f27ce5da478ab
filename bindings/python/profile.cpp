// Results of profiled launches, as Python's own values: strata/_profile.py makes tables and traces of it.
#include <map>
#include <optional>

#include "convert_p.h"
#include "front_end_p.h"
#include "settings_p.h"
#include "strata/asm/llvm/assemble.h"
#include "strata/asm/object/line_table.h"
#include "strata/core/support/settings.h"
#include "strata/providers/emulated.h"
#include "strata/runtime/profiler.h"

namespace strata::python {
namespace {

using emu::InstructionProfile;
using runtime::ProfiledLaunch;

/// The code of a launched kernel: its instructions and where they come from.
class Listing {
  public:
    explicit Listing(const ProfiledLaunch& launch) : object_(*launch.kernel->object) {
        const isa::KernelInfo* const info = object_.find(launch.launch.name);
        text_ = info ? object_.code_at(info->entry_address) : nullptr;
        if (!text_) return;
        entry_ = info->entry_address - text_->address;
        Result<isa::LineTable> table = isa::LineTable::read(object_);
        if (table) lines_ = std::move(*table);
        auto found = isa::disassemble_instructions(text_->bytes.subspan(entry_), object_.arch,
                                                   info->descriptor.wave_size(isa::info(object_.arch)));
        if (!found) return;
        for (isa::DisassembledLine& line : *found) instructions_.emplace(line.offset + entry_, std::move(line.text));
    }
    void describe(uint64_t pc, py::dict& out) const {
        out["pc"] = pc - std::min(pc, entry_);
        const auto at = instructions_.find(pc);
        out["index"] = std::distance(instructions_.begin(), at);
        out["instruction"] = at == instructions_.end() ? "" : at->second;
        const isa::SourceLine line = text_ ? lines_.find(text_->address + pc) : isa::SourceLine{};
        out["file"] = line.file, out["line"] = line.line;
    }

  private:
    const isa::CodeObject& object_;
    const isa::Segment* text_ = nullptr;
    uint64_t entry_ = 0;
    isa::LineTable lines_;
    std::map<uint64_t, std::string> instructions_;
};

py::list instructions_of(const emu::LaunchProfile& profile, const Listing& listing) {
    py::list out;
    for (const InstructionProfile& one : profile.instructions) {
        py::dict row;
        listing.describe(one.pc, row);
        row["runs"] = one.runs, row["stall_cycles"] = one.stalled;
        row["lines"] = one.lines, row["lds_conflict_cycles"] = one.conflicts;
        row["waited_for"] = py::none();
        if (one.waited_for != InstructionProfile::kNobody) {
            py::dict cause;
            listing.describe(one.waited_for, cause);
            row["waited_for"] = cause;
        }
        out.append(row);
    }
    return out;
}

py::list waves_of(const emu::LaunchProfile& profile, const Listing& listing) {
    const double us = 1 / profile.mhz;
    py::list out;
    for (const emu::WaveSpan& wave : profile.waves_of_first) {
        py::list stalls;
        for (const auto& [from, to, pc] : wave.stalls) {
            py::dict stall;
            listing.describe(pc, stall);
            stall["start_us"] = from * us, stall["end_us"] = to * us;
            stalls.append(stall);
        }
        py::dict one;
        one["end_us"] = wave.end * us, one["stalls"] = stalls;
        out.append(one);
    }
    return out;
}

py::dict model_of(const emu::LaunchProfile& p, const Listing& listing) {
    py::dict out, parts;
    for (size_t i = 0; i < p.estimate.parts.size(); ++i)
        parts[py::str(std::string(emu::kBounds[i]))] = p.estimate.parts[i];
    out["model"] = p.model, out["mhz"] = p.mhz, out["cycles"] = p.estimate.cycles;
    out["bound"] = emu::name(p.estimate.bound()), out["bound_cycles"] = parts;
    out["waves_per_simd"] = p.residency.waves_per_simd, out["most_waves_per_simd"] = p.residency.most_waves_per_simd;
    out["occupancy"] = p.residency.waves_per_simd / p.residency.most_waves_per_simd;
    out["occupancy_limit"] = emu::name(p.residency.limit);
    out["l2_bytes"] = p.estimate.l2_bytes, out["infinity_cache_bytes"] = p.estimate.llc_bytes;
    out["dram_bytes"] = p.estimate.dram_bytes, out["least_bytes"] = p.least_bytes;
    out["lds_cycles"] = p.local_cycles, out["lds_conflict_cycles"] = p.local_conflicts;
    out["lds"] = p.lds, out["waves"] = p.waves, out["measured_workgroups"] = p.measured;
    out["instructions"] = instructions_of(p, listing);
    out["waves_of_first_workgroup"] = waves_of(p, listing);
    return out;
}

/// Parts that launches have in common become Python's once.
struct Shared {
    std::map<const runtime::ProfiledKernel*, py::dict> kernels = {};
    std::map<const emu::LaunchProfile*, py::dict> models = {};
};

py::dict kernel_of(const ProfiledLaunch& launch) {
    py::dict out;
    out["device"] = launch.kernel->device, out["modelled"] = launch.kernel->modelled;
    if (const isa::KernelInfo* const info = launch.kernel->object->find(launch.launch.name))
        out["vgprs"] = info->vgprs, out["sgprs"] = info->sgprs;
    out["source"] = launch.kernel->text, out["assembly"] = launch.kernel->assembly;
    return out;
}

py::dict as_dict(const ProfiledLaunch& launch, Shared& shared) {
    const runtime::Stats::Launch& l = launch.launch;
    py::dict out;
    out["kernel"] = l.name, out["grid"] = py::make_tuple(l.grid[0], l.grid[1], l.grid[2]);
    out["block"] = py::make_tuple(l.block[0], l.block[1], l.block[2]);
    const auto add = [&](const py::dict& values) {
        if (PyDict_Update(out.ptr(), values.ptr())) throw py::error_already_set();
    };
    const auto [kernel, first] = shared.kernels.try_emplace(launch.kernel.get());
    if (first) kernel->second = kernel_of(launch);
    add(kernel->second);
    out["time_ms"] = l.time_ms, out["wall_ms"] = l.wall_ms, out["buffer_bytes"] = l.bytes, out["flops"] = l.flops;
    if (const auto& profile = l.report.profile) {
        const auto [model, unknown] = shared.models.try_emplace(profile.get());
        if (unknown) model->second = model_of(*profile, Listing(launch));
        add(model->second);
    }
    return out;
}

/// A `with strata.profile()` block.
class ProfileBlock {
  public:
    void enter() {
        profiler_ = std::make_shared<runtime::Profiler>(std::static_pointer_cast<runtime::Profiler>(around()));
        config_.emplace(Changes{{}, {}, profiler_});
        config_->enter();
    }
    void exit() {
        if (config_) config_->exit();
        config_.reset();
    }
    py::list launches() const {
        py::list out;
        Shared shared;
        if (profiler_)
            for (const ProfiledLaunch& launch : profiler_->launches()) out.append(as_dict(launch, shared));
        return out;
    }

  private:
    static std::shared_ptr<void> around() {
        const std::shared_ptr<const Settings> here = settings_of_context();
        return here ? here->profiler : nullptr;
    }
    std::shared_ptr<runtime::Profiler> profiler_;
    std::optional<Config> config_;
};

}  // namespace

void bind_profile(py::module_& m) {
    py::class_<ProfileBlock>(m, "_ProfileBlock", "The collector of strata.profile().")
        .def(py::init<>())
        .def("enter", &ProfileBlock::enter)
        .def("exit", &ProfileBlock::exit)
        .def(
            "launches",
            [](const ProfileBlock& block) -> As<"list[dict[str, Any]]"> { return py::object(block.launches()); },
            "A dict for each launch since enter(), in their order. Equal parts are the same objects.");
}

}  // namespace strata::python
