#pragma once
#include "convert_p.h"

namespace strata::python {

void bind_tune(py::module_& m);  ///< after bind_tensor

}  // namespace strata::python
