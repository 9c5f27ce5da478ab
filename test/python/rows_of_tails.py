"""How exact functions are over their whole range: rows of test_tails.py. Values and slopes by long double, without
cancellation.

Tail(name, function, value, slope, low, high, of_value, of_slope)
low, high           the range, which the largest and smallest numbers of the type end
of_value, of_slope  most epsilons by which each may be off, relatively: a number, or a function of x
"""

import math
from typing import Any, NamedTuple

import numpy as np
import strata
from strata import Tensor, nn
from strata.nn import losses

SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


class Tail(NamedTuple):
    name: str
    function: Any
    value: Any
    slope: Any
    low: float = -800
    high: float = 800
    of_value: Any = 4
    of_slope: Any = 6


def sigmoid(x):
    t = np.exp(-np.abs(x))
    return np.where(x < 0, t, 1) / (1 + t)


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def density(x):
    return np.exp(-x * x / 2) / np.sqrt(2 * np.longdouble(math.pi))


def below(x):
    """The normal distribution function; its tail by Laplace's continued fraction."""
    y = np.maximum(np.abs(x), 3)
    fraction = y
    for k in range(300, 0, -1):
        fraction = y + k / fraction
    middle = np.array([math.erfc(-float(v) / math.sqrt(2)) / 2 for v in np.clip(x, -4, 40)]).astype(np.longdouble)
    return np.where(x < -3, density(np.minimum(x, -3)) / fraction, middle)


def sigmoid_of_gelu(x):
    scale = 2 * np.sqrt(2 / np.longdouble(math.pi))
    near = np.clip(x, -1000, 1000)
    return sigmoid(scale * (near + 0.044715 * near**3)), scale * (1 + 3 * 0.044715 * near**2)


def slope_of_gelu_tanh(x):
    s, inner = sigmoid_of_gelu(x)
    return s + np.clip(x, -1000, 1000) * sigmoid_of_gelu(-x)[0] * s * inner


def mish_parts(x):
    n = np.exp(np.minimum(x, 0)) * (np.exp(np.minimum(x, 0)) + 2 * np.exp(np.minimum(-x, 0)))
    return n / (n + 2 * np.exp(2 * np.minimum(-x, 0)))


def slope_of_mish(x):
    t = mish_parts(x)
    return t + x * (1 - t) * (1 + t) * sigmoid(x)


def exponents(x):
    """Epsilons of a power whose exponent was rounded on the way."""
    return 8 + 4 * np.minimum(np.abs(x) * (0.8 + 0.0357 * x * x), 1000) * (x < 0)


def of_logits(target):
    def loss(x):
        return losses.binary_cross_entropy_with_logits(x, x.full_like(target), "none")

    return Tail(
        f"binary_cross_entropy_with_logits of {target}",
        loss,
        lambda x: target * softplus(-x) + (1 - target) * softplus(x),
        lambda x: (1 - target) * sigmoid(x) - target * sigmoid(-x),
    )


def of_signs(sign):
    return Tail(
        f"soft_margin of {sign}",
        lambda x: losses.soft_margin(x, x.full_like(sign), "none"),
        lambda x: softplus(-sign * x),
        lambda x: -sign * sigmoid(-sign * x),
    )


def focal(x):
    return sigmoid(-x) ** 2 * softplus(-x)


def slope_of_focal(x):
    s = sigmoid(-x)
    return -(s**3) - 2 * s * s * sigmoid(x) * softplus(-x)


def log_cosh(x):
    return np.where(
        np.abs(x) < 1,
        np.log1p(2 * np.sinh(np.clip(x, -1, 1) / 2) ** 2),
        np.abs(x) + np.log1p(np.exp(-2 * np.abs(x))) - np.log(np.longdouble(2)),
    )


def pair(x):
    return strata.stack([x, x.zeros_like()], -1)


ONE = np.longdouble(1)
ROWS = [
    Tail("softplus", Tensor.softplus, softplus, sigmoid),
    Tail("nn.Softplus", nn.Softplus(), softplus, sigmoid),
    Tail("nn.LogSigmoid", nn.LogSigmoid(), lambda x: -softplus(-x), lambda x: sigmoid(-x)),
    Tail("logaddexp", lambda x: x.logaddexp(0.0), softplus, sigmoid),
    # below, 1 + e^x is a sum that was rounded
    Tail("logsumexp", lambda x: pair(x).logsumexp(-1), softplus, sigmoid, -1, 800),
    # above, the weight is a sum that was rounded
    Tail("softmax", lambda x: pair(x).softmax(-1)[..., 0], sigmoid, lambda x: sigmoid(x) * sigmoid(-x), -800, 2,
        of_slope=16),
    Tail("sigmoid", Tensor.sigmoid, sigmoid, lambda x: sigmoid(x) * sigmoid(-x), of_slope=8),
    Tail("silu", Tensor.silu, lambda x: x * sigmoid(x), lambda x: sigmoid(x) * (1 + x * sigmoid(-x)), of_slope=8),
    Tail("gelu", Tensor.gelu, lambda x: x * below(x), lambda x: below(x) + x * density(x)),
    Tail("gelu_tanh", Tensor.gelu_tanh, lambda x: x * sigmoid_of_gelu(x)[0], slope_of_gelu_tanh, of_value=exponents,
        of_slope=exponents),
    Tail("nn.Mish", nn.Mish(), lambda x: x * mish_parts(x), slope_of_mish, of_value=8, of_slope=16),
    Tail("nn.ELU", nn.ELU(), lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
        lambda x: np.exp(np.minimum(x, 0))),
    Tail("nn.SELU", nn.SELU(), lambda x: SELU_SCALE * np.where(x > 0, x, SELU_ALPHA * np.expm1(np.minimum(x, 0))),
        lambda x: SELU_SCALE * np.where(x > 0, ONE, SELU_ALPHA * np.exp(np.minimum(x, 0)))),
    Tail("expm1", Tensor.expm1, np.expm1, np.exp),
    Tail("log1p", Tensor.log1p, np.log1p, lambda x: 1 / (1 + x), -0.999, 1e30),
    Tail("tanh", Tensor.tanh, np.tanh, lambda x: 4 * sigmoid(2 * x) * sigmoid(-2 * x), -4, 4,
        of_slope=lambda x: 8 * np.cosh(x) ** 2),
    of_logits(0.0), of_logits(1.0), of_logits(0.25), of_signs(1.0), of_signs(-1.0),
    Tail("focal", lambda x: losses.focal(x, x.ones_like(), reduction="none"), focal, slope_of_focal, -80, 40, 12, 16),
    Tail("binary_cross_entropy of 0", lambda x: losses.binary_cross_entropy(x, x.zeros_like(), "none"),
        lambda x: -np.log1p(-x), lambda x: 1 / (1 - x), 1e-11, 0.999, of_slope=8),
    Tail("binary_cross_entropy of 1", lambda x: losses.binary_cross_entropy(x, x.ones_like(), "none"),
        lambda x: -np.log(x), lambda x: -1 / x, 1e-11, 0.999, of_slope=8),
    Tail("log_cosh", lambda x: losses.log_cosh(x, x.zeros_like(), "none"), log_cosh, np.tanh, of_value=8, of_slope=12),
]  # fmt: skip
