#pragma once
#include "convert_p.h"
#include "strata/ops/custom.h"
#include "strata/runtime/custom.h"

namespace strata::python {

/// None, an int, (x,), (x, y) or (x, y, z).
ops::Dims to_dims(py::handle value, const char* what);

/// A tensor or what makes one, a Python or NumPy number, None, bytes, a ctypes value or a NumPy record.
ops::KernelArgument to_kernel_argument(py::handle value);

/// An address of the device as an argument of kernels: lang.pointer.
struct Pointer {
    uint64_t address;
    DType dtype;
};

/// The launch of a kernel; of the tensors among its arguments those that Python has, and null for others. Gives the
/// tensors that it writes.
py::tuple launch_kernel(const std::shared_ptr<runtime::CustomKernel>& kernel,
                        const std::vector<ops::KernelArgument>& arguments, const std::vector<py::handle>& tensors,
                        const ops::LaunchOptions& options, const ops::Outputs& outputs);

/// outputs=: a place or a name, or several; None: none.
ops::Outputs to_outputs(py::handle value);

using KernelClass = py::class_<runtime::CustomKernel, std::shared_ptr<runtime::CustomKernel>>;
/// For py::custom_type_setup of their class.
void call_kernels_at_once(PyHeapTypeObject* type);
/// Calls of a kernel, and the variables of its module.
void bind_kernel_calls(py::module_& m, KernelClass& c);

void bind_artifact_files(py::module_& m);
/// Compiled graphs and kernels.
void bind_artifacts(py::module_& m);
void bind_tracing(py::module_& m);
std::vector<UOp> whole(const std::vector<Tensor*>& tensors);  ///< each with its elements row by row

}  // namespace strata::python
