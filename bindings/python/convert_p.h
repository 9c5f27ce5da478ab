#pragma once
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "strata/ops/tensor.h"

namespace strata::python {

namespace py = pybind11;

// From Python values to Strata's arguments. Each throws an Exception of the fitting kind that says what was expected.
DType to_dtype(py::handle value);                     ///< DType, its name, a NumPy dtype, bool, int, float, complex
Shape to_shape(const py::args& sizes);                ///< f(2, 3) or f((2, 3))
Shape to_shape(py::handle value);                     ///< int or sequence
Axes to_axes(py::handle value);                       ///< None, int or sequence
std::vector<int> to_axes_list(const py::args& axes);  ///< f(1, 0) or f((1, 0))
bool is_number(py::handle value);                     ///< Python or NumPy bool, int, float, complex
Number to_number(py::handle value);
/// An integer within a range, from Python or NumPy; Usage error that says what it is for. Nothing else becomes one.
int64_t to_integer(py::handle value, std::string_view what, int64_t low = std::numeric_limits<int64_t>::min(),
                   int64_t high = std::numeric_limits<int64_t>::max());
int to_axis(py::handle value);
std::string shown(py::handle value);              ///< its repr, shortened, for messages
std::vector<Index> to_indices(py::handle value);  ///< what x[...] was called with
/// A tensor from nested lists, a NumPy array or scalar, anything with __array__ or the buffer protocol.
Tensor to_tensor(py::handle data, OptionalDType dtype = {}, std::string_view device = "");

/// A tensor or a number; holds what an Operand refers to. `accepts` tells whether it can be made at all.
class OperandHolder {
  public:
    explicit OperandHolder(py::handle value);
    static bool accepts(py::handle value);
    const Operand& get() const { return *operand_; }

  private:
    Tensor tensor_;
    std::optional<Operand> operand_;
};

/// numpy.ndarray over the tensor's values. Where `copy` is false and the host can read the memory, it is the memory
/// itself. It must not be written: tensors made from it would not notice.
py::object to_numpy(Tensor& tensor, bool copy);
py::object to_list(Tensor& tensor);
py::object to_python(const Number& number);

UOp to_uop(py::handle value);  ///< strata.uop.UOp -> node
py::object from_uop(UOp u);

void raise_interruption();  ///< as a Python exception: what the handler of the signal raised

// The parts of the module.
void bind_front_end();
void bind_errors(py::module_& m);
void bind_dtypes(py::module_& m);
void bind_tensor(py::module_& m);
void bind_functions(py::module_& m);
void bind_namespace(py::module_& m);
void bind_uop(py::module_& m);
void bind_kernels(py::module_& m);
void bind_settings(py::module_& m);
void bind_runtime(py::module_& m);
void bind_streams(py::module_& m);
void bind_plan(py::module_& m);
void bind_profile(py::module_& m);
void bind_asm(py::module_& m);
void bind_bench(py::module_& m);
void bind_describe(py::module_& m);
void bind_lint(py::module_& m);
void bind_emulator(py::module_& m);
void bind_strict(py::module_& m);
void bind_arguments(py::module_& m);

}  // namespace strata::python

#include "casters_p.h"
