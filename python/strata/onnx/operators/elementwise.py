"""Operators of one element at a time, and types of elements."""

import functools
import math

import numpy

from ... import _strata, nn
from ..._strata import Tensor, Unsupported
from ..values import NARROW, NARROW_RANGE, POWERS, Narrow, type_name
from .common import in_float32, is_narrow, wide

LARGEST = {"fp8e4m3": 448.0, "fp8e5m2": 57344.0, "fp8e4m3fnuz": 240.0, "fp8e5m2fnuz": 57344.0}


def held(x):
    """The values of a tensor, or of Narrow, as a tensor."""
    if not isinstance(x, Narrow) or x.kind != POWERS:
        return x.tensor if isinstance(x, Narrow) else x
    bits = x.tensor.cast("int32")
    bits = _strata.where(bits == 0, 1 << 22, bits * (1 << 23))  # 2 ** -127 is below the normal numbers
    return _strata.where(x.tensor == 255, math.nan, bits.bitcast("float32"))


def _exponents(x, saturate, round_mode):
    """The bits of the power of two that |x| is rounded to; infinities and NaN have all set."""
    bits = x.cast("float32").bitcast("int32")
    exponent, rest = (bits >> 23) & 255, bits & 0x7FFFFF
    if round_mode not in ("up", "down", "nearest"):
        raise Unsupported(f"[onnx] Cast with round_mode {round_mode}: up, down and nearest are there")
    more = {"up": rest > 0, "down": rest < 0, "nearest": (rest > 0x400000) | (rest == 0x400000) & (exponent > 0)}[
        round_mode
    ]
    more = more & (exponent < (254 if saturate else 255))
    return Narrow((exponent + more.cast("int32")).cast("uint8"), POWERS)


def to_type(x, name, saturate=1, round_mode="up"):
    """x (a tensor, or Narrow) as another type by its name here, or by that of NARROW."""
    x = held(x)
    if name == POWERS:
        return _exponents(x, saturate, round_mode)
    if name == "float4_e2m1fn":
        return Narrow(_quarter(wide(x)).cast("float16"), name)
    if name in NARROW:
        low, high = NARROW_RANGE[name]
        bits = (x.cast("int32") if x.dtype.is_float else x.cast("int64")) & (high - low)
        return Narrow(_strata.where(bits > high, bits - (high - low + 1), bits).cast(NARROW[name]), name)
    if name in LARGEST and saturate:
        x = (x if x.dtype == _strata.dtypes.float64 else x.cast("float32")).clip(-LARGEST[name], LARGEST[name])
    return x.cast(name)


def _quarter(x):
    """The nearest of 0, 0.5, 1, 1.5, 2, 3, 4, 6 with a sign, the even one of two."""
    size = abs(x).minimum(6.0)
    step = _strata.where(size < 2, 0.5, _strata.where(size < 4, 1.0, 2.0))
    out = (x / step).clip(-6 / step, 6 / step).round() * step
    return _strata.where(x.isnan(), -0.0, out)


def cast(x, *, to, saturate=1, round_mode="up"):
    return to_type(x, type_name(to), saturate, round_mode)


def cast_like(x, like, *, saturate=1, round_mode="up"):
    return to_type(x, like.kind if isinstance(like, Narrow) else like.dtype.name, saturate, round_mode)


def bit_cast(x, *, to):
    name = type_name(to)
    if x.dtype.is_bool or name == "boolean":  # of 0 and 1 alone
        return x.cast("uint8").bitcast(name) if x.dtype.is_bool else x.bitcast("uint8").cast(name)
    return x.bitcast(name)


def binary(f):
    """Up to version 6 the axes of y begin at `axis` of x."""

    def row(x, y, *, axis=None, broadcast=0):
        if broadcast and axis is not None:
            y = y.reshape([*y.shape, *[1] * (x.ndim - axis % max(x.ndim, 1) - y.ndim)])
        return f(x, y)

    return row


def of_all(f):
    return lambda *x: functools.reduce(f, x)


def mean(*x):
    return (of_all(Tensor.add)(*map(wide, x)) / len(x)).cast(x[0].dtype)


def summed(*x):
    return of_all(Tensor.add)(*map(wide, x)).cast(x[0].dtype)


def clip(x, min=None, max=None):
    return x.clip(min, max)


def gelu(x, *, approximate="none"):
    if approximate not in ("none", "tanh"):
        raise Unsupported(f"[onnx] Gelu with approximate {approximate}: none and tanh are there")
    return x.gelu() if approximate == "none" else x.gelu_tanh()


def divided(x, y):
    if x.dtype.is_float:
        return x / y
    down = x // y  # ONNX rounds toward 0
    return _strata.where((down < 0) & (down * y != x), down + 1, down)


def remainder(x, y, *, fmod=0):
    if not fmod and not x.dtype.is_float:
        return x.remainder(y)
    a, b = wide(x), wide(y)
    if not fmod:
        return a.remainder(b).cast(x.dtype)
    if x.dtype.is_unsigned:
        return x.remainder(y)
    size = abs(a).remainder(abs(b))
    return _strata.where(a < 0, -size, size).cast(x.dtype)


def power(x, y):
    if is_narrow(x):
        return wide(x).pow(wide(y)).cast(x.dtype)
    return x.pow(y).cast(x.dtype)


@in_float32
def leaky_relu(x, *, alpha=0.01):
    return _strata.where(x >= 0, x, x * alpha)


@in_float32
def elu(x, *, alpha=1.0):
    return _strata.where(x > 0, x, x.minimum(0).expm1() * alpha)


@in_float32
def celu(x, *, alpha=1.0):
    return _strata.where(x > 0, x, (x.minimum(0) / alpha).expm1() * alpha)


@in_float32
def selu(x, *, alpha=1.6732632423543772, gamma=1.0507009873554805):
    return _strata.where(x > 0, x, x.minimum(0).expm1() * alpha) * gamma


@in_float32
def hard_sigmoid(x, *, alpha=0.2, beta=0.5):
    return (x * alpha + beta).clip(0, 1)


@in_float32
def hard_swish(x):
    return (x < -3).where(-3, x) * hard_sigmoid(x, alpha=1 / 6)


@in_float32
def swish(x, *, alpha=1.0):
    return x.silu() if alpha == 1 else (x * alpha).silu() / alpha if alpha else x * 0.5


@in_float32
def softplus(x):
    return x.logaddexp(0)


@in_float32
def mish(x):
    return nn.Mish()(x)


@in_float32
def softsign(x):
    return nn.Softsign()(x)


def thresholded_relu(x, *, alpha=1.0):
    return _strata.where(x > alpha, x, 0)


def shrink(x, *, lambd=0.5, bias=0.0):
    a = wide(x) if x.dtype.is_float else x.cast("float32")
    return _strata.where(a < -lambd, a + bias, _strata.where(a > lambd, a - bias, 0)).cast(x.dtype)


def prelu(x, slope, *, version=9):
    """Up to version 6 a slope of one axis is one a channel."""
    if version < 7 and slope.ndim == 1 and x.ndim > 1 and slope.shape[0] > 1:
        slope = slope.reshape([-1 if i == 1 else 1 for i in range(x.ndim)])
    return _strata.where(x < 0, (wide(x) * wide(slope)).cast(x.dtype), x)


@in_float32
def swiglu(gate, value, *, alpha=1.0):
    return swish(gate, alpha=alpha) * value


def infinite(x, *, detect_negative=1, detect_positive=1):
    if detect_negative and detect_positive:
        return x.isinf()
    if not detect_negative and not detect_positive:
        return x.isinf() & False
    return x == (math.inf if detect_positive else -math.inf)


def bit_shift(x, y, *, direction):
    if direction not in ("LEFT", "RIGHT"):
        raise Unsupported(f"[onnx] BitShift with direction {direction}: LEFT or RIGHT")
    return x.bitwise_left_shift(y) if direction == "LEFT" else x.bitwise_right_shift(y)


def where(chosen, x, y):
    return _strata.where(chosen, x, y)


def dropout(x, ratio=None, training_mode=None, *, seed=0, count=1, version=13, is_test=0):
    """Dropout at inference: x itself, and a mask that keeps all."""
    if version < 7 and not is_test:
        raise Unsupported(
            "[onnx] Dropout of versions before 7 without is_test=1: what a model says of training is not done"
        )
    if training_mode is not None and bool(numpy.asarray(training_mode).reshape(-1)[0]):
        if (
            ratio is None
            or float(numpy.asarray(ratio.numpy() if isinstance(ratio, Tensor) else ratio).reshape(-1)[0]) != 0
        ):
            raise Unsupported("[onnx] Dropout with training_mode: what a model says of training is not done")
    if count == 1:
        return x
    return x, x.ones_like("boolean") if version >= 10 else x.ones_like()


ROWS = {
    "Abs": Tensor.abs, "Acos": Tensor.acos, "Acosh": Tensor.acosh, "Add": binary(Tensor.add),
    "And": binary(Tensor.logical_and), "Asin": Tensor.asin, "Asinh": Tensor.asinh, "Atan": Tensor.atan,
    "Atanh": Tensor.atanh,
    "BitCast": bit_cast, "BitShift": bit_shift, "BitwiseAnd": Tensor.bitwise_and, "BitwiseNot": Tensor.bitwise_invert,
    "BitwiseOr": Tensor.bitwise_or, "BitwiseXor": Tensor.bitwise_xor,
    "Cast": cast, "CastLike": cast_like, "Ceil": Tensor.ceil, "Celu": celu, "Clip": clip, "Cos": Tensor.cos,
    "Cosh": Tensor.cosh, "Div": binary(divided), "Dropout": dropout, "Elu": elu, "Equal": binary(Tensor.eq),
    "Erf": Tensor.erf,
    "Exp": Tensor.exp, "Floor": Tensor.floor, "Gelu": gelu, "Greater": binary(Tensor.gt), "GreaterOrEqual": Tensor.ge,
    "HardSigmoid": hard_sigmoid, "HardSwish": hard_swish, "Identity": lambda x: x, "IsInf": infinite,
    "IsNaN": Tensor.isnan,
    "LeakyRelu": leaky_relu, "Less": binary(Tensor.lt), "LessOrEqual": Tensor.le, "Log": Tensor.log,
    "Max": of_all(Tensor.maximum), "Mean": mean, "Min": of_all(Tensor.minimum), "Mish": mish, "Mod": remainder,
    "Mul": binary(Tensor.mul),
    "Neg": Tensor.neg, "Not": Tensor.logical_not, "Or": binary(Tensor.logical_or), "PRelu": prelu, "Pow": binary(power),
    "Reciprocal": Tensor.reciprocal, "Relu": Tensor.relu, "Round": Tensor.round, "Selu": selu, "Shrink": shrink,
    "Sigmoid": Tensor.sigmoid, "Sign": Tensor.sign, "Sin": Tensor.sin, "Sinh": Tensor.sinh, "Softplus": softplus,
    "Softsign": softsign, "Sqrt": Tensor.sqrt, "Sub": binary(Tensor.sub), "Sum": summed, "SwiGLU": swiglu,
    "Swish": swish,
    "Tan": Tensor.tan, "Tanh": Tensor.tanh, "ThresholdedRelu": thresholded_relu, "Where": where,
    "Xor": binary(Tensor.logical_xor), "ai.onnx.ml.Binarizer": lambda x, *,
    threshold=0.0: (x > threshold).cast(x.dtype),
}  # fmt: skip
