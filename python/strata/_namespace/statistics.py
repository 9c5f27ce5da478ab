"""Statistics that NumPy and PyTorch have beside the array API's: of ordered values, without NaN, in bins, at random."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from .. import _derivatives, _strata
from .._narrow import rounded_once
from .._strata import DTypeError, ShapeError, Tensor, UsageError
from . import searching

if TYPE_CHECKING:
    from typing import Literal, overload

    from .._types import Axes

__all__ = [
    "bincount",
    "histogram",
    "kthvalue",
    "logcumsumexp",
    "median",
    "multinomial",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
    "quantile",
    "unique",
]


def _without(x: Tensor, value: float) -> Tensor:
    return _strata.where(x.isnan(), value, x) if x.dtype.is_float or x.dtype.is_complex else x


def _counted(x: Tensor, axis: Axes, keepdims: bool) -> Tensor:
    return x.isnan().logical_not().sum(axis, keepdims)


def nansum(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The sum of what is not NaN."""
    return _without(x, 0).sum(axis, keepdims)


def nanprod(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The product of what is not NaN."""
    return _without(x, 1).prod(axis, keepdims)


@rounded_once
def nanmean(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The mean of what is not NaN; NaN of nothing."""
    if x.dtype.is_integer or x.dtype.is_bool:
        return x.mean(axis, keepdims)
    return nansum(x, axis, keepdims) / _counted(x, axis, keepdims)


@rounded_once
def nanvar(x: Tensor, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The variance of what is not NaN, divided by its count - correction."""
    wide = x if x.dtype.is_float else x.cast("float32")
    apart = wide - nanmean(wide, axis, True)
    return nansum(apart.square(), axis, keepdims) / (_counted(x, axis, keepdims) - correction).maximum(0).cast(
        wide.dtype
    )


@rounded_once
def nanstd(x: Tensor, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The square root of nanvar."""
    return _strata._root_of(nanvar(x, axis, correction, keepdims), 2)


def _extreme(x: Tensor, axis: Axes, keepdims: bool, sign: int) -> Tensor:
    if not x.dtype.is_float:
        return x.max(axis, keepdims) if sign > 0 else x.min(axis, keepdims)
    known = _without(x, -sign * math.inf)
    best = known.max(axis, keepdims) if sign > 0 else known.min(axis, keepdims)
    return _strata.where(_counted(x, axis, keepdims) > 0, best, math.nan)


def nanmax(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The largest of what is not NaN; NaN where all are. ShapeError for no elements."""
    return _extreme(x, axis, keepdims, 1)


def nanmin(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The smallest of what is not NaN; NaN where all are. ShapeError for no elements."""
    return _extreme(x, axis, keepdims, -1)


def _lines(x: Tensor, axis: Axes) -> tuple[Tensor, list[int]]:
    """The axes as the last one, and which they are."""
    axes = [*range(x.ndim)] if axis is None else [axis] if isinstance(axis, int) else [*axis]
    axes = [at + x.ndim if at < 0 else at for at in axes]
    if not {*axes} <= {*range(x.ndim)}:
        raise ShapeError(f"[quantile] axes {axes} of shape {x.shape}")
    moved = x.permute([at for at in range(x.ndim) if at not in axes] + axes)
    rest = moved.shape[: x.ndim - len(axes)]
    return moved.reshape(*rest, math.prod(moved.shape[len(rest) :])), axes


def _kept(x: Tensor, shape: Sequence[int], axes: list[int], keepdims: bool) -> Tensor:
    return x.reshape([1 if at in axes else n for at, n in enumerate(shape)]) if keepdims else x


def _between(below: Tensor, above: Tensor, t: float) -> Tensor:
    """So far from below to above; a sum of parts where one is infinite, or their difference is."""
    apart = above - below
    near = below + apart * t if t < 0.5 else above - apart * (1 - t)
    return _strata.where(apart.isfinite(), near, below * (1 - t) + above * t)


@rounded_once
def quantile(x: Tensor, q: float | Sequence[float], axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The value that a part q of the elements is not above, between two of them linearly; NaN where there is one.
    Several q: a new first axis.
    """
    if not isinstance(q, (int, float)):
        parts = q.tolist() if isinstance(q, Tensor) else [*q]
        if parts and isinstance(parts[0], list):
            raise ShapeError("[quantile] q is a number or a sequence of them")
        return _strata.stack([quantile(x, part, axis, keepdims) for part in parts])
    if not 0 <= q <= 1:
        raise UsageError(f"[quantile] q = {q}: from 0 to 1")
    lines, axes = _lines(x if x.dtype.is_float else x.cast("float32"), axis)
    n = lines.shape[-1]
    if n == 0:
        raise ShapeError(f"[quantile] of no elements: shape {x.shape}")
    ordered, place = lines.sort(), q * (n - 1)
    low = math.floor(place)
    out = ordered[..., low]
    if place > low:
        out = _between(out, ordered[..., low + 1], place - low)
    return _kept(_strata.where(ordered[..., -1].isnan(), math.nan, out), x.shape, axes, keepdims)


def _of_nothing(x: Tensor, axis: Axes, keepdims: bool) -> Tensor | None:
    """NaN in the shape of the result, where it is over no elements."""
    lines, axes = _lines(x, axis)
    out = Tensor.full(lines.shape[:-1], math.nan, x.dtype if x.dtype.is_float else "float32", device=x.device)
    return None if lines.shape[-1] else _kept(out, x.shape, axes, keepdims)


@rounded_once
def median(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The middle of the ordered elements, between two the mean of both, as NumPy's (PyTorch's is the lower). NaN where
    an element is NaN, and of no elements.
    """
    none = _of_nothing(x, axis, keepdims)
    return quantile(x, 0.5, axis, keepdims) if none is None else none


@rounded_once
def nanmedian(x: Tensor, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The median of what is not NaN; NaN of nothing."""
    none = _of_nothing(x, axis, keepdims)
    if none is not None:
        return none
    lines, axes = _lines(x if x.dtype.is_float else x.cast("float32"), axis)
    ordered, count = lines.sort().contiguous(), _counted(lines, -1, True)
    low, high = (ordered.gather(-1, ((count - 1 + more) // 2).maximum(0)).squeeze(-1) for more in (0, 1))
    return _kept(_between(low, high, 0.5), x.shape, axes, keepdims)


def kthvalue(x: Tensor, k: int, axis: int = -1, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """The k-th smallest of an axis, from 1 on, and its int64 position."""
    if not 1 <= k <= x.shape[axis]:
        raise UsageError(f"[kthvalue] {k} of the {x.shape[axis]} elements of axis {axis}")
    order = x.argsort(axis).movedim(axis, -1)[..., k - 1 : k].movedim(-1, axis)
    value = x.gather(axis, order)
    return (value, order) if keepdims else (value.squeeze(axis), order.squeeze(axis))


_TOGETHER = 8  # terms of a running sum that one kernel adds, scaled by about the largest of them


def _steps(n: int) -> Iterator[list[int]]:
    """How far the terms of each kernel are apart: eight neighbours, of 64 every eighth, and so on."""
    apart = 1
    while apart < n:
        yield [*range(0, min(_TOGETHER * apart, n), apart)]
        apart *= _TOGETHER


def _running(x: Tensor) -> Tensor:
    none = [(0, 0)] * (x.ndim - 1)
    for step, places in enumerate(_steps(x.shape[-1])):
        sums = x.contiguous() if step else x
        before = [sums.pad([*none, (at, 0)], -math.inf)[..., : x.shape[-1]] for at in places]
        top = functools.reduce(Tensor.maximum, before)
        about = _strata.where(top.isfinite(), top, 0)
        total = functools.reduce(Tensor.add, [(part - about).exp() for part in before])
        x = total.log() + about
    return x


def _share(x: Tensor, y: Tensor) -> Tensor:
    """The part of e^y that e^x is, which is at most 1."""
    return _strata.where(x == y, 1.0, (x - y).exp())


def _to_running(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """sum(g[j] e^(x[i] - y[j])) over j from i on, as e^(x[i] - y[i]) times a sum about y[i]: y never falls, so that no
    term overflows.
    """
    none, n = [(0, 0)] * (x.ndim - 1), x.shape[-1]
    for step, places in enumerate(_steps(n)):
        sums = g.contiguous() if step else g
        later = [(sums.pad([*none, (0, at)])[..., at:], y.pad([*none, (0, at)], math.inf)[..., at:]) for at in places]
        g = functools.reduce(Tensor.add, [_share(y, end) * part for part, end in later])
    return g * _share(x, y)


@_derivatives.custom_gradient
def _logcumsumexp(x: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    return _running(x), lambda g: _to_running(g, x, _logcumsumexp(x).contiguous())


@rounded_once
def logcumsumexp(x: Tensor, axis: int) -> Tensor:
    """log(cumsum(exp(x))), each sum about the largest of its terms: of eight neighbours, of 64, and so on."""
    lines = x.movedim(axis, -1)
    return _logcumsumexp(lines if lines.dtype.is_float else lines.cast("float32")).contiguous().movedim(-1, axis)


def bincount(x: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often 0, 1, ... are in x (n,) of integers, or the sums of their weights. Computes: the size is the largest +
    1.
    """
    if x.ndim != 1 or not x.dtype.is_integer:
        raise DTypeError(f"[bincount] of {x.dtype.name} {x.shape}: it counts integers in one axis")
    low, high = (x.min().item(), x.max().item()) if x.size else (0, -1)
    if low < 0:
        raise UsageError(f"[bincount] {low} is in x: it counts what is not below 0")
    given = Tensor.ones(x.size, dtype="int64") if weights is None else weights
    return Tensor.zeros(max(high + 1, minlength), dtype=given.dtype).scatter_add(0, x, given)


@rounded_once
def _density(counts: Tensor, edges: Tensor) -> Tensor:
    return counts / counts.sum() / (edges[1:] - edges[:-1])


def histogram(
    x: Tensor,
    bins: int | Tensor = 10,
    range: tuple[float, float] | None = None,
    density: bool = False,
    weights: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """How many elements lie in each bin, and the edges of the bins; the last edge counts as inside. `bins` is their
    number from the smallest element to the largest, or between given ends. Computes.
    """
    flat = x.reshape(-1) if x.dtype.is_float else x.reshape(-1).cast("float32")
    if isinstance(bins, Tensor):
        edges = bins.cast(flat.dtype)
    else:
        if bins < 1:
            raise UsageError(f"[histogram] {bins} bins")
        low, high = range or ((flat.min().item(), flat.max().item()) if x.size else (0.0, 1.0))
        low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
        import numpy as _np

        edges = Tensor(
            _np.linspace(low, high, bins + 1), flat.dtype, flat.device
        )  # rounded once: an end that is a number is that number
    n = edges.size - 1
    place = edges.searchsorted(flat, True) - 1
    place = _strata.where(flat == edges[-1], n - 1, place)
    inside = (place >= 0) & (place < n)
    given = Tensor.ones(x.size, dtype="int64") if weights is None else weights.reshape(-1)
    counts = Tensor.zeros(n, dtype=given.dtype).scatter_add(
        0, _strata.where(inside, place, 0), _strata.where(inside, given, 0)
    )
    return _density(counts, edges) if density else counts, edges


if TYPE_CHECKING:

    @overload
    def unique(
        x: Tensor,
        return_index: Literal[False] = False,
        return_inverse: Literal[False] = False,
        return_counts: Literal[False] = False,
    ) -> Tensor: ...
    @overload
    def unique(
        x: Tensor, return_index: Literal[True], return_inverse: bool = False, return_counts: bool = False
    ) -> tuple[Tensor, ...]: ...
    @overload
    def unique(
        x: Tensor, return_index: bool = False, *, return_inverse: Literal[True], return_counts: bool = False
    ) -> tuple[Tensor, ...]: ...
    @overload
    def unique(
        x: Tensor, return_index: bool = False, return_inverse: bool = False, *, return_counts: Literal[True]
    ) -> tuple[Tensor, ...]: ...
    @overload
    def unique(
        x: Tensor, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False
    ) -> Tensor | tuple[Tensor, ...]: ...


def unique(
    x: Tensor, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False
) -> Tensor | tuple[Tensor, ...]:
    """The different values in order; with first indices in the flat array, places of x's elements in them, counts. Each
    NaN is one of its own. Computes.
    """
    found = searching.unique_all(x)
    more = [part for part, wanted in zip(found[1:], (return_index, return_inverse, return_counts)) if wanted]
    return (found.values, *more) if more else found.values


@rounded_once
def multinomial(weights: Tensor, num_samples: int, replacement: bool = False) -> Tensor:
    """Positions (..., num_samples) in weights (..., n), each as likely as its weight; without replacement each at most
    once. See manual_seed.
    """
    *rest, n = weights.shape
    if not replacement:
        if num_samples > n:
            raise UsageError(f"[multinomial] {num_samples} of {n} without replacement")
        noise = -(-Tensor.rand(*rest, n, device=weights.device).log()).log()
        return (weights.log() + noise).topk(num_samples)[1]
    ends = weights.cumsum(-1)
    at = (
        Tensor.rand(*rest, num_samples, dtype=ends.dtype if ends.dtype.is_float else "float32", device=weights.device)
        * ends[..., -1:]
    )
    return (ends.unsqueeze(-2) <= at.unsqueeze(-1)).sum(-1).minimum(n - 1)
