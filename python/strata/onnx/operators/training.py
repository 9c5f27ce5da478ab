"""Optimisers' steps as operators, and random numbers."""

import numpy

from ... import _namespace as namespace, _strata
from ..._strata import Tensor, Unsupported
from ..values import type_name


def _step(count_of_states):
    """A row of (rate, turn, values, gradients, states) for any number of values."""

    def make(f):
        def row(rate, turn, *given, **how):
            n = len(given) // (2 + count_of_states)
            groups = [given[i * n : (i + 1) * n] for i in range(2 + count_of_states)]
            out = [f(rate, turn.cast("float32"), *one, **how) for one in zip(*groups)]
            return tuple(
                value.cast(kind.dtype)
                for column, kinds in zip(zip(*out), (groups[0], *groups[2:]))
                for value, kind in zip(column, kinds)
            )

        return row

    return make


@_step(1)
def adagrad(rate, turn, x, gradient, h, *, norm_coefficient=0.0, epsilon=0.0, decay_factor=0.0):
    g = gradient + x * norm_coefficient
    h = h + g.square()
    return x - g / (h.sqrt() + epsilon) * (rate / (turn * decay_factor + 1)), h


@_step(1)
def momentum(rate, turn, x, gradient, v, *, alpha, beta, mode="standard", norm_coefficient=0.0):
    g = gradient + x * norm_coefficient
    v = v * alpha + g * _strata.where(turn > 0, beta, 1.0)
    return x - (v if mode == "standard" else g + v * alpha) * rate, v


@_step(2)
def adam(
    rate,
    turn,
    x,
    gradient,
    v,
    h,
    *,
    alpha=0.9,
    beta=0.999,
    epsilon=0.0,
    norm_coefficient=0.0,
    norm_coefficient_post=0.0,
):
    g = gradient + x * norm_coefficient
    v, h = v * alpha + g * (1 - alpha), h * beta + g.square() * (1 - beta)
    first, second = (
        (turn * float(numpy.log(b))).expm1() * -1 if b > 0 else 1.0 for b in (alpha, beta)
    )  # 1 - b ** turn
    rate = _strata.where(turn > 0, (second**0.5) / first, 1.0) * rate
    return (x - v / (h.sqrt() + epsilon) * rate) * (1 - norm_coefficient_post), v, h


# Random numbers are Strata's (strata.manual_seed); a seed of the model's is of another generator.


def _shaped(draw):
    return lambda *, shape, dtype=1, device="", **how: draw(shape, device, type_name(dtype), **how)


def _like(draw):
    return lambda x, *, dtype=None, **how: draw(x.shape, x.device, type_name(dtype) if dtype else x.dtype.name, **how)


def normal(shape, device, kind, *, mean=0.0, scale=1.0, seed=0.0):
    return (Tensor.randn(tuple(shape), device=device) * scale + mean).cast(kind)


def uniform(shape, device, kind, *, low=0.0, high=1.0, seed=0.0):
    return (Tensor.rand(tuple(shape), device=device) * (high - low) + low).cast(kind)


def bernoulli(x, *, dtype=None, seed=0.0):
    return (Tensor.rand(x.shape, device=x.device) < x).cast(type_name(dtype) if dtype else x.dtype)


def multinomial(x, *, dtype=6, sample_size=1, seed=0.0):
    """Classes drawn by unnormalised logarithms of their probabilities."""
    if x.ndim != 2:
        raise Unsupported(f"[onnx] Multinomial of shape {x.shape}: (n, classes)")
    return namespace.multinomial(x.cast("float32").softmax(-1), sample_size, True).cast(type_name(dtype))


_TRAINING = "ai.onnx.preview.training."
ROWS = {
    f"{_TRAINING}Adagrad": adagrad, f"{_TRAINING}Adam": adam, f"{_TRAINING}Momentum": momentum, "Bernoulli": bernoulli,
    "Multinomial": multinomial, "RandomNormal": _shaped(normal),
    "RandomNormalLike": _like(normal), "RandomUniform": _shaped(uniform), "RandomUniformLike": _like(uniform),
}  # fmt: skip
