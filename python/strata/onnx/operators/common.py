"""Parts that the rows of several families share."""

import functools
import math

import numpy

from ..._strata import Tensor, Unsupported
from ..host import LARGEST_ON_HOST


def numbers(x):
    """Integers that the host knows, of an array or a list."""
    return None if x is None else [int(i) for i in numpy.asarray(x).reshape(-1)]


def axis_of(axis, ndim):
    if not -ndim <= axis < ndim:
        raise Unsupported(f"[onnx] axis {axis} of a tensor of {ndim} axes")
    return axis % ndim


def along(v, x, axis=1):
    """v (n,) in a shape that broadcasts with x: n at the axis, elsewhere 1."""
    return v.reshape([-1 if i == axis else 1 for i in range(x.ndim)])


def over_places(x):
    """The axes after batch and channels."""
    return tuple(range(2, x.ndim))


def is_narrow(x):
    return isinstance(x, Tensor) and x.dtype.is_float and x.dtype.itemsize < 4


def wide(x):
    """float32 of narrower floats."""
    return x.cast("float32") if is_narrow(x) else x


def in_float32(f):
    """A row whose narrow floats are computed as float32; its result is rounded once, to the type of the first input."""

    @functools.wraps(f)
    def row(x, *more, **attributes):
        out = f(wide(x), *map(wide, more), **attributes)
        kind = x.dtype
        if isinstance(out, tuple):
            return tuple(
                y.cast(kind) if is_narrow(x) and isinstance(y, Tensor) and y.dtype.is_float else y for y in out
            )
        return out.cast(kind) if is_narrow(x) else out

    return row


def filled(shape, value, like):
    return Tensor.full(tuple(shape), value, like.dtype, device=like.device)


def positions(n, like):
    """0 to n - 1 as int64, where the other tensor lies."""
    return Tensor.arange(n, device=like.device)


def on_device(array, like):
    return Tensor(numpy.ascontiguousarray(array), device=like.device)


def product(sizes):
    return math.prod(int(n) for n in sizes)


def within_host(count, what):
    """Refuses what the host would compute too many numbers for."""
    if count > LARGEST_ON_HOST:
        raise Unsupported(
            f"[onnx] {what}: it takes {count} numbers that the host computes, {LARGEST_ON_HOST} are the most"
        )
    return count
