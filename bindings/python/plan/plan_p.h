#pragma once
#include <utility>

#include "convert_p.h"
#include "strata/plan/plan.h"

namespace strata::python {

void bind_null_device(py::module_& m);
/// Microseconds of the host for one run, and for one whose operands were checked before. On a device that does nothing.
std::pair<double, double> times_of(const plan::Plan& of, int repeat);

}  // namespace strata::python
