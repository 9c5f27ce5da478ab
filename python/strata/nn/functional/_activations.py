"""Activations by torch's names. `inplace=True` stores the result in input; the names that end in _ always do."""

from __future__ import annotations

from ..._strata import Tensor, UsageError
from .. import activations as _own
from ._shared import rounded_once, stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..._types import DTypeLike


__all__ = [
    "celu", "celu_", "elu", "elu_", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish",
    "hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_", "log_softmax", "logsigmoid",
    "mish", "prelu", "relu", "relu6", "relu_", "rrelu", "rrelu_", "selu", "selu_", "sigmoid", "silu", "softmax",
    "softmin", "softplus", "softshrink", "softsign", "tanh", "tanhshrink", "threshold", "threshold_",
]  # fmt: skip


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0)."""
    return stored(input, input.relu(), inplace)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """x kept within [0, 6]."""
    return stored(input, _own.ReLU6()(input), inplace)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """x kept within [min_val, max_val]."""
    if min_val > max_val:
        raise UsageError(f"[hardtanh] min_val {min_val} is above max_val {max_val}")
    return stored(input, _own.Hardtanh(min_val, max_val)(input), inplace)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """(x + 3) / 6 kept within [0, 1]."""
    return stored(input, rounded_once(_own.Hardsigmoid())(input), inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * hardsigmoid(x)."""
    return stored(input, rounded_once(_own.Hardswish())(input), inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x, or negative_slope * x below 0."""
    return stored(input, rounded_once(_own.LeakyReLU(negative_slope))(input), inplace)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x, or alpha * (exp(x) - 1) below 0."""
    return stored(input, rounded_once(_own.ELU(alpha=alpha))(input), inplace)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """The self-normalising elu."""
    return stored(input, rounded_once(_own.SELU())(input), inplace)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x, or alpha * (exp(x / alpha) - 1) below 0."""
    if alpha == 0:
        raise UsageError("[celu] alpha is 0: x is divided by it")
    return stored(input, _celu(input, alpha), inplace)


@rounded_once
def _celu(x, alpha):
    return (x > 0).where(x, (x > 0).where(0, x / alpha).expm1() * alpha)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * tanh(softplus(x))."""
    return stored(input, rounded_once(_own.Mish())(input), inplace)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x)."""
    return stored(input, input.silu(), inplace)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where it is above threshold, else value."""
    return stored(input, (input <= threshold).where(value, input), inplace)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """x, or below 0 x times a slope: in training a random one from [lower, upper] for each element, else their mean."""
    if lower > upper:
        raise UsageError(f"[rrelu] lower {lower} is above upper {upper}")
    return stored(input, _rrelu(input, lower, upper, training), inplace)


@rounded_once
def _rrelu(x, lower, upper, training):
    slope = Tensor.rand(x.shape, device=x.device) * (upper - lower) + lower if training else (lower + upper) / 2
    return (x > 0).where(x, (x * slope).cast(x.dtype))


def _in_place(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """function(input, ...) that stores its result in input."""
    import inspect

    stores: Any = lambda *given, **named: function(*given, **named, inplace=True)  # noqa: E731  # it gets attributes
    signature = inspect.signature(function)
    stores.__signature__ = signature.replace(parameters=[p for n, p in signature.parameters.items() if n != "inplace"])
    stores.__name__ = stores.__qualname__ = f"{function.__name__}_"
    stores.__doc__ = f"{function.__name__} whose result is stored in input, which is given back."
    return stores


_FORMS: tuple[Callable[..., Tensor], ...] = (relu, hardtanh, leaky_relu, elu, selu, celu, rrelu, threshold)
relu_, hardtanh_, leaky_relu_, elu_, selu_, celu_, rrelu_, threshold_ = map(_in_place, _FORMS)


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x))."""
    return input.sigmoid()


def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent."""
    return input.tanh()


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(x)), without overflow."""
    return rounded_once(_own.LogSigmoid())(input)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x * Phi(x); by tanh where approximate is 'tanh'."""
    if approximate not in ("none", "tanh"):
        raise UsageError(f"[gelu] approximate '{approximate}': use none or tanh")
    return input.gelu_tanh() if approximate == "tanh" else input.gelu()


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """a * sigmoid(b) of the halves a, b of an axis."""
    return rounded_once(_own.GLU(axis=dim))(input)


@rounded_once
def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    """log(1 + exp(beta * x)) / beta; x itself where beta * x is above threshold."""
    scaled = input * beta
    soft = _own.softplus(scaled)
    return (scaled > threshold).where(input, soft if beta == 1 else soft / beta)


def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|)."""
    return rounded_once(_own.Softsign())(input)


@rounded_once
def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x)."""
    return input - input.tanh()


def _not_negative(name, lambd):
    if not lambd >= 0:
        raise UsageError(f"[{name}] lambd {lambd} is below 0")


@rounded_once
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x moved by lambd towards 0, and 0 where |x| is at most lambd."""
    _not_negative("softshrink", lambd)
    return (input > lambd).where(input - lambd, (input < -lambd).where(input + lambd, input.isnan().where(input, 0)))


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x, and 0 where |x| is at most lambd."""
    return ((input >= -lambd) & (input <= lambd)).where(0, input)


@rounded_once
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x, or weight * x below 0: weight of one element, or one for each channel, which is axis 1."""
    if weight.size != 1 and (weight.ndim != 1 or input.ndim < 2 or weight.size != input.shape[1]):
        raise UsageError(
            f"[prelu] weight of shape {weight.shape} for shape {input.shape}: one element, or one for each of axis 1"
        )
    slope = weight.reshape(1, -1, *[1] * (input.ndim - 2)) if weight.size != 1 else weight.reshape(())
    return (input > 0).where(input, input * slope)


def _axis(x, dim):
    """The axis where none is named: 0 of tensors of no, one or three axes, else 1."""
    return dim if dim is not None else 0 if x.ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DTypeLike | None = None) -> Tensor:
    """exp(x) / sum(exp(x)) along an axis, of input cast to dtype first. No dim: 0 of at most one or of three axes, else
    1.
    """
    x = input if dtype is None else input.cast(dtype)
    return x.softmax(_axis(x, dim))


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DTypeLike | None = None) -> Tensor:
    """softmax of -x."""
    return softmax(-input, dim, dtype=dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: DTypeLike | None = None) -> Tensor:
    """log(softmax(x)) along an axis, as softmax takes it."""
    x = input if dtype is None else input.cast(dtype)
    return x.log_softmax(_axis(x, dim))


@rounded_once
def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """softmax((logits + Gumbel noise) / tau); hard: 1 at the largest and 0 elsewhere, with the gradient of the soft
    one. eps is not used.
    """
    noise = -(-Tensor.rand(logits.shape, device=logits.device).log()).log()
    soft = ((logits + noise.cast(logits.dtype)) / tau).softmax(dim)
    if not hard:
        return soft
    one = soft.argmax(dim).one_hot(soft.shape[dim], soft.dtype).movedim(-1, dim)
    return one - soft.detach() + soft
