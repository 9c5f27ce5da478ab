"""Functions of the array API that join, repeat and move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import _strata
from .._narrow import rounded_once
from .._strata import ShapeError, Tensor, UsageError

if TYPE_CHECKING:
    from .._types import ArrayLike, Axes, DTypeLike, Operand, Shape

__all__ = [
    "broadcast_arrays", "broadcast_to", "clip", "concat", "cumulative_prod", "cumulative_sum", "diff", "expand_dims",
    "matmul", "imag", "matrix_transpose", "moveaxis", "permute_dims", "real", "repeat", "reshape",
    "squeeze", "tensordot", "tile", "unstack", "vecdot",
]  # fmt: skip


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """Each in the shape that all broadcast to."""
    shape: tuple[int, ...] = ()
    for x in arrays:
        shape = _strata.broadcast_shapes(shape, x.shape)
    return [x.expand(shape) for x in arrays]


def broadcast_to(x: Tensor, /, shape: Shape) -> Tensor:
    """x with axes of size 1 repeated; new axes come first."""
    return x.expand(shape)


def concat(arrays: Sequence[ArrayLike], /, *, axis: int | None = 0) -> Tensor:
    """Joins tensors along an axis they have, or the flat ones where axis is None; types are promoted."""
    if axis is None:
        return _strata.cat([Tensor(x).reshape(-1) for x in arrays])
    return _strata.cat(arrays, axis)


class _AxisError(ShapeError, IndexError):
    """The standard asks for an IndexError."""


def expand_dims(x: Tensor, /, axis: int | tuple[int, ...] = 0) -> Tensor:
    """x with new axes of size 1 at these places of the result."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    ndim = x.ndim + len(axes)
    places = sorted(at + ndim if at < 0 else at for at in axes)
    if places and not (0 <= places[0] and places[-1] < ndim) or len({*places}) < len(places):
        raise _AxisError(f"[expand_dims] axes {axes} of the {ndim} that the result has: each in it, and once")
    for at in places:
        x = x.unsqueeze(at)
    return x


def squeeze(x: Tensor, /, axis: Axes = None) -> Tensor:
    """x without axes of size 1, all of them where none is named."""
    return x.squeeze(axis)


def moveaxis(x: Tensor, source: Axes, destination: Axes, /) -> Tensor:
    """Axes moved to other places, the others in their order."""
    return x.movedim(source, destination)


def permute_dims(x: Tensor, /, axes: Shape) -> Tensor:
    """Axes in another order."""
    return x.permute(axes)


def real(x: Tensor, /) -> Tensor:
    """The real part."""
    return x.real


def imag(x: Tensor, /) -> Tensor:
    """The imaginary part."""
    return x.imag


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two axes exchanged."""
    return x.mT


def reshape(x: Tensor, /, shape: Shape, *, copy: bool | None = None) -> Tensor:
    """The same elements in another shape; one size may be -1."""
    return x.reshape(shape)


def repeat(x: Tensor, repeats: int | ArrayLike, /, *, axis: int | None = None) -> Tensor:
    """Repeats each element; without axis, of the flat array. repeats: one count, or one for each element."""
    return x.repeat(repeats, axis)


def tile(x: Tensor, repetitions: Shape, /) -> Tensor:
    """The array repeated along each axis."""
    return x.tile(repetitions)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The tensors that lie along an axis."""
    if x.ndim == 0:
        raise ShapeError("[unstack] a tensor without axes")
    moved = x.movedim(axis, 0)
    return tuple(moved[i] for i in range(moved.shape[0]))


def clip(x: Tensor, /, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    """Not below min, not above max, which broadcast; of x's type."""
    limits = [limit.cast(x.dtype) if isinstance(limit, Tensor) else limit for limit in (min, max)]
    return x.clamp(*limits)


def _accumulated(name: str, x: Tensor, axis: int | None, dtype: DTypeLike | None, include_initial: bool) -> Tensor:
    if axis is None:
        if x.ndim != 1:
            raise UsageError(f"[{name}] shape {x.shape} has {x.ndim} axes: name the one to run along")
        axis = 0
    out = x.cumsum(axis, dtype) if name == "cumulative_sum" else x.cumprod(axis, dtype)
    if not include_initial:
        return out
    first = [1 if i == axis % x.ndim else n for i, n in enumerate(x.shape)]
    return _strata.cat([Tensor.full(first, name == "cumulative_prod", out.dtype), out], axis)


def cumulative_sum(
    x: Tensor, /, *, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False
) -> Tensor:
    """Running sum, with a 0 in front where include_initial; axis may be left out for 1-D tensors only."""
    return _accumulated("cumulative_sum", x, axis, dtype, include_initial)


def cumulative_prod(
    x: Tensor, /, *, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False
) -> Tensor:
    """Running product, with a 1 in front where include_initial; axis may be left out for 1-D tensors only."""
    return _accumulated("cumulative_prod", x, axis, dtype, include_initial)


@rounded_once
def diff(
    x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """Each element less the one before it, n times over; prepend and append are joined to x along the axis first."""
    if n < 0:
        raise UsageError(f"[diff] {n} times: the count cannot be negative")
    if n == 0:
        return x
    if prepend is not None or append is not None:
        x = _strata.cat([part for part in (prepend, x, append) if part is not None], axis)
    if not -x.ndim <= axis < x.ndim:
        raise ShapeError(f"[diff] axis {axis} does not exist: the tensor has {x.ndim} axes")
    later = [slice(None)] * x.ndim
    earlier = [*later]
    later[axis], earlier[axis] = slice(1, None), slice(None, -1)
    for _ in range(min(n, x.shape[axis])):
        a, b = x[tuple(later)], x[tuple(earlier)]
        x = a != b if x.dtype.is_bool else a - b
    return x


def matmul(x1: ArrayLike, x2: ArrayLike, /) -> Tensor:
    """(..., n, k) x (..., k, m) -> (..., n, m); leading axes broadcast, a 1-D side has its axis added and dropped
    again.
    """
    return (x1 if isinstance(x1, Tensor) else Tensor(x1)).matmul(x2)


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Sums of conj(x1) * x2 along an axis that both have; the others broadcast."""
    common = min(x1.ndim, x2.ndim)
    if not -common <= axis < common or (axis >= 0 and x1.ndim != x2.ndim) or x1.shape[axis] != x2.shape[axis]:
        raise ShapeError(f"[vecdot] shapes {x1.shape} and {x2.shape} along axis {axis}: both need it, of one size")
    a, b = x1.movedim(axis, -1), x2.movedim(axis, -1)
    if a.dtype.is_complex:
        a = a.conj()
    dtype = _strata.result_type(x1, x2)
    return (a.unsqueeze(-2) @ b.unsqueeze(-1)).reshape(_strata.broadcast_shapes(a.shape[:-1], b.shape[:-1])).cast(dtype)


def tensordot(x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Tensor:
    """Sums of products over several axes of both: the last `axes` of x1 with the first of x2, or those named."""
    if isinstance(axes, int):
        if axes < 0 or axes > min(x1.ndim, x2.ndim):
            raise UsageError(f"[tensordot] {axes} axes of shapes {x1.shape} and {x2.shape}")
        first, second = [*range(x1.ndim - axes, x1.ndim)], [*range(axes)]
    else:
        first, second = ([axis % x.ndim for axis in named] for x, named in zip((x1, x2), axes))
    if [x1.shape[i] for i in first] != [x2.shape[i] for i in second]:
        raise ShapeError(
            f"[tensordot] axes {first} of shape {x1.shape} and {second} of shape {x2.shape} differ in size"
        )
    left, right = [i for i in range(x1.ndim) if i not in first], [i for i in range(x2.ndim) if i not in second]
    inner = 1
    for i in first:
        inner *= x1.shape[i]
    shape = [x1.shape[i] for i in left] + [x2.shape[i] for i in right]
    rows, columns = 1, 1
    for i in left:
        rows *= x1.shape[i]
    for i in right:
        columns *= x2.shape[i]
    return (x1.permute(left + first).reshape(rows, inner) @ x2.permute(second + right).reshape(inner, columns)).reshape(
        shape
    )
