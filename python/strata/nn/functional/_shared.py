"""Parts that the functions of torch's names share: how losses are reduced, arguments a number or one an axis."""

from __future__ import annotations

from ..._checks import shown
from ..._narrow import rounded_once  # noqa: F401
from ..._strata import Tensor, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..._types import DTypeLike, Sizes


def widened(x: Tensor) -> Tensor:
    return x.cast("float32") if isinstance(x, Tensor) and x.dtype.is_float and x.dtype.itemsize < 4 else x


def rounded(x: Tensor, dtype: DTypeLike) -> Tensor:
    return x.cast(dtype) if isinstance(x, Tensor) and x.dtype.is_float and x.dtype != dtype else x


def stored(input: Tensor, result: Tensor, inplace: bool) -> Tensor:
    """The result; where `inplace`, it is input's value from now on, and input is given back. Views of input keep their
    value.
    """
    return input.assign(result) if inplace else result


def reduced(x: Tensor, reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> Tensor:
    """The mean, sum or elements; size_average and reduce, where given, say it in the older way."""
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
    if reduction not in ("mean", "sum", "none"):
        raise UsageError(f"[loss] reduction '{reduction}': use mean, sum or none")
    return x if reduction == "none" else getattr(x, reduction)()


def each(name: str, what: str, given: Sizes, axes: int) -> tuple[int, ...]:
    """One number an axis, from one for all or one an axis."""
    numbers = (given,) * axes if isinstance(given, int) else tuple(given)
    numbers = numbers * axes if len(numbers) == 1 else numbers
    if len(numbers) != axes:
        raise UsageError(f"[{name}] {what} {given}: one number, or {axes}")
    return numbers


MOST_LISTED = 1 << 22  # elements of an axis whose places the host lists


def from_start(index: Tensor) -> Tensor:
    """The index as uint64, where negative ones are beyond every axis: torch counts none from the end."""
    if not index.dtype.is_integer or index.dtype.is_unsigned:
        return index
    return index.cast("int64").bitcast("uint64")


def listed(name: str, n: int) -> range:
    """range(n), whose places the host lists."""
    if n > MOST_LISTED:
        raise UsageError(f"[{name}] an axis of {shown(n)}: {MOST_LISTED} at most")
    return range(n)


def taken(x: Tensor, axis: int, rows: Sequence[Sequence[int]], fill: float = 0.0) -> Tensor:
    """x with an axis of len(rows) and a new last one: the elements at the places that each row lists, then `fill`."""
    most = max((len(row) for row in rows), default=0)
    places = Tensor([[*row, *[0] * (most - len(row))] for row in rows], dtype="int64", device=x.device).reshape(
        len(rows), most
    )
    out = x.movedim(axis, -1).take(places, -1)
    if any(len(row) < most for row in rows):
        out = Tensor([[i < len(row) for i in range(most)] for row in rows], device=x.device).where(out, fill)
    return out.movedim(-2, axis if axis >= 0 else axis - 1)
