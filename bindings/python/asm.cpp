#include "convert_p.h"
#include "strata/asm/isa/print.h"
#include "strata/asm/text/assemble.h"

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

}  // namespace

void bind_asm(py::module_& m) {
    m.def("_assemble", [](const std::string& text, const std::string& arch, const std::string& file) {
        return as_bytes(isa::assemble(text, isa::parse_arch(arch).value(), file).value());
    });
    m.def("_assemble_instructions", [](const std::string& text, const std::string& arch, int wave_size) {
        return as_bytes(isa::assemble_instructions(text, isa::parse_arch(arch).value(), wave_size).value());
    });
    m.def("_disassemble", [](const py::bytes& object) { return isa::disassemble(as_span(object)).value(); });
    m.def("_disassemble_instructions", [](const py::bytes& code, const std::string& arch) {
        py::list out;
        for (const isa::DisassembledLine& line :
             isa::disassemble_instructions(as_span(code), isa::parse_arch(arch).value()).value())
            out.append(py::make_tuple(line.offset, line.size, line.text));
        return out;
    });
}

}  // namespace strata::python
