// Calls of kernels that are known: what a call of the same kinds of arguments was traced as, in one step.
#include <unordered_map>

#include "front_end_p.h"
#include "kernels/kernels_p.h"
#include "lang/lang_p.h"
#include "strata/core/support/settings.h"
#include "strata/ops/custom.h"
#include "strata/runtime/device.h"

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
    std::vector<size_t> launched;  ///< arguments that the launch is given
    bool fits = true;              ///< false: the call has something that is looked at in Python

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
};

/// A value that a kernel read while it was traced: of a dict or class by its key, a list by its index, a cell.
struct Watched {
    py::object container, key, value;

    bool holds() const {
        PyObject* of = container.ptr();
        if (PyCell_Check(of)) return PyCell_GET(of) == value.ptr();
        if (PyType_Check(of)) of = reinterpret_cast<PyTypeObject*>(of)->tp_dict;
        if (PyDict_Check(of)) return PyDict_GetItemWithError(of, key.ptr()) == value.ptr();
        const Py_ssize_t at = PyLong_AsSsize_t(key.ptr());
        if (at < 0) return PyList_GET_SIZE(of) == PyLong_AsSsize_t(value.ptr());
        return at < PyList_GET_SIZE(of) && PyList_GET_ITEM(of, at) == value.ptr();
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

void add_tensor(Facts& facts, const Tensor& t, const runtime::Device*& device) {
    facts.add('t');
    facts.add(t.dtype().scalar);
    facts.add(t.shape().size());
    for (const int64_t size : t.shape()) facts.add(size);
    if (!device) device = t.placement();
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
    return is_plain(a) && is_plain(b) && Py_TYPE(a) == Py_TYPE(b) && PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

class KnownCalls {
  public:
    explicit KnownCalls(const py::list& takes) {
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

    /// The tensors that the kernel wrote, or none where no call like this is known.
    py::object launch(const py::tuple& given, const py::object& grid, const py::object& block) const {
        if (!is_current() || settings().compile_only) return py::none();
        std::array<uint32_t, 3> blocks{}, threads{};
        if (!take_sizes(resolved(grid, given), blocks) || !take_sizes(resolved(block, given), threads))
            return py::none();
        const Known* known = find(facts_of(given, blocks, threads));
        if (!known) return py::none();
        std::vector<ops::KernelArgument> arguments;
        std::vector<py::handle> tensors;
        arguments.reserve(known->launched.size() + known->sizes.size());
        for (const size_t at : known->launched) {
            const py::handle value = PyTuple_GET_ITEM(given.ptr(), static_cast<Py_ssize_t>(at));
            if (is_number(value)) {
                arguments.emplace_back(to_number(value));
                continue;
            }
            arguments.emplace_back(value.cast<Tensor&>());
            tensors.push_back(value);
        }
        for (const uint32_t dim : known->sizes) arguments.emplace_back(static_cast<int64_t>(blocks[dim]));
        const Kernel kernel = known->kernel;  // another thread may forget it while this one launches
        return launch_kernel(kernel, arguments, tensors, {{blocks[0], blocks[1], blocks[2]}, {}, {}}, {});
    }

    /// Remembers the kernel that a call was traced as.
    void add(const py::tuple& given, std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block, const Kernel& kernel,
             std::vector<uint32_t> sizes) {
        Facts facts = facts_of(given, grid, block);
        if (!facts.fits || find(facts)) return;
        Known known{{}, std::move(facts.launched), std::move(sizes), kernel};
        for (PyObject* constant : facts.constants)
            known.constants.push_back(py::reinterpret_borrow<py::object>(constant));
        known_[facts.bytes].push_back(std::move(known));
    }

    /// The values that the function read, from now on: (container, key, value) of each, of a list's size the key -1.
    /// Calls known of other values are forgotten.
    void watch(const std::vector<std::tuple<py::object, py::object, py::object>>& values) {
        known_.clear();
        watched_.clear();
        for (const auto& [container, key, value] : values) watched_.push_back({container, key, value});
    }
    /// Whether all of them are what they were.
    bool is_current() const {
        return std::ranges::all_of(watched_, [](const Watched& w) { return w.holds(); });
    }

  private:
    static py::object resolved(const py::object& size, const py::tuple& given) {
        if (PyLong_CheckExact(size.ptr()) || PyTuple_CheckExact(size.ptr()) || !PyCallable_Check(size.ptr()))
            return size;
        PyObject* value = PyObject_Call(size.ptr(), given.ptr(), nullptr);
        if (!value) throw py::error_already_set();
        return py::reinterpret_steal<py::object>(value);
    }

    Facts facts_of(const py::tuple& given, const std::array<uint32_t, 3>& grid,
                   const std::array<uint32_t, 3>& block) const {
        Facts facts;
        facts.fits = given.size() == takes_.size();
        if (!facts.fits) return facts;
        facts.bytes.reserve(256);
        facts.add(block);
        facts.add(grid[0] > kFewBlocks);
        const runtime::Device* device = nullptr;
        for (size_t i = 0; i < takes_.size() && facts.fits; ++i)
            add_argument(facts, i, PyTuple_GET_ITEM(given.ptr(), static_cast<Py_ssize_t>(i)), device);
        facts.bytes += settings().target;
        facts.add((device ? *device : runtime::device()).arch().place());
        return facts;
    }

    void add_argument(Facts& facts, size_t at, PyObject* value, const runtime::Device*& device) const {
        const Takes takes = takes_[at];
        if (takes == Takes::constant) return add_constant(facts, value);
        facts.launched.push_back(at);
        if (takes == Takes::integer || takes == Takes::floating) return add_of_type(facts, takes, value);
        static PyTypeObject* const tensor = reinterpret_cast<PyTypeObject*>(py::type::of<Tensor>().ptr());
        if (Py_TYPE(value) == tensor) return add_tensor(facts, py::handle(value).cast<const Tensor&>(), device);
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
    std::unordered_map<std::string, std::vector<Known>> known_;
};

}  // namespace

void bind_lang_calls(py::module_& m) {
    py::class_<KnownCalls>(m, "Calls", "The calls of a kernel that are known.")
        .def(py::init<const py::list&>(), py::arg("takes"))
        .def("launch", &KnownCalls::launch, py::arg("given"), py::arg("grid"), py::arg("block"))
        .def("watch", &KnownCalls::watch, py::arg("values"))
        .def("is_current", &KnownCalls::is_current)
        .def("add", &KnownCalls::add, py::arg("given"), py::arg("grid"), py::arg("block"), py::arg("kernel"),
             py::arg("sizes"));
}

}  // namespace strata::python
