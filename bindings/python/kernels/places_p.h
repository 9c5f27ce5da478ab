#pragma once
#include <map>

#include "convert_p.h"
#include "strata/asm/object/source_places.h"
#include "strata/core/uop/places.h"
#include "strata/core/uop/uop.h"
#include "strata/runtime/custom.h"

namespace strata::python {

/// Places in the user's Python code: of a node that is made while this lives, the innermost frame outside of the
/// package.
class PythonPlaces final : public Places {
  public:
    /// The caller of the innermost frame begins the kernel: what it makes itself, as parameters, has no place. The
    /// kernel is then the same wherever it is asked for.
    void begin_in_caller();
    /// For the lines of tree(sink).
    isa::SourcePlaces of_tree(UOp sink) const;

  private:
    uint32_t here() override;
    bool is_package(const py::handle& code);
    uint32_t number_of(const py::object& code, int instruction);
    uint32_t outside_of(PyFrameObject* frame);

    GraphScope keeps_nodes_;  ///< a node that is gone would give its place to another one
    std::map<std::pair<PyObject*, int>, uint32_t> numbers_;  ///< of instructions of code objects
    std::vector<std::pair<py::object, int>> instructions_;   ///< by number, from 1
    std::map<PyObject*, bool> is_package_;
    std::vector<py::object> kept_;
    py::object outermost_;           ///< frame, of begin_in_caller; or null
    PyObject* last_code_ = nullptr;  ///< of the user's; instructions_ keeps it
    int last_instruction_ = 0;
    uint32_t last_number_ = 0;
};

/// The places of a kernel whose graph is asked for again, as long as it lives.
void keep_places(const std::shared_ptr<runtime::CustomKernel>& kernel, isa::SourcePlaces places);
/// Those of a kernel for another graph of it, whose nodes are in the same order.
void keep_places_of(UOp graph, const std::shared_ptr<const runtime::CustomKernel>& kernel);
std::shared_ptr<const runtime::CustomKernel> kernel_with_places(UOp sink);  ///< null: there is none

}  // namespace strata::python
