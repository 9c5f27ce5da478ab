#pragma once
#include <cstdint>
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
    /// Collects the tensors of a call in `tensors`, each once. Returns kMet, the number of the first row that does not
    /// hold, or kOthersAreOne where other tensors are one.
    int64_t met(std::vector<py::object>& tensors) const;

    int traverse(visitproc visit, void* arg) const { return traverse_all(rows_, visit, arg); }
    void clear() { const std::vector<Row> gone = std::move(rows_); }

    /// True if plain values are the same one.
    static bool equal(PyObject* now, PyObject* then);

  private:
    class Content;
    /// same: holder[key] is the value, or an equal plain one. content: the bytes of the value too. tensor: some tensor
    /// is there. length: of the holder. keys: of the holder, in their order. absent: the holder has no such key.
    /// object: the holder is of type `key`, and its __dict__ is the value (None: it has none). function: the holder
    /// runs the code `key`, with (__defaults__, __kwdefaults__) as value. bases: of a class with `key` members, its
    /// __mro__ is the value. attribute: that of the holder, itself.
    enum class Kind : uint8_t { same, content, tensor, length, keys, absent, object, function, bases, attribute };
    static Kind kind_of(const std::string& name);
    struct Row {
        Kind kind;
        py::object holder, key, value;
        Py_ssize_t length = 0;
        size_t items = 0;  ///< of keys: the next `items` rows are the items of the dict, in their order
        std::shared_ptr<const Content> content = {};

        int traverse(visitproc visit, void* arg) const {
            for (const py::object* o : {&holder, &key, &value}) Py_VISIT(o->ptr());
            return 0;
        }
    };
    static constexpr size_t kNone = SIZE_MAX;
    static py::object at(const Row& row);
    static bool is_met(const Row& row, std::vector<py::object>& tensors);
    static bool has_value(const Row& row, py::object now, std::vector<py::object>& tensors);
    static bool has_keys(const Row& row);
    static bool is_object(const Row& row);
    static bool is_function(const Row& row);
    static bool is_class(const Row& row);
    void find_items(size_t i);
    size_t first_other_item(size_t i, std::vector<py::object>& tensors) const;
    bool make_distinct(std::vector<py::object>& all) const;

    std::vector<Row> rows_;
    std::vector<size_t> places_;  ///< of each tensor among those that are kept
};

}  // namespace strata::python
