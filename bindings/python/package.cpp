#include "package_p.h"

#include <array>

#include "convert_p.h"

namespace strata::python {
namespace {

constexpr const char* kCalled[] = {
#define CALLED(name) #name,
#include "package.def"
#undef CALLED
};

/// Never freed: tensors may outlive the interpreter's last collection.
struct Package {
    py::object module;
    std::array<py::object, std::size(kCalled)> functions;
};

Package& registered() {
    static auto* all = new Package;
    return *all;
}

void register_package(const py::object& module, const py::dict& functions) {
    Package package{.module = module, .functions = {}};
    for (size_t i = 0; i < std::size(kCalled); ++i) {
        STRATA_CHECK(functions.contains(kCalled[i]), "the package registers no {}", kCalled[i]);
        package.functions[i] = functions[kCalled[i]];
    }
    STRATA_CHECK(functions.size() == std::size(kCalled), "the package registers {} functions, package.def has {}",
                 functions.size(), std::size(kCalled));
    registered() = std::move(package);
}

}  // namespace

py::handle function_of_package(Called name) {
    const py::object& function = registered().functions[static_cast<size_t>(name)];
    STRATA_CHECK(function, "strata is not imported to its end: {} is missing", kCalled[static_cast<size_t>(name)]);
    return function;
}

py::handle package() {
    STRATA_CHECK(registered().module, "strata is not imported to its end");
    return registered().module;
}

void bind_package(py::module_& m) { m.def("_register_package", &register_package); }

}  // namespace strata::python
