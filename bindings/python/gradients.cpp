#include "strata/ops/gradients.h"

#include "strata/ops/gradient_rules.h"
#include "strata/ops/random.h"

#include "derivatives_p.h"
#include "front_end_p.h"
#include "methods_p.h"

namespace strata::python {

constinit thread_local int functions_differentiated = 0;

namespace {

std::optional<Tensor> if_there(Tensor t) { return t ? std::optional(std::move(t)) : std::nullopt; }

std::vector<ops::RuleInput> nodes_of(const std::vector<Tensor>& tensors) {
    std::vector<ops::RuleInput> nodes;
    for (const Tensor& t : tensors) nodes.emplace_back(t.uop());
    return nodes;
}

Tensor with_gradient(const Tensor& value, const std::vector<Tensor>& inputs, const As<"Callable[[Tensor], Any]">& to) {
    GraphScope scope;
    auto backward = [call = shared(to)](const Tensor& g) {
        std::vector<Tensor> out;
        for (py::handle part : (*call)(g)) out.push_back(part.is_none() ? Tensor() : part.cast<Tensor>());
        return out;
    };
    return ops::with_rule(value, {.inputs = nodes_of(inputs), .backward = backward});
}

Tensor made_again(const Tensor& value, const std::vector<Tensor>& inputs,
                  const As<"Callable[[list[Tensor]], Tensor]">& make) {
    GraphScope scope;
    auto again = [call = shared(make), inputs] {
        std::vector<Tensor> others;
        for (const Tensor& x : inputs) others.push_back(ops::recomputed(x));
        return ops::GradientRule::Again{(*call)(others).cast<Tensor>(), others};
    };
    return ops::with_rule(value, {.inputs = nodes_of(inputs), .again = again, .first = Root(value.uop())});
}

/// Weak references to the losses that this thread differentiated since an optimiser took them last. The optimiser
/// computes them with its step, as most of both is the same. A list of the thread's state.
py::list losses() {
    auto state = py::reinterpret_borrow<py::dict>(PyThreadState_GetDict());
    constexpr const char* kKey = "strata losses";
    if (!state.contains(kKey)) state[kKey] = py::list();
    return state[kKey];
}

void backward(const Tensor& t, const std::optional<Tensor>& gradient) {
    constexpr size_t kMost = 16;  // where no optimiser takes them
    t.backward(gradient.value_or(Tensor()));
    if (t.numel() != 1) return;
    py::list kept = losses();
    if (kept.size() == kMost) kept.attr("pop")(0);
    kept.append(py::weakref(py::cast(&t, py::return_value_policy::reference)));
}

std::vector<py::object> take_losses() {
    std::vector<py::object> alive;
    py::list kept = losses();
    for (py::handle loss : kept)
        if (py::object there = loss(); !there.is_none()) alive.push_back(std::move(there));
    kept.attr("clear")();
    return alive;
}

/// A log of random keys, for Python's with.
struct Keys {
    std::shared_ptr<ops::KeyLog> log = std::make_shared<ops::KeyLog>();
    std::vector<std::unique_ptr<ops::KeyLog::Scope>> scopes = {};
};

/// Functions of which strata/_derivatives.py makes its own.
void bind_for_derivatives(py::module_& m) {
    m.def("_wants_gradient", &ops::wants_gradient, py::arg("x"));
    m.def("_with_gradient", &with_gradient, py::arg("value"), py::arg("inputs"), py::arg("to"));
    m.def("_made_again", &made_again, py::arg("value"), py::arg("inputs"), py::arg("make"));
    m.def("_take_losses", &take_losses, "Losses of this thread, since this was called last, that are alive.");
    m.def("_no_grad", &ops::NoGrad::exchange, py::arg("without"),
          "Sets whether this thread makes tensors without a history; returns the setting before.");
    m.def(
        "_differentiating", [](int more) { return functions_differentiated += more; }, py::arg("more") = 0,
        "How many functions this thread differentiates, one inside of another; the argument is added to it.");
    py::class_<Keys>(m, "_Keys", "Random keys that a computation takes, and takes again where it is made once more.")
        .def(py::init<>())
        .def(
            "enter",
            [](Keys& k, bool again) { k.scopes.push_back(std::make_unique<ops::KeyLog::Scope>(*k.log, again)); },
            py::arg("again"))
        .def("exit", [](Keys& k) {
            if (k.scopes.empty()) user_error(ErrorKind::Usage, "[_Keys] left that was not entered");
            k.scopes.pop_back();
        });
    m.def("_stand_in", &ops::stand_in, py::arg("x"));
    m.def("_twin", &Tensor::twin, py::arg("x"),
          "The same node, with a gradient of its own where x has one: assigning to one leaves the other what it is.");
    m.def(
        "_become",
        [](Tensor& t, const Tensor& value) {
            const bool wanted = t.requires_grad();
            t = ops::detach(value).contiguous();
            computing([&] { t.realize(); });
            t.requires_grad_(wanted);
        },
        py::arg("t"), py::arg("value"),
        "The object holds value, of any type and device, and requires a gradient as before.");
    m.def("_replaced", &ops::replaced, py::arg("t"), py::arg("stand_ins"), py::arg("originals"));
}

}  // namespace

void bind_gradients(py::module_& m, TensorClass& c) {
    c.def(
        "requires_grad_", [](Tensor& t, bool wanted) -> Tensor& { return t.requires_grad_(wanted); },
        py::arg("requires_grad") = true, py::return_value_policy::reference,
        "From now on backward() of values made from this tensor leaves a gradient in its grad. The "
        "gradient\nof a complex tensor is d/d real + i d/d imag of the real result. DTypeError for other types than "
        "floats and complex ones.");
    c.def_property_readonly("requires_grad", &Tensor::requires_grad,
                            "Whether backward() leaves a gradient here; results of operations do not say it.");
    c.def_property(
        "grad", [](const Tensor& t) { return if_there(t.grad()); },
        [](Tensor& t, const std::optional<Tensor>& grad) { t.set_grad(grad.value_or(Tensor())); },
        "The gradient that backward() left here, of this shape and type; None at first. Set it to None before the next "
        "step.");
    c.def(
        "backward", &backward, py::arg("gradient") = py::none(),
        "Adds to the grad of each tensor that requires one the derivative of sum(gradient * this) by it. gradient: of "
        "this "
        "shape, may\nbe left out for one element. Operations keep no tape: the graph itself is differentiated, and "
        "stays. "
        "UsageError where this\ndepends on no tensor that requires a gradient; Unsupported for operations that have "
        "none.");
    c.def("detach", &ops::detach, "The same values, through which no gradient goes; costs nothing.");
    c.def(
        "assign", [](Tensor& t, As<"ArrayLike"> value) -> Tensor& { return t.assign(to_tensor(value)); },
        py::arg("value"), py::return_value_policy::reference,
        "This tensor becomes value, of the same shape and type, and goes on to require its gradient. Results made of "
        "it\nbefore stay as they are. Nothing is computed: realize it together with what else a step changes.");
    m.def(
        "gradients",
        [](const Tensor& y, const std::vector<Tensor>& xs, const std::optional<Tensor>& seed) {
            std::vector<std::optional<Tensor>> out;
            for (Tensor& g : ops::gradients(y, xs, seed.value_or(Tensor()))) out.push_back(if_there(std::move(g)));
            return out;
        },
        py::arg("y"), py::arg("xs"), py::arg("seed") = py::none(),
        "Derivatives of sum(seed * y) by each of xs, tensors that y was made of; None for one that it was not. They "
        "are graphs,\nwith derivatives of their own. seed: of y's shape, 1 everywhere by default. By a complex x it is "
        "d/d real + i d/d\nimag, as PyTorch has it (JAX: its conjugate). A complex y needs a seed, and stands for "
        "real(conj(seed) * y). One of xs\nis a place to stop: what it is made of is not looked at.");
    bind_for_derivatives(m);
}

}  // namespace strata::python
