#pragma once
#include <array>
#include <memory>

#include "convert_p.h"
#include "strata/codegen/tile/trace.h"
#include "strata/codegen/tile/view.h"
#include "strata/core/uop/kernel.h"
#include "strata/runtime/custom.h"

// strata.lang: kernels as Python functions, which run once on values of a trace (codegen/tile/trace.h).

namespace strata::python {

/// A value of a kernel in Python, with Python's arithmetic. Rooted, since Python may keep it for any time. A value that
/// was a Python number before the kernel changed it is weak. As such numbers do, it takes the type of the value that it
/// meets.
struct LangValue {
    Root root;
    bool weak = false;
    explicit LangValue(UOp u, bool weak = false) : root(u), weak(weak) {}
    UOp get() const { return root.get(); }
};

/// A value, or what becomes one.
using Operandlike = As<"Value | Scalar">;

const LangValue* as_value(py::handle value);      ///< null for anything else
py::object from_value(UOp u, bool weak = false);  ///< of one lane
/// A value cast to a type, as an assignment does, or a Python number, which must fit. `what` begins the error.
UOp to_value(py::handle value, DType type, const char* what);
/// A value of its own type; a Python number as bool, int32 (int64 where it needs that) or float32.
UOp to_value(py::handle value, const char* what);
/// The same; a Python number is weak.
LangValue to_lang_value(py::handle value, const char* what);
DType common_type(const char* name, const LangValue& x, const LangValue& y);  ///< in which two values meet
UOp to_offset(py::handle value, const char* what);                            ///< an integer as the index type
UOp to_condition(py::handle value, const char* what);  ///< bool; of a number whether it is not zero

/// One element of memory in Python, made by View.at.
struct Place {
    lang::View element;  ///< of one coordinate, 0
};

/// Whether / is by the chip's reciprocal in the kernel that this thread traces.
bool& divides_fast();

Op parse_reduction(const std::string& name);  ///< "add", "max", ...; the error lists them

/// The graph of a kernel that serves any grid, as it is for one; none where the kernel has none.
UOp graph_of_launch(const std::shared_ptr<runtime::CustomKernel>& kernel, const std::array<int64_t, 3>& grid);

void bind_lang(py::module_& root);
void bind_lang_values(py::module_& m);
void bind_lang_functions(py::module_& m);
void bind_lang_trace(py::module_& m);
void bind_lang_views(py::module_& m);
void bind_lang_threads(py::module_& m);
void bind_lang_foreign(py::module_& m);
void bind_lang_interpret(py::module_& m);
void bind_lang_calls(py::module_& m);
void bind_lang_disk(py::module_& m);

}  // namespace strata::python
