"""The operators of ONNX, a row each: its inputs in their order, then its attributes by name. What earlier versions have as an attribute
and later ones as an input has one name for both. https://onnx.ai/onnx/operators."""

import functools
import math

import numpy

from .. import _strata, functional
from .. import _namespace as namespace
from .._strata import Tensor, Unsupported
from .composed import COMPOSED, axis_of

OTHER_NAMES = {"float8_e4m3fn": "fp8e4m3", "float8_e5m2": "fp8e5m2", "float8_e4m3fnuz": "fp8e4m3fnuz", "float8_e5m2fnuz": "fp8e5m2fnuz"}


def numbers(x):
    """Integers that must be known when the graph is made; those of a tensor are computed."""
    return None if x is None else [int(i) for i in numpy.asarray(x).reshape(-1)]


def cast(x, *, to, saturate=1):
    from onnx import helper

    name = helper.tensor_dtype_to_np_dtype(to).name
    return x.cast(OTHER_NAMES.get(name, name))


# Convolution, pooling.


def sides(x, window, strides, dilations, pads, auto_pad):
    """(before, after) of each axis of the window."""
    n = len(window)
    if auto_pad in ("NOTSET", "VALID"):
        pads = list(pads or [0] * (2 * n)) if auto_pad == "NOTSET" else [0] * (2 * n)
        return [(pads[i], pads[i + n]) for i in range(n)]
    found = []
    for size, k, stride, dilation in zip(x.shape[-n:], window, strides, dilations):
        whole = max((-(-size // stride) - 1) * stride + dilation * (k - 1) + 1 - size, 0)
        less, more = whole // 2, whole - whole // 2
        found.append((less, more) if auto_pad == "SAME_UPPER" else (more, less))
    return found


def padded(x, around, value=0):
    return x.pad([(0, 0)] * (x.ndim - len(around)) + around, value) if any(a or b for a, b in around) else x


def conv(x, weight, bias=None, *, kernel_shape=None, strides=None, pads=None, dilations=None, group=1, auto_pad="NOTSET"):
    window = weight.shape[2:]
    strides, dilations = (list(v or [1] * len(window)) for v in (strides, dilations))
    x = padded(x, sides(x, window, strides, dilations, pads, auto_pad))
    return functional.conv(x, weight, bias, strides, 0, dilations, group)


def conv_transpose(x, weight, bias=None, *, kernel_shape=None, strides=None, pads=None, dilations=None, group=1, output_padding=None, auto_pad="NOTSET"):
    n = weight.ndim - 2
    pads = list(pads or [0] * (2 * n))
    if auto_pad != "NOTSET" or pads[:n] != pads[n:]:
        raise Unsupported(f"[onnx] ConvTranspose with auto_pad {auto_pad} and pads {pads}: explicit ones, equal on both sides, are there")
    strides, dilations, more = (list(given or [usual] * n) for given, usual in ((strides, 1), (dilations, 1), (output_padding, 0)))
    return functional.conv_transpose(x, weight, bias, strides, pads[:n], more, dilations, group)


def around_windows(x, kernel_shape, strides, pads, dilations, auto_pad, ceil_mode):
    if ceil_mode:
        raise Unsupported("[onnx] MaxPool and AveragePool with ceil_mode=1: with 0 they are there")
    strides, dilations = (list(v or [1] * len(kernel_shape)) for v in (strides, dilations))
    return sides(x, kernel_shape, strides, dilations, pads, auto_pad), strides, dilations


def max_pool(x, *, kernel_shape, strides=None, pads=None, dilations=None, auto_pad="NOTSET", ceil_mode=0, storage_order=0):
    around, strides, dilations = around_windows(x, kernel_shape, strides, pads, dilations, auto_pad, ceil_mode)
    least = -math.inf if x.dtype.is_float else namespace.iinfo(x.dtype).min
    return functional.max_pool(padded(x, around, least), list(kernel_shape), strides, 0, dilations)


def average_pool(x, *, kernel_shape, strides=None, pads=None, auto_pad="NOTSET", ceil_mode=0, count_include_pad=0, dilations=None):
    around, strides, dilations = around_windows(x, kernel_shape, strides, pads, dilations, auto_pad, ceil_mode)
    if any(d != 1 for d in dilations):
        raise Unsupported("[onnx] AveragePool with dilations")
    mean = functional.avg_pool(padded(x, around), list(kernel_shape), strides)
    if count_include_pad or not any(a or b for a, b in around):
        return mean
    return mean / functional.avg_pool(padded(x.ones_like(), around), list(kernel_shape), strides)


def over_places(x):
    return tuple(range(2, x.ndim))


# Norms.


def along(v, x, axis=1):
    return v.reshape([-1 if i == axis else 1 for i in range(x.ndim)])


def batch_norm(x, scale, bias, mean, var, *, epsilon=1e-5, momentum=0.9, training_mode=0, spatial=1):
    if training_mode:
        raise Unsupported("[onnx] BatchNormalization with training_mode=1")
    by = scale / (var + epsilon).sqrt()
    return x * along(by, x) + along(bias - mean * by, x)


def layer_norm(x, scale, bias=None, *, axis=-1, epsilon=1e-5, stash_type=1):
    return functional.layernorm(x, x.ndim - axis_of(axis, x.ndim), scale, bias, epsilon)


def instance_norm(x, scale, bias, *, epsilon=1e-5):
    axes = over_places(x)
    apart = x - x.mean(axes, True)
    return apart / (apart.square().mean(axes, True) + epsilon).sqrt() * along(scale, x) + along(bias, x)


def softmax_by(f):
    """Up to version 12 all axes from `axis` on are one."""

    def softmax(x, *, axis=None, version=13):
        if version >= 13:
            return f(x, -1 if axis is None else axis)
        at = axis_of(1 if axis is None else axis, x.ndim)
        return f(x.reshape(math.prod(x.shape[:at]), -1), -1).reshape(x.shape)

    return softmax


# Products.


def gemm(a, b, c=None, *, alpha=1.0, beta=1.0, transA=0, transB=0):
    y = (a.T if transA else a) @ (b.T if transB else b)
    y = y * alpha if alpha != 1 else y
    return y if c is None else y + (c * beta if beta != 1 else c)


# Shapes.


def reshape(x, shape, *, allowzero=0):
    sizes = numbers(shape)
    return x.reshape(sizes if allowzero else [x.shape[i] if n == 0 else n for i, n in enumerate(sizes)])


def expand(x, shape):
    return x.expand(_strata.broadcast_shapes(x.shape, tuple(numbers(shape))))


def unsqueeze(x, axes):
    return namespace.expand_dims(x, tuple(numbers(axes)))


def squeeze(x, axes=None):
    return x.squeeze(numbers(axes))


def flatten(x, *, axis=1):
    at = axis if axis == x.ndim else axis_of(axis, x.ndim)
    return x.reshape(math.prod(x.shape[:at]), math.prod(x.shape[at:]))


def slices(x, starts, ends, axes=None, steps=None):
    starts, ends = numbers(starts), numbers(ends)
    key = [slice(None)] * x.ndim
    for i, axis in enumerate(numbers(axes) or range(len(starts))):
        step = 1 if steps is None else numbers(steps)[i]
        end = None if step < 0 and ends[i] < -x.shape[axis] else ends[i]
        key[axis] = slice(starts[i], end, step)
    return x[tuple(key)]


def split(x, split=None, *, axis=0, num_outputs=None, count=1):
    n = x.shape[axis]
    most = -(-n // count)
    sizes = numbers(split) or [max(min(most, n - i * most), 0) for i in range(count)]
    return x.split(sizes, axis)


def pad(x, pads, constant_value=None, axes=None, *, mode="constant", value=0.0):
    given, chosen = numbers(pads), numbers(axes) or [*range(x.ndim)]
    around = [(0, 0)] * x.ndim
    for i, axis in enumerate(chosen):
        around[axis] = given[i], given[i + len(chosen)]
    if constant_value is not None:
        value = numpy.asarray(constant_value).reshape(-1)[0].item()
    return namespace.pad(x, around, {"wrap": "circular"}.get(mode, mode), value if x.dtype.is_float else int(value))


def trilu(x, k=None, *, upper=1):
    k = numbers(k)[0] if k is not None else 0
    return x.triu(k) if upper else x.tril(k)


# Reductions.


def reduction(f):
    def reduced(x, axes=None, *, keepdims=1, noop_with_empty_axes=0):
        over = tuple(numbers(axes) or ())
        return f(x, over if over or noop_with_empty_axes else None, bool(keepdims)).cast(x.dtype)

    return reduced


def extreme_place(f):
    def place(x, *, axis=0, keepdims=1, select_last_index=0):
        if select_last_index:
            return x.shape[axis] - 1 - f(x.flip(axis), axis, bool(keepdims))
        return f(x, axis, bool(keepdims))

    return place


def cumsum(x, axis, *, exclusive=0, reverse=0):
    at = numbers(axis)[0]
    x = x.flip(at) if reverse else x
    if exclusive:
        before = [(0, 0)] * x.ndim
        before[at] = 1, 0
        x = x.pad(before)[(slice(None),) * (at % x.ndim) + (slice(-1),)]
    out = x.cumsum(at, x.dtype)
    return out.flip(at) if reverse else out


# Elementwise.


def clip(x, min=None, max=None):
    return x.clip(min, max)


def softplus(x):
    return x.logaddexp(0)


def gelu(x, *, approximate="none"):
    return x.gelu() if approximate == "none" else x.gelu_tanh()


def divided(x, y):
    if x.dtype.is_float:
        return x / y
    down = x // y  # ONNX rounds toward 0
    return _strata.where((down < 0) & (down * y != x), down + 1, down)


def remainder(x, y, *, fmod=0):
    if not fmod:
        return x.remainder(y)
    size = abs(x).remainder(abs(y))
    return _strata.where(x < 0, -size, size)


def leaky_relu(x, *, alpha=0.01):
    return _strata.where(x >= 0, x, x * alpha)


def elu(x, *, alpha=1.0):
    return _strata.where(x > 0, x, x.minimum(0).expm1() * alpha)


def hard_sigmoid(x, *, alpha=0.2, beta=0.5):
    return (x * alpha + beta).clip(0, 1)


def einsum(*operands, equation):
    return namespace.einsum(equation, *operands)


def dropout(x, ratio=None, training_mode=None, *, seed=0, **before):
    if training_mode is not None and numbers(training_mode)[0]:
        raise Unsupported("[onnx] Dropout with training_mode: what a model says of training is not done")
    return x


def of_all(f):
    return lambda *x: functools.reduce(f, x)


def gather_nd(x, indices, *, batch_dims=0):
    ranges = [Tensor.arange(n).reshape([-1 if i == axis else 1 for i in range(indices.ndim - 1)]) for axis, n in enumerate(x.shape[:batch_dims])]
    return x[(*ranges, *(indices[..., i] for i in range(indices.shape[-1])))]


def gather(x, indices, *, axis=0):
    return x.take(indices, axis)


# Inputs of which a graph is made: they are known when it is, as arrays of the host.
KNOWN = {"axes", "axis", "constant_value", "depth", "ends", "k", "pads", "repeats", "roi", "scales", "shape", "sizes", "split", "starts", "steps", "training_mode"}

# Computed on the host alone, of what it knows (strata/onnx/__init__.py).
HOST = dict.fromkeys(("Constant", "ConstantOfShape", "If", "Range", "Shape"))

# Those whose results can be of any size, however small their inputs are.
GROWING = {"OneHot", "Pad", "Resize"}

OPERATORS = {
    **HOST, **COMPOSED,
    "Abs": Tensor.abs, "Acos": Tensor.acos, "Acosh": Tensor.acosh, "Add": Tensor.add, "And": Tensor.logical_and, "ArgMax": extreme_place(Tensor.argmax), "ArgMin": extreme_place(Tensor.argmin), "Asin": Tensor.asin, "Asinh": Tensor.asinh, "Atan": Tensor.atan, "Atanh": Tensor.atanh,
    "AveragePool": average_pool, "BatchNormalization": batch_norm, "Cast": cast, "CastLike": lambda x, like: x.cast(like.dtype), "Ceil": Tensor.ceil, "Clip": clip, "Concat": lambda *x, axis: _strata.cat(x, axis),
    "Conv": conv, "ConvTranspose": conv_transpose, "Cos": Tensor.cos, "Cosh": Tensor.cosh, "CumSum": cumsum, "Div": divided, "Dropout": dropout, "Einsum": einsum, "Elu": elu, "Equal": Tensor.eq, "Erf": Tensor.erf,
    "Exp": Tensor.exp, "Expand": expand, "Flatten": flatten, "Floor": Tensor.floor, "Gather": gather, "GatherElements": lambda x, indices, *, axis=0: x.gather(axis, indices), "GatherND": gather_nd, "Gelu": gelu, "Gemm": gemm,
    "GlobalAveragePool": lambda x: x.mean(over_places(x), True), "GlobalMaxPool": lambda x: x.max(over_places(x), True), "Greater": Tensor.gt, "GreaterOrEqual": Tensor.ge, "HardSigmoid": hard_sigmoid,
    "HardSwish": lambda x: x * hard_sigmoid(x, alpha=1 / 6), "Identity": lambda x: x, "InstanceNormalization": instance_norm, "IsInf": lambda x: x.isinf(), "IsNaN": Tensor.isnan, "LayerNormalization": layer_norm,
    "LeakyRelu": leaky_relu, "Less": Tensor.lt, "LessOrEqual": Tensor.le, "Log": Tensor.log, "LogSoftmax": softmax_by(Tensor.log_softmax), "MatMul": Tensor.matmul, "Max": of_all(Tensor.maximum), "MaxPool": max_pool,
    "Mean": lambda *x: of_all(Tensor.add)(*x) / len(x), "Min": of_all(Tensor.minimum), "Mod": remainder, "Mul": Tensor.mul, "Mish": lambda x: x * softplus(x).tanh(), "Neg": Tensor.neg, "Not": Tensor.logical_not, "Or": Tensor.logical_or, "Pad": pad,
    "PRelu": lambda x, slope: _strata.where(x < 0, x * slope, x), "Pow": lambda x, y: x.pow(y).cast(x.dtype), "Reciprocal": Tensor.reciprocal, "ReduceL1": reduction(lambda x, axes, keep: abs(x).sum(axes, keep, x.dtype)), "ReduceLogSumExp": reduction(lambda x, axes, keep: x.logsumexp(axes, keep)), "ReduceSumSquare": reduction(lambda x, axes, keep: x.square().sum(axes, keep, x.dtype)), "ReduceL2": reduction(lambda x, axes, keep: x.square().sum(axes, keep).sqrt()), "ReduceMax": reduction(Tensor.max),
    "ReduceMean": reduction(Tensor.mean), "ReduceMin": reduction(Tensor.min), "ReduceProd": reduction(Tensor.prod), "ReduceSum": reduction(lambda x, axes, keep: x.sum(axes, keep, x.dtype)), "Relu": Tensor.relu,
    "Reshape": reshape, "Round": Tensor.round, "Sigmoid": Tensor.sigmoid, "Sign": Tensor.sign, "Sin": Tensor.sin, "Sinh": Tensor.sinh, "Size": lambda x: numpy.array(x.size, numpy.int64), "Slice": slices, "Softmax": softmax_by(Tensor.softmax), "Softplus": softplus, "Softsign": lambda x: x / (1 + abs(x)), "Swish": lambda x, *, alpha=1.0: x * (x * alpha).sigmoid(), "Split": split,
    "Sqrt": Tensor.sqrt, "Squeeze": squeeze, "Sub": Tensor.sub, "Sum": of_all(Tensor.add), "Tan": Tensor.tan, "Tanh": Tensor.tanh, "Tile": lambda x, repeats: x.tile(numbers(repeats)), "Transpose": lambda x, *, perm=None: x.permute(perm) if perm else x.T,
    "Trilu": trilu, "Unsqueeze": unsqueeze, "Where": _strata.where, "Xor": Tensor.logical_xor,
}  # fmt: skip
