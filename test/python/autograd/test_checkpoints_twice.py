"""Derivatives of derivatives through checkpoints and gradients of one's own, against NumPy's closed forms."""

import numpy as np
import pytest
import strata
from strata import Tensor, nn

X = np.array([0.5, 1.0, 2.0, -0.7])
own_sine = strata.custom_gradient(lambda x: (x.sin(), lambda g: g * x.cos()))


def product(x):
    return x.sin() * x


WAYS = {
    "checkpoint": strata.checkpoint(product),
    "checkpoint of checkpoint": strata.checkpoint(strata.checkpoint(product)),
    "checkpoint of a part": lambda x: strata.checkpoint(lambda v: v.sin())(x) * x,
    "checkpoint of a computed value": lambda x: strata.checkpoint(product)(x * 2 - x),
    "custom_gradient": lambda x: own_sine(x) * x,
    "custom_gradient in checkpoint": strata.checkpoint(lambda x: own_sine(x) * x),
    "checkpoint in custom_gradient": lambda x: (
        strata.custom_gradient(lambda v: (v.sin(), lambda g: g * strata.checkpoint(lambda w: w.cos())(v)))(x) * x
    ),
}
DERIVATIVES = [
    X * np.sin(X),
    np.sin(X) + X * np.cos(X),
    2 * np.cos(X) - X * np.sin(X),
    -3 * np.sin(X) - X * np.cos(X),
]


def derivative(f, order):
    for _ in range(order):
        f = (lambda g: strata.grad(lambda x: g(x).sum()))(f)
    return f


ways = pytest.mark.parametrize("way", WAYS)


@ways
@pytest.mark.parametrize("order", range(4))
def test_every_order_of_derivative_by_the_inputs(way, order):
    np.testing.assert_allclose(derivative(WAYS[way], order)(Tensor(X)).numpy(), DERIVATIVES[order], atol=1e-12)


@ways
def test_the_gradient_that_arrives_has_derivatives_too(way):
    f, first, second = DERIVATIVES[:3]
    of_square = strata.grad(lambda x: strata.grad(lambda u: (WAYS[way](u) ** 2).sum())(x).sum())
    np.testing.assert_allclose(of_square(Tensor(X)).numpy(), 2 * first**2 + 2 * f * second, atol=1e-12)
    seed = Tensor(np.array([1.0, -2.0, 0.5, 3.0]))
    by_seed = strata.grad(lambda g: strata.vjp(WAYS[way], Tensor(X))[1](g)[0].sum())
    np.testing.assert_allclose(by_seed(seed).numpy(), first, atol=1e-12)


@ways
def test_directional_derivatives_of_every_mix(way):
    t = np.array([0.3, -1.0, 2.0, 1.0])
    f, first, second = DERIVATIVES[:3]
    y, along = strata.jvp(WAYS[way], [Tensor(X)], [Tensor(t)])
    np.testing.assert_allclose(y.numpy(), f, atol=1e-12)
    np.testing.assert_allclose(along.numpy(), first * t, atol=1e-12)
    _, forward_of_reverse = strata.jvp(derivative(WAYS[way], 1), [Tensor(X)], [Tensor(t)])
    reverse_of_forward = strata.grad(lambda x: strata.jvp(WAYS[way], [x], [Tensor(t)])[1].sum())(Tensor(X))
    for got in (forward_of_reverse, reverse_of_forward):
        np.testing.assert_allclose(got.numpy(), second * t, atol=1e-12)


def test_mixed_derivatives_of_several_arguments_and_of_what_the_function_uses():
    a, b, w = (Tensor(np.array(v)) for v in ([0.5, 1.5], [2.0, -1.0], [1.0, 3.0]))

    def first(a, b, w):
        layer = strata.checkpoint(lambda a, b: a * a * b * b * w * w)
        return strata.grad(lambda a: layer(a, b).sum())(a).sum()

    for place, want in ((0, 2 * b**2 * w**2), (1, 4 * a * b * w**2), (2, 4 * a * b**2 * w)):
        np.testing.assert_allclose(strata.grad(first, place)(a, b, w).numpy(), want.numpy(), atol=1e-12)


def test_a_gradient_penalty_trains_through_a_checkpoint():
    grads = []
    for wrapped in (lambda f: f, strata.checkpoint):
        strata.manual_seed(3)
        layer = nn.Linear(3, 3)
        x = Tensor(np.linspace(-1, 1, 6).reshape(2, 3).astype("float32"))
        slope = strata.grad(lambda x, f=wrapped(lambda v, of=layer: of(v).tanh()): f(x).sum())(x)
        (slope * slope).sum().backward()
        grads.append(layer.weight.grad.numpy())
    assert np.abs(grads[0]).max() > 1e-3
    np.testing.assert_allclose(grads[1], grads[0], rtol=1e-5, atol=1e-6)


def test_random_numbers_of_a_checkpoint_are_the_same_in_every_order():
    def noisy(x):
        return x**3 * Tensor.rand(4, dtype="float64")

    strata.manual_seed(11)
    scale = derivative(noisy, 0)(Tensor(np.ones(4))).numpy()
    for order, want in enumerate((X**3, 3 * X**2, 6 * X, 6 * np.ones(4))):
        strata.manual_seed(11)
        np.testing.assert_allclose(
            derivative(strata.checkpoint(noisy), order)(Tensor(X)).numpy(), want * scale, rtol=1e-12
        )
