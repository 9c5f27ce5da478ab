"""Functions of the array API that look for elements, and sets. The sizes of what unique_* and nonzero give depend on
the values: they compute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from .. import _strata
from .._strata import Tensor, UsageError

if TYPE_CHECKING:
    from .._types import Operand

__all__ = [
    "nonzero",
    "searchsorted",
    "take_along_axis",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """int64 positions of what is not 0, a tensor (k,) an axis. Computes: k depends on the values."""
    if x.ndim == 0:
        raise UsageError("[nonzero] of a tensor without axes: x.reshape(1)")
    return tuple(x.nonzero())


def searchsorted(
    x1: Tensor, x2: Operand, /, *, side: Literal["left", "right"] = "left", sorter: Tensor | None = None
) -> Tensor:
    """int64 places in the ordered x1 (n,) where the values x2 go: before equal ones, or after them. sorter: argsort of
    x1.
    """
    if side not in ("left", "right"):
        raise UsageError(f"[searchsorted] side {side!r}: use 'left' or 'right'")
    ordered = x1 if sorter is None else x1.take(sorter)
    return ordered.searchsorted(x2 if isinstance(x2, Tensor) else Tensor(x2), side == "right")


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """Elements at indices along an axis, the other axes together."""
    return x.gather(axis, indices)


class UniqueAll(NamedTuple):
    """Different values in order, where each is first, the place of each element's in them, how many there are."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """Different values in order, and how many there are of each."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """Different values in order, and the place of each element's in them."""

    values: Tensor
    inverse_indices: Tensor


def _order(x: Tensor) -> Tensor:
    """The order of complex numbers is by the real part, then by the other."""
    if not x.dtype.is_complex:
        return x.argsort()
    by_imaginary = x.imag.argsort()
    return by_imaginary.take(x.real.take(by_imaginary).argsort())


def unique_all(x: Tensor, /) -> UniqueAll:
    """Values, first indices in the flat array, inverse_indices of x's shape and counts. Each NaN is one of its own.
    Computes.
    """
    flat = x.reshape(-1)
    if x.size == 0:
        none = Tensor.zeros(0, dtype="int64")
        return UniqueAll(flat, none, none.reshape(x.shape), none)
    order = _order(flat).realize()
    ordered = flat.take(order).contiguous()
    new = ordered[1:] != ordered[:-1]
    first = _strata.cat([Tensor.ones(1, dtype="bool"), new])
    starts = first.flat_nonzero()
    place = (first.cumsum(0, "int64") - 1).take(order.argsort())
    counts = _strata.cat([starts[1:], Tensor([x.size])]) - starts
    return UniqueAll(ordered.take(starts), order.take(starts), place.reshape(x.shape), counts)


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """Values and counts. Each NaN is one of its own. Computes."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """Values and inverse_indices of x's shape. Each NaN is one of its own. Computes."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Tensor, /) -> Tensor:
    """The different values in order. Each NaN is one of its own. Computes."""
    return unique_all(x).values
