#pragma once
#include <span>
#include <vector>

#include "collected_p.h"

namespace strata::python {

/// A call whose result is to be made: the tensors of its results, and its arguments, the last ones with names.
struct ReplayedCall {
    std::span<const py::object> results;
    std::span<PyObject* const> args;
    PyObject* names;  ///< a tuple; null: none has one
};

/// The tensors that a captured function returns, as _described of strata/_jit.py lists them.
class GivenBack {
  public:
    /// `results`: how many tensors there are.
    GivenBack(const py::tuple& described, size_t results);

    /// `made`: the containers of this result so far, in the order in which they are whole.
    py::object of(const ReplayedCall& call, std::vector<py::object>& made) const;

    int traverse(visitproc visit, void* arg) const {
        Py_VISIT(value_.ptr());
        const int stop = traverse_all(keys_, visit, arg);
        return stop ? stop : traverse_all(parts_, visit, arg);
    }

  private:
    /// argument: a container that the call was given, where value_ leads to; again: a container made before.
    enum class Kind : uint8_t { tensor, plain, argument, again, dict, list, tuple, other };
    void take_parts(const py::object& parts, size_t results);
    py::object argument_of(const ReplayedCall& call) const;

    Kind kind_;
    py::object value_;  ///< the plain value, the way to an argument, or what makes another container of a tuple
    size_t index_ = 0;
    std::vector<py::object> keys_;
    std::vector<GivenBack> parts_;
};

}  // namespace strata::python
