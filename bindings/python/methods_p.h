#pragma once
#include "convert_p.h"
#include "front_end_p.h"

// Binds members of Tensor from their rows in methods.def: names and defaults of the parameters come from the row's
// text, their types from the member.

namespace strata::python {

using TensorClass = py::class_<Tensor>;

/// A parameter of a row, "int axis = -1". It is counted as a py::arg.
struct Parameter : py::arg {
    Parameter(std::string_view text);
    std::string text_name;
    std::optional<py::object> initial;
};

/// "(Axes axis = {}, bool keepdims = false)"
std::vector<Parameter> parameters_of(std::string_view row);

/// A Python object in C++ that may be dropped without the GIL.
inline std::shared_ptr<py::object> shared(py::object value) {
    return {new py::object(std::move(value)), [](py::object* held) {
                py::gil_scoped_acquire gil;
                delete held;
            }};
}

inline Tensor placed(Tensor t, const std::string& device) { return device.empty() ? t : t.to(device); }

}  // namespace strata::python

template <>
struct pybind11::detail::process_attribute<strata::python::Parameter>
    : process_attribute_default<strata::python::Parameter> {
    static void init(const strata::python::Parameter& p, function_record* r) {
        if (p.initial)
            process_attribute<arg_v>::init(arg_v(p.text_name.c_str(), *p.initial), r);
        else
            process_attribute<arg>::init(arg(p.text_name.c_str()), r);
    }
};

namespace strata::python {

template <class Result, class... Args>
void bind_method(TensorClass& c, const char* name, Result (Tensor::*f)(Args...) const, std::string_view row,
                 const char* meaning) {
    [&]<size_t... I>(std::index_sequence<I...>, const std::vector<Parameter>& p) {
        c.def(name, f, p.at(I)..., meaning);
    }(std::index_sequence_for<Args...>(), parameters_of(row));
}

template <class Result, class... Args>
void bind_computed(TensorClass& c, const char* name, Result (Tensor::*f)(Args...) const, std::string_view row,
                   const char* meaning) {
    auto call = [f](const Tensor& t, Args... args) {
        return computing([&] { return (t.*f)(std::forward<Args>(args)...); });
    };
    [&]<size_t... I>(std::index_sequence<I...>, const std::vector<Parameter>& p) {
        c.def(name, call, p.at(I)..., meaning);
    }(std::index_sequence_for<Args...>(), parameters_of(row));
}

template <class... Args>
void bind_creation(TensorClass& c, const char* name, Tensor (*f)(Args...), std::string_view row, const char* meaning) {
    auto call = [f](Args... args, const std::string& device) { return placed(f(std::forward<Args>(args)...), device); };
    [&]<size_t... I>(std::index_sequence<I...>, const std::vector<Parameter>& p) {
        c.def_static(name, call, p.at(I)..., py::arg("device") = "", meaning);
    }(std::index_sequence_for<Args...>(), parameters_of(row));
}

template <class Sizes>
void bind_sizes(TensorClass& c, const char* name, Tensor (Tensor::*f)(Sizes) const, std::string_view row,
                const char* meaning) {
    OwnSignature own;
    c.def(
        name,
        [f](const Tensor& t, const py::args& given) {
            if constexpr (std::is_same_v<std::decay_t<Sizes>, Shape>) {
                return (t.*f)(to_shape(given));
            } else {
                return (t.*f)(to_axes_list(given));
            }
        },
        fmt::format("{}(self, *{}: Shape) -> Tensor\n\n{}", name, parameters_of(row).at(0).text_name, meaning).c_str());
}

void bind_data(py::module_& m, TensorClass& c);  ///< the value, its memory, and Python's protocols
/// DLDevice: where a tensor's memory is.
using DlpackDevice = std::pair<int, int>;
constexpr DlpackDevice kHostOfDLPack{1, 0};  // kDLCPU
DlpackDevice dlpack_device(const Tensor& t);
DlpackDevice dlpack_device(const runtime::Device& device);
void bind_dlpack(py::module_& m, TensorClass& c);
void bind_gradients(py::module_& m, TensorClass& c);
void bind_capture(py::module_& m);  ///< what strata/_jit.py is made with

}  // namespace strata::python
