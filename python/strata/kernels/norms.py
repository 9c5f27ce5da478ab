"""Norms of a sum: the residual stream of a transformer, and its norm for the next layer."""

from __future__ import annotations

from .._checks import check_all, real
from .._strata import Tensor
from ._shared import floats, shaped, widened


def _summed(x, residual):
    """x + residual, rounded to residual's type as it is stored, and the same in float32 or wider."""
    h = (widened(x) + widened(residual)).cast(residual.dtype)
    return h, widened(h)


def _along_rows(name, x, residual, **vectors):
    floats(name, x=x, residual=residual, **vectors)
    fits = x.ndim > 0 and x.shape == residual.shape
    fits = fits and all(v is None or v.shape == x.shape[-1:] for v in vectors.values())
    words = f"x and residual are (..., n), {' and '.join(vectors)} (n,)"
    shaped(name, words, fits, x=x, residual=residual, **vectors)


def add_rms_norm(
    x: Tensor, residual: Tensor, weight: Tensor, eps: float = 1e-6, *, offset: float = 0.0
) -> tuple[Tensor, Tensor]:
    """y, h: h = x + residual, y = h / sqrt(mean(h^2) + eps) * (weight + offset) along the last axis.

    x and residual (..., n), weight (n,). h is rounded to residual's type, y is the norm of that h in x's type. Sums are
    float32. offset=1 is Gemma's norm. ShapeError, DTypeError. Zhang and Sennrich 2019.
    """
    real("add_rms_norm", "eps", eps, 0), real("add_rms_norm", "offset", offset)
    _along_rows("add_rms_norm", x, residual, weight=weight)
    h, wide = _summed(x, residual)
    scale = widened(weight) + offset if offset else widened(weight)
    y = wide * (wide.square().mean(-1, keepdims=True) + eps).rsqrt() * scale
    return y.cast(x.dtype), h


def add_layer_norm(
    x: Tensor, residual: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float = 1e-5
) -> tuple[Tensor, Tensor]:
    """y, h: h = x + residual, y = (h - mean(h)) / sqrt(var(h) + eps) * weight + bias along the last axis.

    x and residual (..., n), weight and bias (n,) or None. h is rounded to residual's type, y is the norm of that h in
    x's type. Sums are float32. ShapeError, DTypeError. Ba et al. 2016.
    """
    real("add_layer_norm", "eps", eps, 0)
    _along_rows("add_layer_norm", x, residual, weight=weight, bias=bias)
    h, wide = _summed(x, residual)
    centred = wide - wide.mean(-1, keepdims=True)
    y = centred * (centred.square().mean(-1, keepdims=True) + eps).rsqrt()
    y = y if weight is None else y * widened(weight)
    return (y if bias is None else y + widened(bias)).cast(x.dtype), h


check_all(globals(), __name__, is_total=True)
