#include "convert_p.h"
#include "strata/ops/nn.h"
#include "strata/ops/random.h"

namespace strata::python {
namespace {

using Tensors = As<"Sequence[ArrayLike]">;

std::vector<Tensor> all_tensors(py::handle list) {
    std::vector<Tensor> out;
    for (py::handle t : list) out.push_back(to_tensor(t));
    return out;
}

Tensor cross_entropy(const Tensor& logits, const Tensor& target, As<"Literal['mean', 'sum', 'none']"> reduction) {
    std::string name = py::str(reduction);
    for (auto [known, kind] :
         {std::pair("mean", ops::Reduction::mean), {"sum", ops::Reduction::sum}, {"none", ops::Reduction::none}})
        if (name == known) return ops::cross_entropy(logits, target, kind);
    user_error(ErrorKind::Usage, "[cross_entropy] reduction '{}': use mean, sum or none", name);
}

void bind_nn(py::module_& m) {
    py::module_ nn =
        m.def_submodule("functional", "Functions of neural networks, by composition of tensor operations.");
    nn.def("linear", &ops::linear, py::arg("x"), py::arg("weight"), py::arg("bias") = py::none(),
           "x (..., in) @ weight (out, in)^T + bias (out,).");
    nn.def("layernorm", &ops::layernorm, py::arg("x"), py::arg("axes") = 1, py::arg("weight") = py::none(),
           py::arg("bias") = py::none(), py::arg("eps") = 1e-5,
           "(x - mean) / sqrt(var + eps) over the last `axes` axes, then * weight + bias (shape of those axes) where "
           "given.");
    nn.def("rmsnorm", &ops::rmsnorm, py::arg("x"), py::arg("weight") = py::none(), py::arg("eps") = 1e-6,
           "x / sqrt(mean(x^2) + eps) over the last axis, then * weight where given.");
    nn.def("embedding", &ops::embedding, py::arg("ids"), py::arg("weight"),
           "Rows of weight (entries, width) by integer ids: ids.shape + (width,).");
    nn.def("scaled_dot_product_attention", &ops::scaled_dot_product_attention, py::arg("query"), py::arg("key"),
           py::arg("value"), py::arg("mask") = py::none(), py::arg("causal") = false, py::arg("scale") = py::none(),
           "softmax(query @ key^T * scale + mask) @ value.\n\n"
           "query (..., n, d), key (..., m, d), value (..., m, e) -> (..., n, e). mask broadcasts to (..., n, m): bool "
           "(true = may\nattend) or a float that is added. causal: key j is seen by query i when j <= i; blocks of "
           "keys that "
           "none of a block of\nqueries sees are not read. Hidden values count as 0 times themselves where they are "
           "read, so "
           "they must be finite.\nscale: 1 / sqrt(d) by default.");
    nn.def("cross_entropy", &cross_entropy, py::arg("logits"), py::arg("target"), py::arg("reduction") = "mean",
           "-log_softmax(logits)[target]: logits (n, classes, ...) or (classes,), target integers (n, ...) or ().");
}

}  // namespace

void bind_functions(py::module_& m) {
    m.def("where", &ops::where, py::arg("condition"), py::arg("x"), py::arg("y"),
          "x where the condition is not 0, else y; the three broadcast.");
    m.def(
        "cat", [](Tensors tensors, int axis) { return ops::cat(all_tensors(tensors), axis); }, py::arg("tensors"),
        py::arg("axis") = 0, "Joins tensors along an axis they have; types are promoted.");
    m.def(
        "stack", [](Tensors tensors, int axis) { return ops::stack(all_tensors(tensors), axis); }, py::arg("tensors"),
        py::arg("axis") = 0, "Joins tensors of one shape along a new axis.");
    m.def("broadcast_shapes", &ops::broadcast_shapes, py::arg("a"), py::arg("b"), py::pos_only(),
          "The common shape; ShapeError when they do not fit.");
    constexpr const char* seeded =
        "Starts the sequence of random numbers anew: the same calls give the same numbers on every device.";
    m.def("manual_seed", &ops::manual_seed, py::arg("seed") = 0, seeded);
    m.attr("Tensor").cast<py::class_<Tensor>>().def_static("manual_seed", &ops::manual_seed, py::arg("seed") = 0,
                                                           seeded);
    bind_nn(m);
}

}  // namespace strata::python
