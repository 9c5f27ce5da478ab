"""Gathers of elements at positions that the host computes: padding by what is there, windows, resizing, triangles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from .. import _strata
from .._checks import integer, real, shown
from .._narrow import rounded_once
from .._strata import DTypeError, ShapeError, Tensor, UsageError

if TYPE_CHECKING:
    from .._types import Scalar

__all__ = ["interpolate", "pad", "tril_indices", "triu_indices", "unfold"]


def _mirrored(i: int, n: int) -> int:
    period = max(2 * (n - 1), 1)
    i %= period
    return i if i < n else period - i


_MOST = 1 << 24  # elements of an axis whose places the host lists

_PLACE = {"reflect": _mirrored, "replicate": lambda i, n: min(max(i, 0), n - 1), "circular": lambda i, n: i % n}
_PLACE["edge"], _PLACE["wrap"] = _PLACE["replicate"], _PLACE["circular"]


def pad(
    x: Tensor,
    padding: Sequence[tuple[int, int]],
    mode: Literal["constant", "reflect", "replicate", "circular", "edge", "wrap"] = "constant",
    value: Scalar = 0,
) -> Tensor:
    """One (before, after) an axis. They are filled with value, mirrored at the ends ('reflect'), by the end itself
    ('replicate', 'edge'), or from the other end ('circular', 'wrap').
    """
    if mode == "constant":
        return x.pad(padding, value)
    if mode not in _PLACE:
        raise UsageError(f"[pad] mode {mode!r}: use constant, {', '.join(_PLACE)}")
    if not isinstance(padding, (tuple, list)) or not all(
        isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in padding
    ):
        raise UsageError(f"[pad] by {shown(padding)}: a pair (before, after) for each axis")
    if len(padding) != x.ndim:
        raise ShapeError(f"[pad] {len(padding)} pairs for the {x.ndim} axes of shape {x.shape}")
    for axis, pair in enumerate(padding):
        before, after = (integer("pad", "padding", by) for by in pair)
        n = x.shape[axis]
        if before < 0 or after < 0 or (n == 0 and before + after) or before + n + after > _MOST:
            raise UsageError(
                f"[pad] axis {axis} of size {n} by ({before}, {after}): 0 or more, of an axis that has elements, "
                f"to {_MOST} at most"
            )
        if before or after:
            x = x.take(
                Tensor([_PLACE[mode](i, n) for i in range(-before, n + after)], dtype="int64", device=x.device), axis
            )
    return x


def unfold(x: Tensor, axis: int, size: int, step: int = 1) -> Tensor:
    """Windows of an axis as a new last axis, `step` apart: a view. PyTorch's Tensor.unfold."""
    places = _strata.functional.windows(x.movedim(axis, -1), size, step)
    return places.movedim(-2, axis if axis >= 0 else axis - 1)


def _triangle(rows: int, columns: int, below: bool, k: int) -> tuple[Tensor, Tensor]:
    row, column = Tensor.arange(rows).reshape(rows, 1), Tensor.arange(columns).reshape(1, columns)
    found = ((column - row <= k) if below else (column - row >= k)).nonzero()
    return found[0], found[1]


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, Tensor]:
    """Rows and columns of what is on and below diagonal k of a matrix (n, m): x[strata.tril_indices(n)]."""
    return _triangle(n, n if m is None else m, True, k)


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, Tensor]:
    """Rows and columns of what is on and above diagonal k of a matrix (n, m): x[strata.triu_indices(n)]."""
    return _triangle(n, n if m is None else m, False, k)


def _resized(x: Tensor, axis: int, size: int, scale: float | Fraction, linear: bool, align_corners: bool) -> Tensor:
    n = x.shape[axis]
    if not linear:
        return x.take(
            Tensor([min(math.floor(i * scale), n - 1) for i in range(size)], dtype="int64", device=x.device), axis
        )
    if not (x.dtype.is_float or x.dtype.is_complex):
        raise DTypeError(f"[interpolate] between elements of {x.dtype.name}; cast first")
    if align_corners:
        step = (n - 1) / (size - 1) if size > 1 else 0.0
        places = [i * step for i in range(size)]
    else:
        places = [max((i + 0.5) * scale - 0.5, 0.0) for i in range(size)]
    low = [min(math.floor(p), n - 1) for p in places]
    shape = [size if i == axis else 1 for i in range(x.ndim)]
    t = Tensor([float(p - i) for p, i in zip(places, low)], x.real.dtype, x.device).reshape(shape)
    below = x.take(Tensor(low, dtype="int64", device=x.device), axis)
    above = x.take(Tensor([min(i + 1, n - 1) for i in low], dtype="int64", device=x.device), axis)
    return (below * (1 - t) + above * t).cast(x.dtype)


@rounded_once
def interpolate(
    x: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: Literal["nearest", "linear"] = "nearest",
    align_corners: bool = False,
) -> Tensor:
    """x (n, channels, sizes) resized: to `size` or by `scale_factor`, one number or one an axis. 'linear' goes along
    each axis, as PyTorch's linear, bilinear and trilinear.
    """
    axes = x.ndim - 2
    if axes < 1 or (size is None) == (scale_factor is None):
        raise UsageError(f"[interpolate] shape {x.shape}: (n, channels, sizes), with either size or scale_factor")
    modes = {"nearest": False, "linear": True, "bilinear": True, "trilinear": True}
    if mode not in modes:
        raise UsageError(f"[interpolate] mode {mode!r}: use nearest or linear")
    given: Any = size if size is not None else scale_factor
    each: list[Any] = [*given] if isinstance(given, (list, tuple)) else [given] * axes
    if len(each) != axes:
        raise UsageError(f"[interpolate] {len(each)} numbers for {axes} axes")
    for i, number in enumerate(each):
        n = x.shape[i + 2]
        to = (
            integer("interpolate", "size", number, 1)
            if size is not None
            else math.floor(n * real("interpolate", "scale_factor", number, 0, closed=False))
        )
        if not 0 < to <= _MOST or n == 0:
            raise UsageError(f"[interpolate] axis {i + 2} of size {n} to size {to}: from 1 on, to {_MOST} at most")
        x = _resized(x, i + 2, to, Fraction(n, to) if size is not None else 1 / number, modes[mode], align_corners)
    return x
