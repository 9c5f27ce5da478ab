#pragma once
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace strata::bench {

namespace py = pybind11;

void bind_launches(py::module_& m);
void bind_decode(py::module_& m);

}  // namespace strata::bench
