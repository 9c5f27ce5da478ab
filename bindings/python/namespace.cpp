#include "methods_p.h"

// The methods as functions of the module, and the names that the Python array API has for them. Those of other
// arguments are written in strata/namespace.
namespace strata::python {
namespace {

using Array = As<"ArrayLike">;

template <class Result, class... Args>
void bind_function(py::module_& m, const char* name, Result (Tensor::*f)(Args...) const, std::string_view row,
                   const char* meaning) {
    auto call = [f](Array x, Args... args) { return (to_tensor(x).*f)(std::forward<Args>(args)...); };
    [&]<size_t... I>(std::index_sequence<I...>, const std::vector<Parameter>& p) {
        m.def(name, call, py::arg("x"), py::pos_only(), p.at(I)..., meaning);
    }(std::index_sequence_for<Args...>(), parameters_of(row));
}

template <class Result, class... Args>
void bind_computed_function(py::module_& m, const char* name, Result (Tensor::*f)(Args...) const, std::string_view row,
                            const char* meaning) {
    auto call = [f](Array x, Args... args) {
        Tensor t = to_tensor(x);
        return computing([&] { return (t.*f)(std::forward<Args>(args)...); });
    };
    [&]<size_t... I>(std::index_sequence<I...>, const std::vector<Parameter>& p) {
        m.def(name, call, py::arg("x"), py::pos_only(), p.at(I)..., meaning);
    }(std::index_sequence_for<Args...>(), parameters_of(row));
}

struct Name {
    const char *standard, *ours;
};
constexpr Name kNames[] = {
#define NAME(standard, ours) {#standard, #ours},
#include "array_api.def"
#undef NAME
};

}  // namespace

void bind_namespace(py::module_& module) {
    py::module_ m = module.def_submodule("operations", "The operations of tensors as functions; strata has each.");
#define CREATION(...)
#define METHOD(result, name, parameters, meaning) bind_function(m, #name, &Tensor::name, #parameters, meaning);
#define COMPUTED(result, name, parameters, meaning) \
    bind_computed_function(m, #name, &Tensor::name, #parameters, meaning);
#define SIZES(...)
#define VIEW(...)
#include "strata/ops/methods.def"
#undef CREATION
#undef METHOD
#undef COMPUTED
#undef SIZES
#undef VIEW
#define UNARY(name, accepts, meaning, ...) m.def(#name, &ops::name, py::arg("x"), py::pos_only(), meaning);
#define BINARY(name, accepts, meaning, ...) \
    m.def(#name, &ops::name, py::arg("x"), py::arg("other"), py::pos_only(), meaning);
#include "strata/ops/elementwise.def"
#undef UNARY
#undef BINARY
    for (const Name& row : kNames) m.attr(row.standard) = m.attr(row.ours);
}

}  // namespace strata::python
