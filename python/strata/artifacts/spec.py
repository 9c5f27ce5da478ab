"""Tensors that stand for no data: samples of a compiled function, and the operands of an artifact."""

from __future__ import annotations

import math
from typing import NamedTuple

from .._strata import DType, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._types import DTypeLike


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides in elements, of the last axis 1."""
    return tuple(math.prod(n or 1 for n in shape[axis + 1 :]) for axis in range(len(shape)))


def order_of(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...] | None:
    """Axes from the largest stride to the smallest, where these reach each element once; else None."""
    order = tuple(sorted(range(len(shape)), key=lambda axis: (-strides[axis], axis)))
    in_memory = row_major([shape[axis] for axis in order])
    dense = all(shape[axis] < 2 or strides[axis] == step for axis, step in zip(order, in_memory))
    return order if dense or 0 in shape else None


class Spec:
    """Stands for a tensor that a compiled function is given at each call.

    shape: sizes. dtype: the type of its elements. strides: in elements, row-major where they are not given; they reach
    each element once, as those of a transposed tensor do. Raises UsageError.
    """

    def __init__(self, shape: int | Sequence[int], dtype: DTypeLike = "float32", strides: Sequence[int] | None = None):
        sizes = tuple(shape) if hasattr(shape, "__iter__") else (shape,)
        if not all(type(n) is int and 0 <= n < 1 << 63 for n in sizes):
            raise UsageError(f"[Spec] shape is {shape!r}: sizes are integers of at least 0")
        self.shape, self.dtype = sizes, DType(dtype)
        self.strides = row_major(sizes) if strides is None else tuple(strides)
        if len(self.strides) != len(sizes) or not all(type(n) is int for n in self.strides):
            raise UsageError(f"[Spec] strides are {strides!r}: an integer for each axis of {sizes}")
        if order_of(sizes, self.strides) is None:
            raise UsageError(
                f"[Spec] strides {self.strides} of shape {sizes} do not reach each element once: give those of a "
                f"row-major tensor whose axes were permuted"
            )

    def __repr__(self) -> str:
        strides = "" if self.strides == row_major(self.shape) else f", strides={self.strides}"
        return f"Spec({self.shape}, {self.dtype.name!r}{strides})"

    def __eq__(self, other: object) -> bool:
        mine = (self.shape, self.dtype.name, self.strides)
        return isinstance(other, Spec) and mine == (other.shape, other.dtype.name, other.strides)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype.name, self.strides))


class Operand(NamedTuple):
    """An input or output of an artifact. shape and strides are None for a number."""

    name: str
    dtype: DType
    shape: tuple[int, ...] | None
    strides: tuple[int, ...] | None
    alignment: int
