// Strict mode in Python: findings, blocks that collect them, and launches in several orders of waves.
#include <algorithm>
#include <bit>
#include <cstring>

#include "front_end_p.h"
#include "kernels_p.h"
#include "settings_p.h"
#include "strata/asm/lint/lint.h"
#include "strata/asm/llvm/assemble.h"
#include "strata/core/dtype/dtype.h"
#include "strata/ops/custom.h"
#include "strata/providers/report.h"
#include "strata/runtime/custom.h"
#include "strata/runtime/program.h"

namespace strata::python {
namespace {

using providers::CheckFinding;
using providers::Report;

/// The instructions of a finding's kernel from its entry on, or of all of its code where that does not lead to it.
std::vector<isa::DisassembledLine> listing(const CheckFinding& f) {
    const isa::Segment* code = f.code();
    if (!code) return {};
    const isa::CodeObject& object = f.module->object();
    const isa::KernelInfo& info = *object.find(f.kernel);
    const uint64_t entry = info.entry_address - code->address;
    const uint64_t from = f.finding.pc >= entry ? entry : 0;
    auto lines = isa::disassemble_instructions(code->bytes.subspan(from), object.arch,
                                               info.descriptor.wave_size(isa::info(object.arch)))
                     .value();
    for (isa::DisassembledLine& line : lines) line.offset += from;
    return lines;
}

/// The instruction at an offset, with `context` more on either side.
std::vector<std::string> instructions_at(const CheckFinding& f, uint64_t pc, size_t context) {
    const std::vector<isa::DisassembledLine> lines = listing(f);
    const auto at = std::ranges::find(lines, pc, &isa::DisassembledLine::offset);
    std::vector<std::string> out;
    if (at == lines.end()) return out;
    const auto index = static_cast<size_t>(at - lines.begin());
    for (size_t i = index - std::min(index, context); i <= index + context && i < lines.size(); ++i)
        out.push_back(lines[i].text);
    return out;
}

std::string instruction_at(const CheckFinding& f, std::optional<uint64_t> pc) {
    const std::vector<std::string> one = pc ? instructions_at(f, *pc, 0) : std::vector<std::string>{};
    return one.empty() ? "" : one[0];
}

/// "file:line:column", or "" where the code object has no line tables.
std::string source_of(const CheckFinding& f) {
    const isa::Segment* code = f.code();
    return code ? lint::source_of(f.module->object(), *code, f.finding.pc) : "";
}

std::vector<int> lanes_of(const CheckFinding& f) {
    std::vector<int> lanes;
    for (uint64_t left = f.finding.witness ? f.finding.witness->lanes : 0; left; left &= left - 1)
        lanes.push_back(std::countr_zero(left));
    return lanes;
}

void bind_finding(py::module_& e) {
    py::class_<CheckFinding>(e, "Finding",
                             "A finding of strict mode at one instruction of a kernel. str(): for people.")
        .def_property_readonly(
            "kind", [](const CheckFinding& f) { return lint::name(f.finding.kind); }, "'missing-wait', ...")
        .def_readonly("kernel", &CheckFinding::kernel, "The kernel, by its symbol.")
        .def_property_readonly(
            "pc", [](const CheckFinding& f) { return f.finding.pc; }, "Byte offset of the instruction in the code.")
        .def_property_readonly(
            "instruction", [](const CheckFinding& f) { return instruction_at(f, f.finding.pc); },
            "The instruction; '' for a finding about the whole launch.")
        .def_property_readonly(
            "disassembly", [](const CheckFinding& f) { return instructions_at(f, f.finding.pc, 2); },
            "The instruction with two on either side.")
        .def_property_readonly("source", &source_of, "'file:line:column' of the instruction; '' without line tables.")
        .def_property_readonly(
            "what", [](const CheckFinding& f) { return f.finding.what; }, "The fault, with the register or address.")
        .def_property_readonly(
            "fix", [](const CheckFinding& f) { return f.finding.fix; }, "The change that would mend it.")
        .def_property_readonly(
            "earlier", [](const CheckFinding& f) { return instruction_at(f, f.finding.earlier); },
            "The earlier instruction that it conflicts with, or ''.")
        .def_property_readonly(
            "earlier_pc", [](const CheckFinding& f) { return f.finding.earlier; },
            "Byte offset of the earlier instruction, or None.")
        .def_property_readonly(
            "workgroup",
            [](const CheckFinding& f) {
                return f.finding.witness ? std::optional(f.finding.witness->group) : std::nullopt;
            },
            "x, y, z of the workgroup that was first seen doing it; None: of a whole launch.")
        .def_property_readonly(
            "wave",
            [](const CheckFinding& f) {
                return f.finding.witness ? std::optional(f.finding.witness->wave) : std::nullopt;
            },
            "Its wave, counted in the workgroup.")
        .def_property_readonly("lanes", &lanes_of, "Lanes of that wave; none: all of it.")
        .def_property_readonly(
            "address",
            [](const CheckFinding& f) { return f.finding.witness ? f.finding.witness->address : std::nullopt; },
            "The memory address of the first of the lanes, or None.")
        .def_property_readonly(
            "count", [](const CheckFinding& f) { return f.finding.count; }, "How often it was found.")
        .def("__str__", &CheckFinding::text)
        .def("__repr__", [](const CheckFinding& f) { return fmt::format("<Finding {}>", f.line()); });
}

std::string text_of(const Report& report) {
    std::string out;
    for (const CheckFinding& one : report.findings()) out += (out.empty() ? "" : "\n\n") + one.text();
    return out.empty() ? "strict mode found nothing" : out;
}

void bind_report(py::module_& e) {
    py::class_<Report, std::shared_ptr<Report>>(
        e, "Report", "The findings of launches, one for each kind and instruction of a kernel. False when empty.")
        .def_property_readonly("findings", &Report::findings, "In the order in which they were found.")
        .def(
            "to_json", [](const Report& r) { return providers::to_json(r.findings()); },
            "A JSON array, an object a finding.")
        .def("__len__", [](const Report& r) { return r.findings().size(); })
        .def("__iter__", [](const Report& r) { return py::iter(py::cast(r.findings())); })
        .def(
            "__getitem__",
            [](const Report& r, int64_t index) {
                const auto all = r.findings();
                const int64_t at = index < 0 ? index + static_cast<int64_t>(all.size()) : index;
                if (at < 0 || at >= static_cast<int64_t>(all.size())) throw py::index_error();
                return all[static_cast<size_t>(at)];
            },
            py::arg("index"))
        .def("__str__", &text_of)
        .def("__repr__", [](const Report& r) { return fmt::format("<Report of {} findings>", r.findings().size()); });
}

/// A `with strata.emulator.check()` block.
struct CheckBlock {
    std::shared_ptr<Report> report;
    Config config;
};

CheckBlock check(const As<"Literal['report', 'raise']">& mode, bool races) {
    auto report = std::make_shared<Report>();
    const bool is_bool = PyBool_Check(mode.ptr());
    const std::string text = is_bool ? (mode.ptr() == Py_True ? "1" : "0") : py::str(mode).cast<std::string>();
    Changes changes{{{"check", text}}, report};
    if (races) changes.settings.emplace_back("check_races", "1");
    return {report, Config(std::move(changes))};
}

/// Settings for the life of an object.
class Within {
  public:
    explicit Within(Changes changes) : config_(std::move(changes)) { config_.enter(); }
    ~Within() { config_.exit(); }
    Within(const Within&) = delete;

  private:
    Config config_;
};

/// A part of memory that a run left: an argument, a result, a variable of the kernel's module.
struct Left {
    std::string name;
    DType type;
    Shape shape;
    std::vector<uint8_t> bytes;

    static Left of(std::string name, Tensor& t) {
        Left left{std::move(name), t.dtype(), t.shape(), std::vector<uint8_t>(static_cast<size_t>(t.nbytes()))};
        computing([&] { t.to_host(left.bytes.data()); });
        return left;
    }
    size_t width() const { return static_cast<size_t>(type.bytes()); }
    /// "3 (0x00000003)"
    std::string value(size_t element) const {
        uint64_t bits = 0;
        std::memcpy(&bits, bytes.data() + element * width(), width());
        return fmt::format("{} ({:#0{}x})", decode_scalar(type, bits), bits, 2 * width() + 2);
    }
    std::string place(size_t element) const {
        std::string out;
        for (size_t axis = shape.size(); axis-- > 0;) {
            const auto size = static_cast<size_t>(shape[axis]);
            out = fmt::format("{}{}{}", element % size, out.empty() ? "" : ", ", out);
            element /= size;
        }
        return fmt::format("{}[{}]", name, out);
    }
};

using Kernel = std::shared_ptr<runtime::CustomKernel>;
using Variables = std::vector<std::pair<std::string, std::vector<uint8_t>>>;

Variables variables_of(const ops::Variables& module) {
    return computing([&] {
        Variables out;
        for (const std::string& name : module.names()) out.emplace_back(name, module.read(name));
        return out;
    });
}

void restore(const ops::Variables& module, const Variables& variables) {
    computing([&] {
        for (const auto& [name, bytes] : variables) module.write(name, bytes);
    });
}

/// The device of the first tensor among the arguments; "": the default one.
std::string device_of(const py::args& arguments) {
    for (py::handle one : arguments)
        if (py::isinstance<Tensor>(one)) return one.cast<Tensor&>().device().name();
    return "";
}

/// A program that is run in several orders.
class Experiment {
  public:
    Experiment(py::object function, py::args arguments, py::kwargs named)
        : function_(std::move(function)), arguments_(std::move(arguments)), named_(std::move(named)) {
        if (!PyCallable_Check(function_.ptr()))
            user_error(ErrorKind::Usage, "[stable] a kernel or a function was expected, got {}", shown(function_));
        if (!py::isinstance<runtime::CustomKernel>(function_)) return;
        kernel_ = function_.cast<Kernel>();
        device_ = device_of(arguments_);
        module_ = computing([&] { return ops::Variables(kernel_, runtime::device(device_).name()); });
        before_ = variables_of(*module_);
    }
    std::string name() const {
        if (kernel_) return computing([&] { return runtime::program(runtime::device(device_), *kernel_)->code.entry; });
        return py::hasattr(function_, "__name__") ? py::str(function_.attr("__name__")).cast<std::string>() : "";
    }
    /// All memory that it writes with this seed, from the same start.
    std::vector<Left> run(uint64_t seed) const {
        const Within settings({{{"emu_seed", fmt::format("{}", seed)}, {"emu_timed", "0"}}});
        const py::tuple copies = py::module_::import("copy").attr("deepcopy")(arguments_);
        if (kernel_) restore(*module_, before_);
        const py::object result = function_(*copies, **named_);
        std::vector<Left> left;
        for (size_t i = 0; i < copies.size(); ++i) add(left, fmt::format("argument {}", i), copies[i]);
        if (kernel_) {
            for (auto& [variable, bytes] : variables_of(*module_))
                left.push_back({variable, dtypes::uint8, {static_cast<int64_t>(bytes.size())}, std::move(bytes)});
            restore(*module_, before_);
        } else if (py::isinstance<py::tuple>(result) || py::isinstance<py::list>(result)) {
            size_t i = 0;
            for (py::handle one : result) add(left, fmt::format("result {}", i++), one);
        } else {
            add(left, "the result", result);
        }
        return left;
    }

  private:
    static void add(std::vector<Left>& left, std::string name, py::handle value) {
        if (py::isinstance<Tensor>(value)) left.push_back(Left::of(std::move(name), value.cast<Tensor&>()));
    }

    py::object function_;
    py::args arguments_;
    py::kwargs named_;
    Kernel kernel_;
    std::string device_;  ///< of the kernel
    std::optional<ops::Variables> module_;
    Variables before_;
};

/// Where two runs differ in a part of memory, if they do.
std::optional<lint::Finding> difference(const Left& first, const Left& other, uint64_t seed) {
    const size_t width = first.width(), count = first.bytes.size() / width;
    if (first.shape != other.shape || first.type != other.type)
        user_error(ErrorKind::Usage, "[stable] {} has another shape or type in each run", first.name);
    size_t differing = 0, at = 0;
    for (size_t i = count; i-- > 0;)
        if (std::memcmp(&first.bytes[i * width], &other.bytes[i * width], width) != 0) at = i, ++differing;
    if (!differing) return {};
    lint::Finding finding{.kind = lint::Kind::unstable};
    finding.what = fmt::format("{} is {} with emu_seed=0 and {} with emu_seed={}; {} of {} elements differ",
                               first.place(at), first.value(at), other.value(at), seed, differing, count);
    finding.fix = "a barrier between waves that use the same memory; no value that tells which wave came first";
    return finding;
}

std::shared_ptr<Report> stable(py::object function, py::args arguments, int seeds, py::kwargs named) {
    if (seeds < 2) user_error(ErrorKind::Usage, "[stable] seeds is {}; at least 2 orders can differ", seeds);
    const Experiment experiment(std::move(function), std::move(arguments), std::move(named));
    auto report = std::make_shared<Report>();
    const std::vector<Left> first = experiment.run(0);
    std::vector<bool> known(first.size());
    for (int seed = 1; seed < seeds; ++seed) {
        const std::vector<Left> other = experiment.run(static_cast<uint64_t>(seed));
        if (other.size() != first.size())
            user_error(ErrorKind::Usage, "[stable] the function returns another number of tensors in each run");
        for (size_t i = 0; i < first.size(); ++i) {
            if (known[i]) continue;
            const auto found = difference(first[i], other[i], static_cast<uint64_t>(seed));
            if (!found) continue;
            known[i] = true;
            report->add({{*found, experiment.name()}});
        }
    }
    return report;
}

}  // namespace

void bind_strict(py::module_& m) {
    py::module_ e = m.attr("emulator");
    bind_finding(e);
    bind_report(e);
    py::class_<CheckBlock>(e, "Check", "A block in strict mode: what check() returns.")
        .def("__enter__",
             [](const CheckBlock& block) {
                 block.config.enter();
                 return block.report;
             })
        .def("__exit__", [](const CheckBlock& block, const py::args&) { block.config.exit(); });
    e.def("check", &check, py::arg("mode") = "report", py::kw_only(), py::arg("races") = false,
          "with strata.emulator.check() as report: runs the block's launches in strict mode and collects what is "
          "found.\n\n"
          "mode: 'report', or 'raise' for a CheckError at the first finding. Launches that fault or raise are in the "
          "report too. Of blocks in\none another the innermost collects. strata.config(check=...) is the setting "
          "alone. races: workgroups that use the same\nmemory in no order are found too, on one thread.");
    OwnSignature own;
    e.def("stable", &stable, py::arg("function"), py::kw_only(), py::arg("seeds") = 8,
          "stable(function: Callable[..., Any], /, *arguments: KernelArgument, seeds: int = 8, **named: "
          "KernelArgument) -> Report\n\nRuns a kernel or a function of tensors under several orders of its waves and "
          "compares the memory that it leaves, bit by bit.\n\nEach run has copies of the arguments, and a kernel's "
          "module the same variables. All tensors among the arguments and\nresults must end with the same bits, and so "
          "must the variables. function: what is called as function(*arguments,\n**named): a CustomKernel with "
          "grid=... and so on, or any other. Returns a Report with a finding 'unstable' for each\nthat differs.");
}

}  // namespace strata::python
