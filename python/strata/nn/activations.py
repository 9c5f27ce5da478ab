"""Activations as modules, one row each; those with `glu` halve an axis: one half gates the other (Shazeer 2020)."""

from __future__ import annotations

import math

from .._checks import check_all, integer, real
from .._derivatives import custom_gradient as _custom_gradient
from .._narrow import rounded_once
from .._strata import ArgumentError, ShapeError
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._strata import Tensor


__all__ = [
    "ReLU", "LeakyReLU", "ELU", "SELU", "GELU", "GELUTanh", "SiLU", "Mish", "Softplus", "Softsign", "Sigmoid",
    "LogSigmoid", "Tanh", "Hardtanh", "Hardsigmoid", "Hardswish", "ReLU6", "Softmax", "LogSoftmax", "GLU", "SwiGLU",
    "GEGLU", "ReGLU",
]  # fmt: skip


def softplus(x: Tensor) -> Tensor:
    return x.softplus()


def _exponential_below(x):
    """exp(x) - 1 below 0; at 0 of the slope that it has there."""
    return (x > 0).where(0, x).expm1()


_FAR = 1000  # of e^-x nothing is left there


def _within(x):
    """x, and what stands for it where |x| is so large that e^-|x| is 0."""
    return (x.abs() > _FAR).where(_FAR, x)


@_custom_gradient
def _mish(x):
    """x tanh(log(1 + e^x)) = x n / (n + 2), n = e^x (e^x + 2): nothing cancels. Above 0 by e^-x, which does not
    overflow.
    """
    above = x > 0
    e = above.where(-x, x).exp()
    n, rest = above.where(e * 2 + 1, e * (e + 2)), above.where(e * e * 2, 2)
    inverse = 1 / (n + rest)
    step = n * inverse
    slope = step + _within(x) * (rest * inverse) * (1 + step) * x.sigmoid()
    return (x < -_FAR).where(-1.0, x) * step, lambda g: g * slope


@_custom_gradient
def _softsign(x):
    beyond = x.abs() + 1
    return x.isinf().where(x.sign(), x / beyond), lambda g: g / beyond.square()


def _halves(x, axis):
    if not -x.ndim <= axis < x.ndim or x.shape[axis] % 2:
        raise ShapeError(f"[glu] axis {axis} of shape {x.shape} has an odd size, or is not there")
    return x.split([x.shape[axis] // 2] * 2, axis)


def _gated(gate):
    def glu(x, axis=-1):
        value, by = _halves(x, axis)
        return value * gate(by)

    return glu


_ROWS = {
    "ReLU": (lambda x: x.relu(), "max(x, 0)."),
    "LeakyReLU": (
        lambda x, negative_slope=0.01: (x > 0).where(x, x * negative_slope),
        "x, or negative_slope * x below 0.",
    ),
    "ELU": (
        lambda x, alpha=1.0: (x > 0).where(x, alpha * _exponential_below(x)),
        "x, or alpha * (exp(x) - 1) below 0.",
    ),
    "SELU": (
        lambda x: 1.0507009873554805 * (x > 0).where(x, 1.6732632423543772 * _exponential_below(x)),
        "Self-normalising ELU (Klambauer et al. 2017).",
    ),
    "GELU": (lambda x: x.gelu(), "x * Phi(x), exact."),
    "GELUTanh": (lambda x: x.gelu_tanh(), "The tanh approximation of GELU."),
    "SiLU": (lambda x: x.silu(), "x * sigmoid(x)."),
    "Mish": (_mish, "x * tanh(softplus(x))."),
    "Softplus": (softplus, "log(1 + exp(x)), without overflow."),
    "Softsign": (_softsign, "x / (1 + |x|)."),
    "Sigmoid": (lambda x: x.sigmoid(), "1 / (1 + exp(-x))."),
    "LogSigmoid": (lambda x: -softplus(-x), "log(sigmoid(x)), without overflow."),
    "Tanh": (lambda x: x.tanh(), "Hyperbolic tangent."),
    "Hardtanh": (lambda x, min_val=-1.0, max_val=1.0: x.clamp(min_val, max_val), "x kept within [min_val, max_val]."),
    "Hardsigmoid": (lambda x: ((x + 3) / 6).clamp(0, 1), "(x + 3) / 6 kept within [0, 1]."),
    "Hardswish": (lambda x: (x < -3).where(-3, x) * ((x + 3) / 6).clamp(0, 1), "x * Hardsigmoid(x)."),
    "ReLU6": (lambda x: x.clamp(0, 6), "x kept within [0, 6]."),
    "Softmax": (lambda x, axis=-1: x.softmax(axis), "exp(x) / sum(exp(x)) along an axis."),
    "LogSoftmax": (lambda x, axis=-1: x.log_softmax(axis), "log(softmax(x)) along an axis."),
    "GLU": (_gated(lambda x: x.sigmoid()), "a * sigmoid(b) of the halves a, b of an axis."),
    "SwiGLU": (_gated(lambda x: x.silu()), "a * silu(b) of the halves a, b of an axis."),
    "GEGLU": (_gated(lambda x: x.gelu()), "a * gelu(b) of the halves a, b of an axis."),
    "ReGLU": (_gated(lambda x: x.relu()), "a * relu(b) of the halves a, b of an axis."),
}


def _module(name, function, meaning):
    computed = rounded_once(function)

    def __init__(self, *given, **values):
        known = function.__code__.co_varnames[1 : function.__code__.co_argcount]
        if len(given) > len(known):
            raise ArgumentError(f"[{name}] takes ({', '.join(known)}), got {len(given)} values")
        values = dict(zip(known, given)) | values
        if any(v not in known for v in values):
            from .._hints import by_own_names

            renamed = by_own_names(name, known, values)
            values = values if renamed is None else renamed
        if unknown := [v for v in values if v not in known]:
            raise ArgumentError(f"[{name}] takes ({', '.join(known)}); there is no argument '{unknown[0]}'")
        for value, given in values.items():
            values[value] = integer(name, value, given, -math.inf) if value == "axis" else real(name, value, given)
        self.values = values

    return type(name, (Module,), {
        "__doc__": meaning, "__module__": __name__, "__init__": __init__, "forward": lambda self,
        x: computed(x, **self.values),
        "_describes": lambda self: ", ".join(f"{k}={v}" for k, v in self.values.items()),
    })  # fmt: skip


if TYPE_CHECKING:

    class _Activation(Module):
        def __init__(self, *given: float, **values: float) -> None: ...

    ReLU: type[_Activation]
    LeakyReLU: type[_Activation]
    ELU: type[_Activation]
    SELU: type[_Activation]
    GELU: type[_Activation]
    GELUTanh: type[_Activation]
    SiLU: type[_Activation]
    Mish: type[_Activation]
    Softplus: type[_Activation]
    Softsign: type[_Activation]
    Sigmoid: type[_Activation]
    LogSigmoid: type[_Activation]
    Tanh: type[_Activation]
    Hardtanh: type[_Activation]
    Hardsigmoid: type[_Activation]
    Hardswish: type[_Activation]
    ReLU6: type[_Activation]
    Softmax: type[_Activation]
    LogSoftmax: type[_Activation]
    GLU: type[_Activation]
    SwiGLU: type[_Activation]
    GEGLU: type[_Activation]
    ReGLU: type[_Activation]


for _name, (_function, _meaning) in _ROWS.items():
    globals()[_name] = _module(_name, _function, _meaning)


check_all(globals(), __name__)
