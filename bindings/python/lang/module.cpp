#include "lang/tile_p.h"

namespace strata::python {

void bind_lang(py::module_& root) {
    py::module_ m = root.def_submodule("_lang", "Kernels as Python functions: values, memory and control flow.");
    bind_lang_values(m);
    bind_lang_functions(m);
    bind_lang_views(m);  // before the functions whose signatures have its types
    bind_lang_trace(m);
    bind_lang_products(m);
    bind_lang_copies(m);
    bind_lang_threads(m);
    bind_lang_foreign(m);
    bind_lang_interpret(m);
    bind_lang_calls(m);
    bind_lang_arch(m);
    bind_lang_disk(m);
    for (auto [name, member] : m.attr("__dict__").cast<py::dict>())
        if (PyType_Check(member.ptr())) member.attr("__module__") = "strata.lang";
}

}  // namespace strata::python
