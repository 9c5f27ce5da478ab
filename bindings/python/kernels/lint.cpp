#include <pybind11/stl.h>

#include "convert_p.h"
#include "front_end_p.h"
#include "strata/asm/lint/lint.h"

namespace strata::python {
namespace {

/// A kernel's findings: as lines in the style of compilers, and as JSON.
struct Linted {
    std::vector<std::string> lines;
    std::string json;
};

std::vector<Linted> lint_object(std::string_view bytes, const std::string& kernel) {
    const isa::CodeObject object = isa::CodeObject::parse(isa::Bytes(bytes.begin(), bytes.end())).value();
    if (!kernel.empty()) (void)object.kernel(kernel).value();
    if (object.kernels.empty())
        user_error(ErrorKind::Usage,
                   "[lint] the code has no kernel to look at: assembly declares one by .amdhsa_kernel and its "
                   "metadata (strata.asm.Assembler writes both), HIP source by __global__");
    std::vector<Linted> all;
    for (const isa::KernelInfo& info : object.kernels) {
        if (!kernel.empty() && info.name != kernel) continue;
        const std::vector<lint::Finding> found = lint::lint(object, info.name).value();
        Linted& linted = all.emplace_back();
        for (const lint::Finding& finding : found) linted.lines.push_back(lint::to_line(finding, object, info));
        linted.json = lint::to_json(found, object, info);
    }
    return all;
}

}  // namespace

void bind_lint(py::module_& m) {
    m.def(
        "_lint", [](const py::bytes& object, const std::string& kernel) -> As<"list[tuple[list[str], str]]"> {
            const std::string_view bytes = object;
            py::list out;
            for (const Linted& linted : computing([&] { return lint_object(bytes, kernel); }))
                out.append(py::make_tuple(linted.lines, linted.json));
            return py::object(out);
        });
}

}  // namespace strata::python
