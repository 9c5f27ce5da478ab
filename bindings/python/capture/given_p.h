#pragma once
#include <span>
#include <vector>

#include "collected_p.h"

namespace strata::python {

/// Containers, plain values and other objects that a call was given, and where tensors were among them.
class Given {
  public:
    explicit Given(PyObject* value);

    /// True if it was given again, with the tensors that stand there now; false where that is not seen at once.
    bool is_again(PyObject* now, std::vector<py::object>& tensors) const;
    /// The same of the items of a list, a tuple or a call,
    bool are_again(std::span<PyObject* const> now, std::vector<py::object>& tensors) const;
    /// and of arguments with these names, of which there may be none.
    bool are_again(PyObject* names, PyObject* const* now, std::vector<py::object>& tensors) const;

    int traverse(visitproc visit, void* arg) const {
        Py_VISIT(value_.ptr());
        const int stop = traverse_all(keys_, visit, arg);
        return stop ? stop : traverse_all(parts_, visit, arg);
    }

  private:
    enum class Kind : uint8_t { object, tensor, list, tuple, dict };

    bool are_items_again(PyObject* now, std::vector<py::object>& tensors) const;
    bool is_item_again(size_t i, PyObject* key, PyObject* now, std::vector<py::object>& tensors) const;

    Kind kind_ = Kind::object;
    py::object value_;  ///< of a container its type
    std::vector<py::object> keys_;
    std::vector<Given> parts_;
};

}  // namespace strata::python
