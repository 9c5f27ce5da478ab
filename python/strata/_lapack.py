"""Decompositions of matrices on the host by numpy.linalg: how a function of arrays becomes one of tensors, and what the
rules of their gradients share."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as _np

from . import _derivatives, _strata
from ._strata import DTypeError, ShapeError, Tensor, Unsupported, dtypes

_F = TypeVar("_F", bound=Callable[..., Any])


def tensor(x):
    return x if isinstance(x, Tensor) else Tensor(x)


def matrices(name, x, square=False):
    x = tensor(x)
    if x.ndim < 2:
        raise ShapeError(f"[{name}] shape {x.shape} has no matrices: two axes are needed")
    if square and x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"[{name}] shape {x.shape}: the matrices must be square")
    return x


def on_host(square: bool = False, rule: Any = None) -> Callable[[_F], _F]:
    """f(arrays, ...) of NumPy, as a function of tensors: where it runs, and what it takes. rule(g, tensors, ...) gives
    what arrives at each of what arrives at the result; of several results there is a rule each, or None for one
    without. A rule calls the functions here again, so that it has gradients itself."""

    def wrapped(f: _F) -> _F:
        @functools.wraps(f)
        def call(*operands, **named):
            name = f.__name__
            given = [matrices(name, x, square) if i == 0 else tensor(x) for i, x in enumerate(operands)]
            for x in given:
                if x.dtype.part not in (dtypes.float32, dtypes.float64):
                    raise DTypeError(
                        f"[{name}] takes float32, float64, complex64 and complex128, not {x.dtype.name}; cast first"
                    )
            wanted = any(_strata._wants_gradient(x) for x in given)
            if wanted and (rule is None or any(x.dtype.is_complex for x in given)):
                kind = "no gradient" if rule is None else "no gradient of complex matrices"
                raise Unsupported(f"[{name}] has {kind}: it is computed by LAPACK on the host; detach() its argument")
            if wanted and _derivatives.inside(2):
                raise Unsupported(
                    f"[{name}] has no gradient inside two of strata.grad, value_and_grad, vjp and jvp; "
                    f"strata.gradients may be called twice"
                )
            placed = given[0].device
            found = f(*(x.numpy() for x in given), **named)
            parts = found if isinstance(found, tuple) else (found,)
            out = [Tensor(_np.asarray(part), device=placed) for part in parts]
            for i, to in enumerate(rule if isinstance(rule, tuple) else (rule,)):
                if wanted and to:
                    out[i] = _strata._with_gradient(out[i], given, lambda g, to=to: to(g, *given, **named))
            return type(found)(*out) if isinstance(found, tuple) else out[0]

        return cast(_F, call)

    return wrapped


def to_shape(g, x):
    """The gradient of x, which was repeated along axes of g."""
    g = g.sum(tuple(range(g.ndim - x.ndim))) if g.ndim > x.ndim else g
    repeated = tuple(i for i, n in enumerate(x.shape) if n == 1 != g.shape[i])
    return (g.sum(repeated, True) if repeated else g).cast(x.dtype)


_ULPS = 64  # for each row of a matrix


def inverse_beyond(values, least):
    """1 / values, and 0 where they are no larger than `least`: equal values, or 0, but for rounding."""
    near = values.abs() <= least
    return near.where(0, 1 / near.where(1, values))


def rounding(values):
    """How near equal values may be found, (..., 1): LAPACK's are off by n ulps of the largest, and the matrix by a few
    itself.
    """
    return values.detach().abs().max(-1, True) * (_ULPS * values.shape[-1] * _np.finfo(values.dtype.numpy_name).eps)


def apart(values):
    """1 / (b - a) of all pairs of an axis as rows a and columns b; 0 of equal values. What is the same for every choice
    of their vectors needs no slope along the choice."""
    return (
        inverse_beyond(values.unsqueeze(-2) - values.unsqueeze(-1), rounding(values).unsqueeze(-1))
        if values.shape[-1]
        else values.unsqueeze(-2)
    )
