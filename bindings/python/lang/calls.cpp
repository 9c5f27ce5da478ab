// Calls of kernels that are known: what a call of the same kinds of arguments was traced as, in one step.
#include <bit>
#include <unordered_map>

#include "capture/collected_p.h"
#include "front_end_p.h"
#include "kernels/kernels_p.h"
#include "lang/lang_p.h"
#include "strata/core/support/settings.h"
#include "strata/ops/custom.h"
#include "strata/runtime/device.h"
#include "tensor_object_p.h"
#include "vectorcall_p.h"

namespace strata::python {
namespace {

using Kernel = std::shared_ptr<runtime::CustomKernel>;

constexpr uint32_t kFewBlocks = 1 << 20;  // _kernel.py: where numbers of threads have 32 bits

/// Arguments that a parameter takes, by its annotation.
enum class Takes : uint8_t { any, tensor, constant, integer, floating, nothing };

/// The facts of a call that its kernel was traced for: as bytes, and Python's objects that are compiled in.
struct Facts {
    std::string bytes;
    std::vector<PyObject*> constants;
    std::vector<size_t> launched;             ///< arguments that the launch is given
    const runtime::Device* device = nullptr;  ///< of the first tensor that has one
    bool fits = true;                         ///< false: the call has something that is looked at in Python

    void clear() { bytes.clear(), constants.clear(), launched.clear(), device = nullptr, fits = true; }
    template <class T>
    void add(const T& fact) {
        bytes.append(reinterpret_cast<const char*>(&fact), sizeof fact);
    }
};

struct Known {
    std::vector<py::object> constants;
    std::vector<size_t> launched;
    std::vector<uint32_t> sizes;  ///< dimensions of the grid that the kernel reads, after all other arguments
    Kernel kernel;

    int traverse(visitproc visit, void* arg) const { return traverse_all(constants, visit, arg); }
};

/// Key of a watched size, and value of a watched key that a container lacks.
PyObject* const* sentinels() {
    static PyObject* const objects[] = {PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type)),
                                        PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type))};
    return objects;
}

/// A value that a kernel read while it was traced.
/// Its place is a key of a dict or class, an index of a list, a cell, or a function, whose code it is.
struct Watched {
    py::object container, key, value;

    bool holds() const {
        PyObject* of = container.ptr();
        PyObject* const expected = value.ptr() == sentinels()[1] ? nullptr : value.ptr();
        if (PyCell_Check(of)) return PyCell_GET(of) == expected;
        if (PyFunction_Check(of)) return PyFunction_GET_CODE(of) == expected;
        if (PyType_Check(of)) of = reinterpret_cast<PyTypeObject*>(of)->tp_dict;
        const bool is_dict = PyDict_Check(of);
        if (key.ptr() == sentinels()[0])
            return (is_dict ? PyDict_GET_SIZE(of) : PyList_GET_SIZE(of)) == PyLong_AsSsize_t(expected);
        if (is_dict) return PyDict_GetItemWithError(of, key.ptr()) == expected;
        const Py_ssize_t at = PyLong_AsSsize_t(key.ptr());
        return at < PyList_GET_SIZE(of) && PyList_GET_ITEM(of, at) == expected;
    }
    int traverse(visitproc visit, void* arg) const {
        Py_VISIT(container.ptr());
        Py_VISIT(key.ptr());
        Py_VISIT(value.ptr());
        return 0;
    }
};

/// A function that gives a value which no identity shows, such as the elements of a set or an array.
struct Probe {
    py::object function, value;

    bool holds() const {
        PyObject* const now = PyObject_CallNoArgs(function.ptr());
        const int is_equal = now ? PyObject_RichCompareBool(now, value.ptr(), Py_EQ) : -1;
        Py_XDECREF(now);
        if (is_equal < 0) PyErr_Clear();
        return is_equal == 1;
    }
    int traverse(visitproc visit, void* arg) const {
        Py_VISIT(function.ptr());
        Py_VISIT(value.ptr());
        return 0;
    }
};

bool is_plain(PyObject* value) {
    return value == Py_None || PyBool_Check(value) || PyUnicode_CheckExact(value) || PyBytes_CheckExact(value) ||
           PyLong_CheckExact(value) || PyFloat_CheckExact(value);
}

void add_constant(Facts& facts, PyObject* value) {
    facts.add('c');
    facts.add(Py_TYPE(value));
    facts.constants.push_back(value);
}

void add_tensor(Facts& facts, const Tensor& t) {
    const Shape& shape = t.shape();
    facts.add('t');
    facts.add(t.dtype().scalar);
    facts.add(shape.size());
    facts.bytes.append(reinterpret_cast<const char*>(shape.data()), shape.size() * sizeof shape[0]);
    if (!facts.device) facts.device = t.placement();
}

void add_integer(Facts& facts, PyObject* value) {
    int overflow = 0;
    const long long i = PyLong_AsLongLongAndOverflow(value, &overflow);
    facts.fits &= overflow == 0;
    facts.add(i >= INT32_MIN && i <= INT32_MAX ? 'i' : 'l');
}

/// A number for a parameter that has a type: whether it fits is the launch's to say.
void add_of_type(Facts& facts, Takes takes, PyObject* value) {
    facts.fits &= PyLong_CheckExact(value) || (takes == Takes::floating && PyFloat_CheckExact(value));
    facts.add('n');
}

/// One to three sizes; false where they are anything else.
bool take_sizes(py::handle value, std::array<uint32_t, 3>& sizes) {
    const auto take = [&](PyObject* one, size_t at) {
        if (!PyLong_CheckExact(one)) return false;
        int overflow = 0;
        const long long size = PyLong_AsLongLongAndOverflow(one, &overflow);
        if (overflow || size < 1 || size > 0x7fffffff) return false;
        sizes[at] = static_cast<uint32_t>(size);
        return true;
    };
    sizes = {1, 1, 1};
    if (!PyTuple_CheckExact(value.ptr())) return take(value.ptr(), 0);
    const Py_ssize_t rank = PyTuple_GET_SIZE(value.ptr());
    if (rank < 1 || rank > 3) return false;
    for (Py_ssize_t i = 0; i < rank; ++i)
        if (!take(PyTuple_GET_ITEM(value.ptr(), i), static_cast<size_t>(i))) return false;
    return true;
}

bool same_constant(PyObject* a, PyObject* b) {
    if (a == b) return true;
    if (!is_plain(a) || Py_TYPE(a) != Py_TYPE(b)) return false;
    if (PyFloat_CheckExact(a))  // 0.0 and -0.0 are two constants, NaN is one
        return std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(a)) == std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(b));
    return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

/// The base of kernels: the calls that are known of one. `_otherwise` makes the others.
class KnownCalls {
  public:
    void set_parameters(const py::list& takes) {
        takes_.clear();
        for (const py::handle one : takes) {
            if (py::isinstance<DType>(one)) {
                const DType type = one.cast<DType>();
                takes_.push_back(type.is_bool() ? Takes::nothing : type.is_float() ? Takes::floating : Takes::integer);
                continue;
            }
            const auto name = one.cast<std::string>();
            takes_.push_back(name == "tensor" ? Takes::tensor : name == "constant" ? Takes::constant : Takes::any);
        }
    }

    /// Remembers the kernel that a call was traced as.
    void add(const py::tuple& given, std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block, const Kernel& kernel,
             std::vector<uint32_t> sizes) {
        const std::shared_ptr<const Settings> now = settings_of_context();
        const Facts& facts = facts_of(given_in(given), grid, block, now ? *now : environment());
        if (!facts.fits || find(facts)) return;
        Known known{{}, facts.launched, std::move(sizes), kernel};
        for (PyObject* constant : facts.constants)
            known.constants.push_back(py::reinterpret_borrow<py::object>(constant));
        known_[facts.bytes].push_back(std::move(known));
    }

    /// The values that the function read, from now on: (container, key, value) of each, and (function, value) of what
    /// only a function shows. Calls known of other values are forgotten.
    void watch(const std::vector<std::tuple<py::object, py::object, py::object>>& values,
               const std::vector<std::tuple<py::object, py::object>>& probes) {
        forget();
        for (const auto& [container, key, value] : values) watched_.push_back({container, key, value});
        if (probes.empty()) return;
        auto made = std::make_shared<std::vector<Probe>>();
        for (const auto& [function, value] : probes) made->push_back({function, value});
        probes_ = std::move(made);
    }
    /// Whether all of them are what they were.
    bool is_current() const {
        if (!std::ranges::all_of(watched_, [](const Watched& w) { return w.holds(); })) return false;
        const std::shared_ptr<const std::vector<Probe>> probes = probes_;  // which another thread may replace meanwhile
        return !probes || std::ranges::all_of(*probes, [](const Probe& p) { return p.holds(); });
    }

    static void take_slots(PyHeapTypeObject* type) {
        Vectorcall<&KnownCalls::call>::take_slots(type, "_otherwise");
        let_collect<KnownCalls>(type);
    }
    int traverse(visitproc visit, void* arg) const {
        for (const auto& [bytes, all] : known_)
            if (const int stop = traverse_all(all, visit, arg)) return stop;
        if (probes_)
            if (const int stop = traverse_all(*probes_, visit, arg)) return stop;
        return traverse_all(watched_, visit, arg);
    }
    void clear() { forget(); }

  private:
    using Values = std::span<PyObject* const>;

    static Values given_in(const py::tuple& given) {
        return {&PyTuple_GET_ITEM(given.ptr(), 0), static_cast<size_t>(PyTuple_GET_SIZE(given.ptr()))};
    }
    void forget() {
        const auto known = std::exchange(known_, {});  // which may run Python as they go
        const auto watched = std::exchange(watched_, {});
        const auto probes = std::exchange(probes_, {});
    }

    static py::object attribute(PyObject* of, PyObject* name) {
        PyObject* const value = PyObject_GetAttr(of, name);
        if (!value) throw py::error_already_set();
        return py::reinterpret_steal<py::object>(value);
    }
    /// The sizes that a call gives by name, else the kernel's attributes: sizes, functions of the arguments, or None.
    /// False where it gives anything else by name.
    static bool take_named(PyObject* self, const CallArguments& given, py::object& blocks, py::object& threads) {
        static PyObject* const name_of_grid = PyUnicode_InternFromString("grid");
        static PyObject* const name_of_block = PyUnicode_InternFromString("block");
        blocks = attribute(self, name_of_grid), threads = attribute(self, name_of_block);
        const Values values = given.all.last(given.named());
        for (size_t i = 0; i < values.size(); ++i) {
            PyObject* const name = PyTuple_GET_ITEM(given.names, static_cast<Py_ssize_t>(i));
            if (name != name_of_grid && name != name_of_block) return false;
            if (values[i] == Py_None) continue;
            (name == name_of_grid ? blocks : threads) = py::reinterpret_borrow<py::object>(values[i]);
        }
        return true;
    }

    /// The tensors that the kernel wrote, or nothing where no call like this is known.
    static py::object call(PyObject* self, const CallArguments& given) {
        return value_of<KnownCalls>(self).launch(self, given);
    }
    py::object launch(PyObject* self, const CallArguments& given) const {
        const Values values = given.unnamed();
        py::object grid, block;
        if (known_.empty() || values.size() != takes_.size() || !take_named(self, given, grid, block) || !is_current())
            return {};
        const std::shared_ptr<const Settings> now = settings_of_context();
        const Settings& settings = now ? *now : environment();
        std::array<uint32_t, 3> blocks{}, threads{};
        if (settings.compile_only || !take_sizes(resolved(grid, values), blocks) ||
            !take_sizes(resolved(block, values), threads))
            return {};
        const Known* known = find(facts_of(values, blocks, threads, settings));
        if (!known) return {};
        std::vector<ops::KernelArgument> arguments;
        std::vector<py::handle> tensors;
        arguments.reserve(known->launched.size() + known->sizes.size());
        tensors.reserve(known->launched.size());
        for (const size_t at : known->launched) {
            if (Tensor* const tensor = tensor_in(values[at])) {
                arguments.emplace_back(*tensor);
                tensors.emplace_back(values[at]);
            } else {
                arguments.emplace_back(to_number(values[at]));
            }
        }
        for (const uint32_t dim : known->sizes) arguments.emplace_back(static_cast<int64_t>(blocks[dim]));
        const Kernel kernel = known->kernel;  // another thread may forget it while this one launches
        return launch_kernel(kernel, arguments, tensors, {{blocks[0], blocks[1], blocks[2]}, {}, {}}, {});
    }

  private:
    static py::object resolved(const py::object& size, Values given) {
        if (PyLong_CheckExact(size.ptr()) || PyTuple_CheckExact(size.ptr()) || !PyCallable_Check(size.ptr()))
            return size;
        PyObject* value = PyObject_Vectorcall(size.ptr(), given.data(), given.size(), nullptr);
        if (!value) throw py::error_already_set();
        return py::reinterpret_steal<py::object>(value);
    }

    const Facts& facts_of(Values given, const std::array<uint32_t, 3>& grid, const std::array<uint32_t, 3>& block,
                          const Settings& settings) const {
        Facts& facts = facts_;
        facts.clear();
        facts.fits = given.size() == takes_.size();
        if (!facts.fits) return facts;
        facts.add(block);
        facts.add(grid[0] > kFewBlocks);
        for (size_t i = 0; i < takes_.size() && facts.fits; ++i) add_argument(facts, i, given[i]);
        facts.bytes += settings.target;
        const runtime::Device& device = facts.device ? *facts.device : runtime::device(settings.device);
        facts.add(device.arch().place());
        facts.add(device.interprets());  // what came from disk has no graph
        return facts;
    }

    void add_argument(Facts& facts, size_t at, PyObject* value) const {
        const Takes takes = takes_[at];
        if (takes == Takes::constant) return add_constant(facts, value);
        facts.launched.push_back(at);
        if (takes == Takes::integer || takes == Takes::floating) return add_of_type(facts, takes, value);
        if (Py_TYPE(value) == tensor_info().type) return add_tensor(facts, *tensor_in(value));
        if (takes == Takes::tensor || takes == Takes::nothing) {
            facts.fits = false;
        } else if (PyLong_CheckExact(value)) {
            add_integer(facts, value);
        } else if (PyFloat_CheckExact(value)) {
            facts.add('f');
        } else {
            facts.launched.pop_back();
            const bool is_constant = is_plain(value) || PyTuple_CheckExact(value) || PyFunction_Check(value);
            facts.fits &= is_constant;
            add_constant(facts, value);
        }
    }

    const Known* find(const Facts& facts) const {
        if (!facts.fits) return nullptr;
        const auto found = known_.find(facts.bytes);
        if (found == known_.end()) return nullptr;
        for (const Known& known : found->second)
            if (std::ranges::equal(known.constants, facts.constants,
                                   [](const py::object& a, PyObject* b) { return same_constant(a.ptr(), b); }))
                return &known;
        return nullptr;
    }

    std::vector<Takes> takes_;
    std::vector<Watched> watched_;
    std::shared_ptr<const std::vector<Probe>> probes_;
    std::unordered_map<std::string, std::vector<Known>> known_;
    mutable Facts facts_;  ///< of the call that is looked at: its memory serves the next one
};

}  // namespace

void bind_lang_calls(py::module_& m) {
    m.attr("SIZE") = py::reinterpret_borrow<py::object>(sentinels()[0]);
    m.attr("ABSENT") = py::reinterpret_borrow<py::object>(sentinels()[1]);
    py::class_<KnownCalls>(m, "Calls", "The calls of a kernel that are known; _otherwise makes the others.",
                           py::custom_type_setup(&KnownCalls::take_slots))
        .def(py::init<>())
        .def("_set_parameters", &KnownCalls::set_parameters, py::arg("takes"))
        .def("_watch", &KnownCalls::watch, py::arg("values"), py::arg("probes"))
        .def("_is_current", &KnownCalls::is_current)
        .def("_add", &KnownCalls::add, py::arg("given"), py::arg("grid"), py::arg("block"), py::arg("kernel"),
             py::arg("sizes"));
}

}  // namespace strata::python
