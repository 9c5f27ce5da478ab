// Functions of elements, by the rows of ops/elementwise.def: the same values as those of tensors.
#include "strata/codegen/tile/functions.h"
#include "lang/lang_p.h"
#include "strata/codegen/tile/arithmetic.h"

namespace strata::python {
namespace {

Tensor scalar_tensor(UOp x) { return Tensor(lang::machine_value(x)); }

struct RowOfOne {
    const char *name, *meaning;
    Tensor (*value)(const Tensor& x);
};
struct RowOfTwo {
    const char *name, *meaning;
    Tensor (*value)(const Tensor& a, const Tensor& b);
};

constexpr RowOfOne kUnaryFunctions[] = {
#define UNARY(name, accepts, meaning, ...) {#name, meaning, [](const Tensor& x) { return x.name(); }},
#define BINARY(...)
#include "strata/ops/elementwise.def"
#undef UNARY
#undef BINARY
};
constexpr RowOfTwo kBinaryFunctions[] = {
#define UNARY(...)
#define BINARY(name, accepts, meaning, ...) \
    {#name, meaning, [](const Tensor& a, const Tensor& b) { return a.name(b); }},
#include "strata/ops/elementwise.def"
#undef UNARY
#undef BINARY
};

/// Numbers that only meet each other are the kernel's too: what is computed has one form.
struct MetPair {
    Tensor a, b;
    bool weak;
};

MetPair met_pair(const char* name, py::handle x, py::handle y) {
    const LangValue a = to_lang_value(x, name), b = to_lang_value(y, name);
    const DType type = common_type(name, a, b);
    return {scalar_tensor(lang::converted(a.get(), type)), scalar_tensor(lang::converted(b.get(), type)),
            a.weak && b.weak};
}

}  // namespace

void bind_lang_functions(py::module_& m) {
    py::module_ f = m.def_submodule("functions", "Functions of elements, as tensors have them.");
    for (const RowOfOne& row : kUnaryFunctions)
        f.def(
            row.name,
            [&row](As<"Value | Scalar"> x, bool fast) -> As<"Value"> {
                GraphScope scope;
                const LangValue v = to_lang_value(x, row.name);
                if (fast) return from_value(lang::fast(row.name, lang::machine_value(v.get())), v.weak);
                return from_value(row.value(scalar_tensor(v.get())).uop(), v.weak);
            },
            py::arg("x"), py::pos_only(), py::arg("fast") = false, row.meaning);
    for (const RowOfTwo& row : kBinaryFunctions)
        f.def(
            row.name,
            [&row](As<"Value | Scalar"> x, As<"Value | Scalar"> y, bool fast) -> As<"Value"> {
                GraphScope scope;
                const MetPair given = met_pair(row.name, x, y);
                if (fast) return from_value(lang::fast(row.name, given.a.uop(), given.b.uop()), given.weak);
                return from_value(row.value(given.a, given.b).uop(), given.weak);
            },
            py::arg("x"), py::arg("other"), py::pos_only(), py::arg("fast") = false, row.meaning);
    m.def(
        "fast_functions",
        [] {
            py::dict bounds;
            for (const lang::FastFunction& f : lang::fast_functions())
                bounds[py::str(std::string(f.name))] =
                    py::make_tuple(f.relative, f.relative_of_x, f.absolute, f.absolute_of_x);
            return bounds;
        },
        "Functions that fast= is for, with their bounds in units of 2^-23: relative, of |x|, absolute, of |x|.");
}

}  // namespace strata::python
