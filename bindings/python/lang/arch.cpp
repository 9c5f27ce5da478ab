// Facts of an architecture that authors of kernels decide by.
#include "strata/asm/isa/arch.h"
#include "lang/tile_p.h"
#include "strata/codegen/target/target.h"
#include "strata/runtime/artifact.h"

namespace strata::python {
namespace {

struct Machine {
    codegen::Target target;
};

std::optional<int> registers_of(const Machine& m) {
    if (!m.target.arch.is_amd()) return {};
    return isa::info(m.target.arch).max_vgprs;
}

As<"list[MmaAtom]"> matrix_atoms(const Machine& m) {
    py::list atoms;
    for (const codegen::MatrixShape& row : m.target.matrix)
        atoms.append(
            lang::mma_atom(m.target, row.operand, row.accumulator, std::array{lang::rows_of(row), row.n, row.k}));
    return py::object(atoms);
}

}  // namespace

void bind_lang_arch(py::module_& m) {
    py::class_<Machine> c(m, "Arch", "Facts of an architecture, made by strata.arch.");
    c.def(py::init([](const std::string& name) { return Machine{runtime::target_named(name)}; }), py::arg("name") = "",
          "By its name, as \"gfx1201\"; without one that of the default device.");
    c.def_property_readonly("name", [](const Machine& a) { return std::string(a.target.arch.name()); });
    c.def_property_readonly("wave_size", [](const Machine& a) { return a.target.wave_size; }, "Lanes of a wave.");
    c.def_property_readonly(
        "lds_bytes", [](const Machine& a) { return a.target.lds_bytes; }, "Local memory of a block.");
    c.def_property_readonly(
        "max_block", [](const Machine& a) { return a.target.max_block; }, "Threads of a block at most.");
    c.def_property_readonly("registers", &registers_of, "Vector registers of a lane at most; None where none says.");
    c.def_property_readonly(
        "access_bytes", [](const Machine& a) { return a.target.vector_bytes; }, "Of a lane's widest memory access.");
    c.def_property_readonly("max_grid", [](const Machine& a) { return a.target.max_grid; }, "Blocks along x, y and z.");
    c.def_property_readonly("mma_atoms", &matrix_atoms, "Its matrix instructions, as lang.MmaAtom.");
    c.def_property_readonly(
        "copy_atoms", [](const Machine& a) { return lang::copy_kinds(a.target); },
        "(kind, bits) of the accesses that lang.CopyAtom has.");
    c.def("__repr__", [](const Machine& a) {
        return fmt::format("<Arch {}: waves of {}, {} bytes of local memory>", a.target.arch.name(), a.target.wave_size,
                           a.target.lds_bytes);
    });
}

}  // namespace strata::python
