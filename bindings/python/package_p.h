#pragma once
#include <pybind11/pybind11.h>

namespace strata::python {

enum class Called {
#define CALLED(name) name,
#include "package.def"
#undef CALLED
};

/// The function that the package registered under this name.
pybind11::handle function_of_package(Called name);
/// The module strata.
pybind11::handle package();

void bind_package(pybind11::module_& m);

}  // namespace strata::python
