"""Parts that the families share: checks of types and shapes, widening, results without a gradient."""

from __future__ import annotations

import contextlib

from .. import _strata
from .._checks import integer, shown
from .._strata import DTypeError, ShapeError, Tensor, Unsupported, UsageError, dtypes

NARROWEST_NORMAL = 2.0**-126  # of float32


def widened(x: Tensor) -> Tensor:
    """x, as float32 where it is narrower: what is summed and rounded once."""
    return x.cast("float32") if x.dtype.itemsize < 4 else x


def _tensors(name, given):
    for what, t in given.items():
        if t is not None and not isinstance(t, Tensor):
            raise UsageError(f"[{name}] {what} is {shown(t)}: give a tensor, such as Tensor(values)")


def floats(name: str, **tensors: Tensor | None) -> None:
    """DTypeError for a tensor that is not of floats, UsageError for what is no tensor."""
    _tensors(name, tensors)
    for what, t in tensors.items():
        if t is not None and not t.dtype.is_float:
            raise DTypeError(f"[{name}] {what} is of {t.dtype.name}: it takes floats, cast it first")


def integers(name: str, **tensors: Tensor | None) -> None:
    """DTypeError for a tensor that is not of integers, UsageError for what is no tensor."""
    _tensors(name, tensors)
    for what, t in tensors.items():
        if t is not None and not t.dtype.is_integer:
            raise DTypeError(f"[{name}] {what} is of {t.dtype.name}: it takes int32 or int64")


def two_integers(name: str, what: str, given: object, least: int, words: str) -> tuple[int, int]:
    """A pair of integers, Python's or NumPy's; UsageError with what they are."""
    with contextlib.suppress(UsageError):
        if isinstance(given, (tuple, list)) and len(given) == 2:
            return integer(name, what, given[0], least), integer(name, what, given[1], least)
    raise UsageError(f"[{name}] {what} is {shown(given)}: {words}")


def shaped(name: str, words: str, fits: bool, **tensors: Tensor | None) -> None:
    """ShapeError with all shapes where they do not fit."""
    if not fits:
        shapes = ", ".join(f"{what} {t.shape}" for what, t in tensors.items() if t is not None)
        raise ShapeError(f"[{name}] {shapes}: {words}")


def without_gradient(name: str, sources: list[Tensor], *results: Tensor) -> tuple[Tensor, ...]:
    """The results, of which those of floats raise Unsupported when a gradient arrives for one of the sources."""
    inputs = [x for x in sources if isinstance(x, Tensor) and x.dtype.is_float]

    def refused(_):
        raise Unsupported(f"[{name}] has no gradient: detach what it gives, or its inputs")

    if not inputs:
        return results
    return tuple(_strata._with_gradient(r, inputs, refused) if r.dtype.is_float else r for r in results)


def unsigned(index: Tensor) -> Tensor:
    """The index as uint64, where negative ones are beyond every axis: none counts from the end."""
    return index if index.dtype == dtypes.uint64 else index.cast("int64").bitcast("uint64")


def checked(index: Tensor, n: int) -> Tensor:
    """The index as int64, each at least 0 and below n: another ends the kernel that computes it."""
    return Tensor.arange(n).take(unsigned(index), 0)


def covered(n: int, scales: int) -> int:
    """Neighbours of n that each scale covers: n / scales, or the next power of two where that is not whole."""
    return n // scales if n % scales == 0 else 1 << (n // scales).bit_length()


def spread(scale: Tensor, rows: int, columns: int, block: tuple[int, int]) -> Tensor:
    """(..., a, b) repeated to (..., rows, columns): each covers a block, the last ones may cover less of it."""
    before, (a, b) = scale.shape[:-2], scale.shape[-2:]
    every = scale.unsqueeze(-1).unsqueeze(-3).expand(*before, a, block[0], b, block[1])
    every = every.reshape(*before, a * block[0], b * block[1])
    return every.shrink([*[(0, n) for n in before], (0, rows), (0, columns)])
