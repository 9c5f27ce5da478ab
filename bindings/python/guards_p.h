#pragma once
#include <memory>
#include <vector>

#include "collected_p.h"
#include "methods_p.h"

namespace strata::python {

/// Places that a function looks at, with what was there.
class Guards {
  public:
    void add(const std::string& kind, const As<"tuple[Any, ...]">& place);
    /// Which of all tensors, those of a call and then those of the places, are one.
    void sees(const std::vector<size_t>& first);
    size_t tensors() const { return places_.size(); }

    static constexpr int64_t kMet = -2, kOthersAreOne = -1;
    /// Makes of the tensors of a call all, each once; kMet, or the number of the first row that does not hold,
    /// kOthersAreOne where other tensors are one.
    int64_t met(std::vector<py::object>& tensors) const;

    int traverse(visitproc visit, void* arg) const { return traverse_all(rows_, visit, arg); }
    void clear() { const std::vector<Row> gone = std::move(rows_); }

    /// Whether plain values are the same one.
    static bool equal(PyObject* now, PyObject* then);

  private:
    class Content;
    enum class Kind : uint8_t { same, tensor, length };
    struct Row {
        Kind kind;
        py::object holder, key, value;
        Py_ssize_t length = 0;
        std::shared_ptr<const Content> content = {};

        int traverse(visitproc visit, void* arg) const {
            for (const py::object* o : {&holder, &key, &value}) Py_VISIT(o->ptr());
            return 0;
        }
    };
    static PyObject* at(const Row& row);
    bool make_distinct(std::vector<py::object>& all) const;

    std::vector<Row> rows_;
    std::vector<size_t> places_;  ///< of each tensor among those that are kept
};

}  // namespace strata::python
