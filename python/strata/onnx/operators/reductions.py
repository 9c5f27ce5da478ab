"""Operators over axes: sums, extremes, norms, running sums, softmax."""

import math

from ... import _namespace as namespace, _strata
from ..._strata import Tensor, Unsupported
from .common import axis_of, in_float32, numbers, positions, wide


def _least(kind):
    return -math.inf if kind.is_float else False if kind.is_bool else namespace.iinfo(kind).min


def _largest(kind):
    return math.inf if kind.is_float else True if kind.is_bool else namespace.iinfo(kind).max


def reduction(f, of_none=None):
    """of_none: what comes of no elements, by the type."""

    def reduced(x, axes=None, *, keepdims=1, noop_with_empty_axes=0):
        over = tuple(axis_of(axis, x.ndim) for axis in numbers(axes) or ())
        over = over if over or noop_with_empty_axes else tuple(range(x.ndim))
        if of_none is not None and math.prod(x.shape[axis] for axis in over) == 0:
            shape = [1 if i in over else n for i, n in enumerate(x.shape) if keepdims or i not in over]
            return Tensor.full(shape, of_none(x.dtype), x.dtype, device=x.device)
        return f(wide(x), over, bool(keepdims)).cast(x.dtype)

    return reduced


def _log_sum(x, axes, keep):
    return x.sum(axes, keep).log()


def extreme_place(f):
    def place(x, *, axis=0, keepdims=1, select_last_index=0):
        if select_last_index:
            return x.shape[axis] - 1 - f(x.flip(axis), axis, bool(keepdims))
        return f(x, axis, bool(keepdims))

    return place


def running(f, first):
    """Sums or products so far; `exclusive` without the element itself, `reverse` from the end on."""

    def row(x, axis, *, exclusive=0, reverse=0):
        at = axis_of(numbers(axis)[0], x.ndim)
        x = x.flip(at) if reverse else x
        if exclusive:
            before = [(0, 0)] * x.ndim
            before[at] = 1, 0
            x = x.pad(before, first)[(slice(None),) * at + (slice(-1),)]
        out = f(x, at, x.dtype)
        return out.flip(at) if reverse else out

    return row


def softmax_by(f):
    """Up to version 12 all axes from `axis` on are one."""

    @in_float32
    def softmax(x, *, axis=None, version=13):
        if version >= 13:
            return f(x, -1 if axis is None else axis)
        at = axis_of(1 if axis is None else axis, x.ndim)
        return f(x.reshape(math.prod(x.shape[:at]), -1), -1).reshape(x.shape)

    return softmax


def hardmax(x, *, axis=None, version=13):
    """1 at the first of the largest."""
    at = axis_of((-1 if version >= 13 else 1) if axis is None else axis, x.ndim)
    flat = x if version >= 13 else x.reshape(math.prod(x.shape[:at]), -1)
    along = at if version >= 13 else 1
    by = [-1 if i == along else 1 for i in range(flat.ndim)]
    return (flat.argmax(along, True) == positions(flat.shape[along], x).reshape(by)).cast(x.dtype).reshape(x.shape)


@in_float32
def lp_norm(x, *, axis=-1, p=2):
    if p not in (1, 2):
        raise Unsupported(f"[onnx] LpNormalization with p {p}: 1 and 2 are there")
    size = abs(x).sum(axis, True) if p == 1 else x.square().sum(axis, True).sqrt()
    return _strata.where(size == 0, 0, x / size)


@in_float32
def global_lp_pool(x, *, p=2):
    axes = tuple(range(2, x.ndim))
    return abs(x).pow(p).sum(axes, True).pow(1 / p)


def det(x):
    from ... import linalg

    return linalg.det(x)


def einsum(*operands, equation):
    return namespace.einsum(equation, *operands)


def _times(x, factor):
    """Integers by whole factors alone stay what they are."""
    return x if factor == 1 else x * (int(factor) if factor == int(factor) else factor)


def gemm(a, b, c=None, *, alpha=1.0, beta=1.0, transA=0, transB=0, broadcast=0):
    y = wide(a.T if transA else a) @ wide(b.T if transB else b)
    y = _times(y, alpha)
    return (y if c is None else y + _times(wide(c), beta)).cast(a.dtype)


def array_feature(x, indices):
    return x.take(indices.reshape(-1), -1).reshape(*(x.shape[:-1] if x.ndim > 1 else (1,)), -1)


ROWS = {
    "ArgMax": extreme_place(Tensor.argmax), "ArgMin": extreme_place(Tensor.argmin),
    "CumProd": running(Tensor.cumprod, 1), "CumSum": running(Tensor.cumsum, 0), "Det": det, "Einsum": einsum,
    "Gemm": gemm, "GlobalLpPool": global_lp_pool,
    "Hardmax": hardmax, "LogSoftmax": softmax_by(Tensor.log_softmax), "LpNormalization": lp_norm,
    "MatMul": Tensor.matmul, "ReduceL1": reduction(lambda x, axes, keep: abs(x).sum(axes, keep)),
    "ReduceL2": reduction(lambda x, axes, keep: x.square().sum(axes, keep).sqrt()),
    "ReduceLogSum": reduction(_log_sum, lambda kind: -math.inf if kind.is_float else 0),
    "ReduceLogSumExp": reduction(lambda x, axes, keep: x.logsumexp(axes, keep),
                                 lambda kind: -math.inf if kind.is_float else 0),
    "ReduceMax": reduction(Tensor.max, _least), "ReduceMean": reduction(Tensor.mean),
    "ReduceMin": reduction(Tensor.min, _largest), "ReduceProd": reduction(Tensor.prod),
    "ReduceSum": reduction(lambda x, axes, keep: x.sum(axes, keep, x.dtype)),
    "ReduceSumSquare": reduction(lambda x, axes, keep: x.square().sum(axes, keep)),
    "Softmax": softmax_by(Tensor.softmax), "ai.onnx.ml.ArrayFeatureExtractor": array_feature,
}  # fmt: skip
