#include <pybind11/stl.h>

#include <deque>
#include <set>
#include <sstream>

#include "convert_p.h"
#include "front_end_p.h"
#include "strata/asm/dsl/assembler.h"
#include "strata/asm/isa/inst.h"
#include "strata/asm/llvm/assemble.h"

namespace strata::python {
namespace {

std::span<const uint8_t> as_span(const py::bytes& data) {
    std::string_view view = data;
    return {reinterpret_cast<const uint8_t*>(view.data()), view.size()};
}
template <class T>
py::bytes as_bytes(const std::vector<T>& data) {
    return py::bytes(reinterpret_cast<const char*>(data.data()), data.size() * sizeof(T));
}

/// Bare instructions by Strata's own assembler; by LLVM's where the text has what only that reads, and for its words
/// about a wrong one.
Result<std::vector<uint32_t>> instructions_of(const std::string& text, isa::Arch arch, int wave_size) {
    isa::Assembler assembler(arch, wave_size);
    std::istringstream lines(text);
    int number = 0;
    for (std::string line; !assembler.error() && std::getline(lines, line);)
        assembler.emit_line(line, isa::Location("<asm>", ++number));
    Result<std::vector<uint32_t>> words = assembler.words();
    if (words) return words;
    Result<std::vector<uint32_t>> by_llvm = isa::assemble_instructions(text, arch, wave_size);
    return !by_llvm && by_llvm.error().kind == ErrorKind::Device ? words : by_llvm;
}

/// The typed assembler's core; the Python package spells its instructions and places.
class PyAssembler {
  public:
    PyAssembler(const std::string& arch, int wave_size)
        : arch_(isa::parse_arch(arch).value()), assembler_(arch_, wave_size) {}

    void emit_line(const std::string& line, const std::string& file, int number) {
        files_.push_back(file);
        assembler_.emit_line(line, isa::Location(files_.back(), number));
        raise();
    }
    uint32_t add_argument(const std::string& name, const std::string& kind, uint32_t size) {
        uint32_t at = assembler_.add_argument({name, kind, size});
        raise();
        return at;
    }
    uint32_t declare_lds(uint32_t bytes, uint32_t align) {
        uint32_t at = assembler_.declare_lds(bytes, align);
        raise();
        return at;
    }
    uint32_t add_constants(const py::bytes& data, uint32_t align, const std::string& file, int number) {
        files_.push_back(file);
        const isa::Constants constants =
            assembler_.constants(as_span(data), align, isa::Location(files_.back(), number));
        raise();
        return constants.offset;
    }
    void emit_address(uint32_t offset, const std::string& pair, const std::string& file, int number) {
        files_.push_back(file);
        const isa::Location where(files_.back(), number);
        const auto operand = isa::DynOperand::parse(pair);
        if (operand) assembler_.address_of(isa::Constants{offset}, *operand, where);
        if (!operand) assembler_.fail(operand.error(), where);
        raise();
    }
    py::bytes code() const { return as_bytes(assembler_.words().value()); }
    py::bytes finish(const std::string& name, std::array<uint32_t, 3> block, int grid_dims, bool hidden_args,
                     uint32_t lds, uint32_t scratch) const {
        isa::KernelOptions options;
        options.name = name;
        options.block = block;
        options.grid_dims = grid_dims;
        options.hidden_args = hidden_args;
        options.lds = lds;
        options.scratch = scratch;
        return as_bytes(assembler_.finish(options).value());
    }
    std::string arch() const { return std::string(isa::info(arch_).name); }
    size_t size() const { return assembler_.size(); }

  private:
    void raise() const {
        if (const Error* error = assembler_.error()) throw Exception(*error);
    }
    isa::Arch arch_;
    isa::Assembler assembler_;
    std::deque<std::string> files_;  // locations point into them
};

}  // namespace

void bind_asm(py::module_& m) {
    bind_describe(m);
    m.def("_assemble", [](const std::string& text, const std::string& arch, const std::string& file) {
        return as_bytes(computing([&] { return isa::assemble(text, isa::parse_arch(arch).value(), file).value(); }));
    });
    m.def("_assemble_instructions", [](const std::string& text, const std::string& arch, int wave_size) {
        return as_bytes(
            computing([&] { return instructions_of(text, isa::parse_arch(arch).value(), wave_size).value(); }));
    });
    m.def("_arch_of", [](const py::bytes& object) {
        const auto bytes = as_span(object);
        return isa::info(isa::CodeObject::parse({bytes.begin(), bytes.end()}).value().arch).name;
    });
    m.def("_disassemble",
          [](const py::bytes& object) { return computing([&] { return isa::disassemble(as_span(object)).value(); }); });
    m.def(
        "_disassemble_instructions",
        [](const py::bytes& code, const std::string& arch, int wave_size) -> As<"list[tuple[int, int, str]]"> {
            py::list out;
            auto lines = computing([&] {
                return isa::disassemble_instructions(as_span(code), isa::parse_arch(arch).value(), wave_size).value();
            });
            for (const isa::DisassembledLine& line : lines)
                out.append(py::make_tuple(line.offset, line.size, line.text));
            return py::object(out);
        });
    m.def("_mnemonics", [](const std::string& arch) {
        std::set<std::string> names;
        const isa::Arch of = isa::parse_arch(arch).value();
        for (const isa::Row& row : isa::rows(isa::info(of).family))
            if (!(row.flags & (isa::kGraphics | isa::kNotOnSilicon)) && has_row(of, row)) names.emplace(row.mnemonic);
        return std::vector<std::string>(names.begin(), names.end());
    });
    py::class_<PyAssembler>(m, "_Assembler")
        .def(py::init<const std::string&, int>())
        .def("emit_line", &PyAssembler::emit_line)
        .def("add_argument", &PyAssembler::add_argument)
        .def("declare_lds", &PyAssembler::declare_lds)
        .def("add_constants", &PyAssembler::add_constants)
        .def("emit_address", &PyAssembler::emit_address)
        .def("code", &PyAssembler::code)
        .def("finish", &PyAssembler::finish)
        .def_property_readonly("arch", &PyAssembler::arch)
        .def_property_readonly("size", &PyAssembler::size);
}

}  // namespace strata::python
