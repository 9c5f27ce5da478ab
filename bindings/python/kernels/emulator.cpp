#include <pybind11/numpy.h>

#include <utility>

#include "convert_p.h"
#include "front_end_p.h"
#include "strata/asm/emu/coverage.h"
#include "strata/asm/emu/fidelity.h"
#include "strata/asm/emu/run_wave.h"
#include "strata/asm/isa/arch.h"
#include "strata/asm/object/code_object.h"
#include "strata/core/support/mutex.h"

namespace strata::python {
namespace {

using Words = py::array_t<uint32_t, py::array::c_style | py::array::forcecast>;

struct WaveState {
    py::array_t<uint32_t> vgpr, sgpr;
    py::array_t<uint8_t> lds;
    uint64_t exec_mask, vcc;
    uint32_t m0, mode;
    bool scc;
    uint64_t instructions, pc;
};

/// An integer argument from 0 to `most`.
uint64_t whole_number(std::string_view name, py::handle given, uint64_t most) {
    const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(given.ptr()));
    if (!number) throw py::error_already_set();
    const uint64_t value = PyLong_AsUnsignedLongLong(number.ptr());
    const bool fits = !PyErr_Occurred() && value <= most;
    PyErr_Clear();
    if (!fits)
        user_error(ErrorKind::Usage, "[run_wave] {} is {}; it is from 0 to {}", name,
                   py::str(number).cast<std::string>(), most);
    return value;
}

/// The integers of an array as registers; negative ones as their two's complement.
template <class T>
Words integer_words(std::string_view name, const py::array& array) {
    const auto values = py::array_t < T, py::array::c_style | py::array::forcecast > ::ensure(array);
    Words words(std::vector<py::ssize_t>(values.shape(), values.shape() + values.ndim()));
    for (py::ssize_t i = 0; i < values.size(); ++i) {
        const T value = values.data()[i];
        if (std::cmp_less(value, INT32_MIN) || std::cmp_greater(value, UINT32_MAX))
            user_error(ErrorKind::Usage, "[run_wave] {} has the value {}, which no 32-bit register holds", name, value);
        words.mutable_data()[i] = static_cast<uint32_t>(value);
    }
    return words;
}

/// An array of registers: integers by their values, 32-bit floats by their bits.
Words register_words(std::string_view name, const py::object& given) {
    const auto array = py::array::ensure(given);
    if (array) {
        const char kind = array.dtype().kind();
        if (kind == 'f' && array.itemsize() == 4) return Words::ensure(array.attr("view")("uint32"));
        if (kind == 'u') return integer_words<uint64_t>(name, array);
        if (kind == 'i' || kind == 'b' || array.size() == 0) return integer_words<int64_t>(name, array);
    }
    PyErr_Clear();
    user_error(ErrorKind::Usage,
               "[run_wave] {} is an array of 32-bit registers: uint32, integers that fit them, or float32 for their "
               "bits (of other floats take .view(\"uint32\"))",
               name);
}

void fill_vgprs(emu::WaveRun& run, int most, const py::object& given) {
    if (given.is_none()) return;
    const Words rows = register_words("vgpr", given);
    if (rows.ndim() != 2 || rows.shape(0) > most || rows.shape(1) != run.wave_size)
        user_error(ErrorKind::Usage, "[run_wave] vgpr is a uint32 array (registers <= {}, {} lanes)", most,
                   run.wave_size);
    run.vgpr.assign(rows.data(), rows.data() + rows.size());
}

void fill_sgprs(emu::WaveRun& run, const py::object& given) {
    if (given.is_none()) return;
    const Words values = register_words("sgpr", given);
    if (values.ndim() != 1 || values.shape(0) > 106)
        user_error(ErrorKind::Usage, "[run_wave] sgpr is a 1-D uint32 array of at most 106 registers");
    std::copy_n(values.data(), values.size(), run.sgpr.begin());
}

/// The bytes of an array whose elements are contiguous.
std::span<uint8_t> contiguous_bytes(std::string_view what, const py::buffer_info& info) {
    py::ssize_t stride = info.itemsize;
    for (size_t i = info.shape.size(); i-- > 0; stride *= info.shape[i])
        if (info.shape[i] > 1 && info.strides[i] != stride)
            user_error(ErrorKind::Usage, "[run_wave] {} is not contiguous: copy it first (numpy.ascontiguousarray)",
                       what);
    return {static_cast<uint8_t*>(info.ptr), static_cast<size_t>(info.size * info.itemsize)};
}

py::buffer_info buffer_of(std::string_view what, const py::handle& given, bool writable) {
    if (PyObject_CheckBuffer(given.ptr())) try {
            return py::reinterpret_borrow<py::buffer>(given).request(writable);
        } catch (py::error_already_set& e) {
            if (!e.matches(PyExc_Exception)) throw;  // Ctrl-C
        }
    user_error(ErrorKind::Usage, "[run_wave] {} takes {}array or bytearray, not {}", what,
               writable ? "a writable " : "a number of bytes, bytes, an ", Py_TYPE(given.ptr())->tp_name);
}

void map_memory(emu::WaveRun& run, const py::object& given, std::vector<py::buffer_info>& held) {
    if (given.is_none()) return;
    if (!PyMapping_Check(given.ptr()) || !py::hasattr(given, "items"))
        user_error(ErrorKind::Usage, "[run_wave] memory is a dict {{address: writable array}}");
    for (auto [address, array] : py::dict(given)) {
        const auto at = whole_number("an address of memory", address, UINT64_MAX);
        held.push_back(buffer_of("memory", array, true));
        const std::span<uint8_t> bytes = contiguous_bytes("an array of memory", held.back());
        if (bytes.size() > UINT64_MAX - at)
            user_error(ErrorKind::Usage, "[run_wave] {} bytes of memory at {:#x} go past the last address",
                       bytes.size(), at);
        run.memory.push_back({at, bytes});
    }
}

void fill_lds(emu::WaveRun& run, const isa::ArchInfo& arch, const py::object& given) {
    const auto most = static_cast<uint64_t>(arch.lds_bytes);
    auto check = [&](uint64_t size) {
        if (size > most)
            user_error(ErrorKind::Usage, "[run_wave] lds is {} bytes; a workgroup of {} has at most {}", size,
                       arch.name, most);
        return size;
    };
    if (PyIndex_Check(given.ptr()) && !py::isinstance<py::array>(given)) {
        run.lds.assign(check(whole_number("lds", given, UINT64_MAX)), 0);
        return;
    }
    const py::buffer_info info = buffer_of("lds", given, false);
    const std::span<uint8_t> bytes = contiguous_bytes("lds", info);
    check(bytes.size());
    run.lds.assign(bytes.begin(), bytes.end());
}

using Registers = As<"ArrayLike | None">;
using Bytes = As<"int | bytes | NDArray[Any]">;
using Memory = As<"Mapping[int, NDArray[Any] | bytearray] | None">;

/// pybind11 looks NumPy's functions up on first use, and gives up the GIL there.
void find_numpy() {
    static Mutex one_at_a_time;
    std::lock_guard lock(one_at_a_time);
    HoldUpTheEnd until_found;
    (void)py::detail::npy_api::get();
}

WaveState run_wave(const std::string& arch_name, const py::bytes& code, const Registers& vgpr, const Registers& sgpr,
                   std::optional<uint64_t> exec_mask, uint64_t vcc, int scc, uint32_t m0, std::optional<uint32_t> mode,
                   const Bytes& lds, uint32_t scratch, const Memory& memory, std::optional<int> wave_size,
                   uint64_t max_instructions) {
    find_numpy();
    isa::Arch arch = isa::parse_arch(arch_name).value();
    emu::WaveRun run;
    run.wave_size = wave_size.value_or(isa::info(arch).wave_size);
    if (run.wave_size != 32 && run.wave_size != 64)
        user_error(ErrorKind::Usage, "[run_wave] wave_size is 32 or 64, got {}", run.wave_size);
    run.exec = exec_mask.value_or(run.wave_size == 32 ? 0xffffffffull : ~0ull);
    run.vcc = vcc, run.scc = scc != 0, run.m0 = m0, run.scratch = scratch, run.max_instructions = max_instructions;
    if (mode) run.mode = *mode;
    std::vector<py::buffer_info> held;
    fill_vgprs(run, isa::info(arch).max_vgprs, vgpr);
    fill_sgprs(run, sgpr);
    fill_lds(run, isa::info(arch), lds);
    map_memory(run, memory, held);
    std::string_view bytes = code;
    computing(
        [&] { emu::run_wave(arch, {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, run).value(); });
    std::vector<py::ssize_t> shape{isa::info(arch).max_vgprs, run.wave_size};
    return {py::array_t<uint32_t>(shape, run.vgpr.data()),
            py::array_t<uint32_t>(static_cast<py::ssize_t>(run.sgpr.size()), run.sgpr.data()),
            py::array_t<uint8_t>(static_cast<py::ssize_t>(run.lds.size()), run.lds.data()),
            run.exec,
            run.vcc,
            run.m0,
            run.mode,
            run.scc,
            run.instructions,
            run.pc};
}

struct FormatCoverage {
    std::string format;
    int rows, executed, graphics;
    std::vector<std::string> missing;
};

std::vector<FormatCoverage> coverage(const std::string& arch_name) {
    std::vector<FormatCoverage> out;
    for (const emu::FormatCoverage& format : emu::coverage(isa::parse_arch(arch_name).value()))
        out.push_back({std::string(isa::name(format.format)),
                       format.rows,
                       format.executed,
                       format.graphics,
                       {format.missing.begin(), format.missing.end()}});
    return out;
}

std::vector<emu::InstructionUse> fidelity(const py::bytes& code_object, const std::string& kernel) {
    std::string_view bytes = code_object;
    isa::CodeObject object = isa::CodeObject::parse(isa::Bytes(bytes.begin(), bytes.end())).value();
    const std::string name = kernel.empty() && !object.kernels.empty() ? object.kernels[0].name : kernel;
    return computing([&] { return emu::kernel_fidelity(object, name).value(); });
}

void bind_fidelity(py::module_& e) {
    using emu::InstructionUse;
    py::class_<InstructionUse>(e, "InstructionUse",
                               "An instruction of a kernel and how near its results are to silicon's.")
        .def_readonly("mnemonic", &InstructionUse::mnemonic, "'v_exp_f32', ...")
        .def_readonly("count", &InstructionUse::count, "In the code.")
        .def_readonly("executed", &InstructionUse::executed,
                      "By the waves of a launch (Launch.instructions); None: nobody counted.")
        .def_property_readonly(
            "level", [](const InstructionUse& use) { return emu::name(use.fidelity.level); },
            "exact: the ISA document fixes every bit. silicon: the bits that chips were seen to give. ulp: within the "
            "document's error band. approximate: the document says too little.")
        .def_property_readonly(
            "documented_ulp", [](const InstructionUse& use) { return use.fidelity.documented_ulp; },
            "The ISA document's error band, of level ulp; else 0.")
        .def_property_readonly(
            "source", [](const InstructionUse& use) { return use.fidelity.source; },
            "Documents and chapters that give the band, who saw silicon's bits, or \"no documented bound\".")
        .def_property_readonly(
            "here", [](const InstructionUse& use) { return use.fidelity.here; },
            "The emulator's choices where documents leave it free.");
    e.def("fidelity", &fidelity, py::arg("code_object"), py::arg("kernel") = "",
          "The instructions a kernel's code can reach, with how near their results are to silicon's.\n\n"
          "kernel: the first one when empty. What a launch ran: with strata.config(emu_fidelity=True), "
          "strata.stats().launches[-1].instructions.\nRaises UsageError (no such kernel), Unsupported (an instruction "
          "that is not executed).");
}

}  // namespace

void bind_emulator(py::module_& m) {
    py::module_ e = m.def_submodule("emulator", "The emulated GPU below the HIP interface: single waves.");
    py::class_<WaveState>(e, "WaveState", "A wave's registers after its last instruction.")
        .def_readonly(
            "vgpr", &WaveState::vgpr,
            "uint32 (256, lanes); gfx942 and gfx90a: (512, lanes), the accumulation registers from row 256 on.")
        .def_readonly("sgpr", &WaveState::sgpr, "uint32 (106,).")
        .def_readonly("lds", &WaveState::lds, "uint8 (size,).")
        .def_readonly("exec_mask", &WaveState::exec_mask, "One bit a lane.")
        .def_readonly("vcc", &WaveState::vcc, "One bit a lane.")
        .def_readonly("scc", &WaveState::scc, "The scalar condition code.")
        .def_readonly("m0", &WaveState::m0, "Register m0.")
        .def_readonly("mode", &WaveState::mode, "Register MODE: rounding, denormals, exceptions.")
        .def_readonly("instructions", &WaveState::instructions, "Instructions run.")
        .def_readonly("pc", &WaveState::pc, "Byte offset of the last instruction.");
    py::class_<FormatCoverage>(e, "FormatCoverage", "How many instruction forms of one encoding format execute.")
        .def_readonly("format", &FormatCoverage::format, "'VOP3', ...")
        .def_readonly("rows", &FormatCoverage::rows, "Instruction forms in the table.")
        .def_readonly("executed", &FormatCoverage::executed, "Forms that execute.")
        .def_readonly("graphics", &FormatCoverage::graphics,
                      "Image, export, ray-tracing and parameter instructions: not executed.")
        .def_readonly("missing", &FormatCoverage::missing,
                      "Compute instructions that are refused when code is loaded.");
    e.def("coverage", &coverage, py::arg("arch"),
          "The instructions that the emulator executes of an instruction set (\"gfx1100\", ...), by encoding format. "
          "Raises UsageError "
          "for "
          "an unknown arch.");
    bind_fidelity(e);
    e.def(
        "run_wave", &run_wave, py::arg("arch"), py::arg("code"), py::kw_only(), py::arg("vgpr") = py::none(),
        py::arg("sgpr") = py::none(), py::arg("exec_mask") = py::none(), py::arg("vcc") = 0, py::arg("scc") = 0,
        py::arg("m0") = 0, py::arg("mode") = py::none(), py::arg("lds") = 65536, py::arg("scratch") = 0,
        py::arg("memory") = py::none(), py::arg("wave_size") = py::none(), py::arg("max_instructions") = 1'000'000,
        "Runs one wave as a workgroup of its own until s_endpgm and returns its WaveState.\n\n"
        "code: machine code. vgpr: uint32 (registers <= 256 or 512, lanes); sgpr: uint32 (<= 106,), or float32 for its "
        "bits; missing registers are 0.\nexec_mask: all lanes by default. lds: size in bytes or initial bytes, at most "
        "the arch's. scratch: bytes a lane. memory: {address: writable contiguous\narray}, mapped there and changed in "
        "place. wave_size: 32 or "
        "64, the arch's own by default.\nRaises MemoryFault (a bad address, more than max_instructions), "
        "Unsupported (an instruction that is not executed),\nUsageError.");
}

}  // namespace strata::python
