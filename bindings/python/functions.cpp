#include "convert_p.h"
#include "strata/ops/convolution.h"
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
    nn.def(
        "scaled_dot_product_attention", &ops::scaled_dot_product_attention, py::arg("query"), py::arg("key"),
        py::arg("value"), py::arg("mask") = py::none(), py::arg("causal") = false, py::arg("scale") = py::none(),
        "softmax(query @ key^T * scale + mask) @ value.\n\n"
        "query (..., n, d), key (..., m, d), value (..., m, e) -> (..., n, e). mask broadcasts to (..., n, m): bool "
        "(true = may\nattend) or a float that is added. causal: key j is seen by query i when j <= i; blocks of "
        "keys that "
        "none of a block of\nqueries sees are not read. Hidden values count as 0 times themselves where they are "
        "read, so "
        "they must be finite.\nscale: 1 / sqrt(d) by default. Of float16 and bfloat16 the weights are rounded to that "
        "type where matrix instructions\nmultiply them by the values.");
    nn.def("cross_entropy", &cross_entropy, py::arg("logits"), py::arg("target"), py::arg("reduction") = "mean",
           "-log_softmax(logits)[target]: logits (n, classes, ...) or (classes,), target integers (n, ...) or (). A "
           "negative class counts from the last one,\nas an index does. A target whose class has all but an ulp of the "
           "probability costs exactly 0, as in PyTorch.");
}

using Counts = As<"int | Sequence[int]">;

Shape counts(py::handle given) {
    return PyIndex_Check(given.ptr()) ? Shape{given.cast<int64_t>()} : given.cast<Shape>();
}
std::optional<Shape> counts_if_any(py::handle given) {
    return given.is_none() ? std::nullopt : std::optional(counts(given));
}

void bind_convolutions(py::module_& m) {
    using MaybeCounts = As<"int | Sequence[int] | None">;
    using Bias = std::optional<Tensor>;
    py::module_ f = m.attr("functional");
    f.def(
        "windows",
        [](const Tensor& x, Counts window, Counts stride, Counts dilation) {
            return ops::windows(x, counts(window), counts(stride), counts(dilation));
        },
        py::arg("x"), py::arg("window"), py::arg("stride") = 1, py::arg("dilation") = 1,
        "Sliding windows over the last axes of x, as many as the window has: x (..., sizes) -> (..., places, window). "
        "A\nwindow's elements are `dilation` apart, its places `stride` apart. A view: nothing is copied.");
    f.def(
        "conv",
        [](const Tensor& x, const Tensor& weight, const Bias& bias, Counts stride, Counts padding, Counts dilation,
           int64_t groups) {
            return ops::conv(x, weight, bias, {counts(stride), counts(padding), counts(dilation)}, groups);
        },
        py::arg("x"), py::arg("weight"), py::arg("bias") = py::none(), py::arg("stride") = 1, py::arg("padding") = 0,
        py::arg("dilation") = 1, py::arg("groups") = 1,
        "Cross-correlation over any number of axes, with `padding` zeros on both sides. x (n, in, sizes), weight (out, "
        "in /\ngroups, window), bias (out,) -> (n, out, places). Narrow floats accumulate as float32.");
    f.def(
        "conv_transpose",
        [](const Tensor& x, const Tensor& weight, const Bias& bias, Counts stride, Counts padding,
           Counts output_padding, Counts dilation, int64_t groups) {
            return ops::conv_transpose(x, weight, bias, {counts(stride), counts(padding), counts(dilation)},
                                       counts(output_padding), groups);
        },
        py::arg("x"), py::arg("weight"), py::arg("bias") = py::none(), py::arg("stride") = 1, py::arg("padding") = 0,
        py::arg("output_padding") = 0, py::arg("dilation") = 1, py::arg("groups") = 1,
        "The gradient of conv by its x. x (n, in, sizes), weight (in, out / groups, window) -> (n, out, (sizes - 1) * "
        "stride +\ndilation * (window - 1) + 1 - 2 * padding + output_padding).");
    f.def(
        "max_pool",
        [](const Tensor& x, Counts window, MaybeCounts stride, Counts padding, Counts dilation) {
            return ops::max_pool(x, counts(window), counts_if_any(stride), counts(padding), counts(dilation));
        },
        py::arg("x"), py::arg("window"), py::arg("stride") = py::none(), py::arg("padding") = 0,
        py::arg("dilation") = 1,
        "The largest under each place of a window over as many last axes as it has, one number each: (2, 2). stride: "
        "the "
        "window's by\ndefault.");
    f.def(
        "avg_pool",
        [](const Tensor& x, Counts window, MaybeCounts stride, Counts padding, bool count_padding) {
            return ops::avg_pool(x, counts(window), counts_if_any(stride), counts(padding), count_padding);
        },
        py::arg("x"), py::arg("window"), py::arg("stride") = py::none(), py::arg("padding") = 0,
        py::arg("count_padding") = true,
        "The mean under each place, as max_pool; padding counts as zeros, or not at all.");
}

}  // namespace

void bind_functions(py::module_& m) {
    m.def("where", &ops::where, py::arg("condition"), py::arg("x"), py::arg("y"),
          "x where the condition is not 0, else y; the three broadcast.");
    m.def("complex", &ops::complex, py::arg("real"), py::arg("imag"),
          "real + i imag of two real tensors or numbers that broadcast; complex128 where one is float64, else "
          "complex64.");
    m.def(
        "cat", [](Tensors tensors, int axis) { return ops::cat(all_tensors(tensors), axis); }, py::arg("tensors"),
        py::arg("axis") = 0, "Joins tensors along an axis they have; types are promoted.");
    m.def(
        "stack", [](Tensors tensors, int axis) { return ops::stack(all_tensors(tensors), axis); }, py::arg("tensors"),
        py::arg("axis") = 0, "Joins tensors of one shape along a new axis.");
    m.def("_root_of", &ops::root_of, py::arg("powers"), py::arg("order") = 2,
          "The root of this order of sums of powers: it has no gradient at 0, where its slope is infinite.");
    m.def("broadcast_shapes", &ops::broadcast_shapes, py::arg("a"), py::arg("b"), py::pos_only(),
          "The common shape; ShapeError when they do not fit.");
    constexpr const char* seeded =
        "Restarts the sequence of random numbers: the same calls give the same numbers on every device.";
    m.def("manual_seed", &ops::manual_seed, py::arg("seed") = 0, seeded);
    m.attr("Tensor").cast<py::class_<Tensor>>().def_static("manual_seed", &ops::manual_seed, py::arg("seed") = 0,
                                                           seeded);
    bind_nn(m);
    bind_convolutions(m);
}

}  // namespace strata::python
