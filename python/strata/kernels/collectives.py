"""Collectives over the devices of a process."""

from __future__ import annotations

import functools

from .._checks import check_all, shown
from .._strata import DTypeError, ShapeError, Tensor, UsageError
from ._shared import widened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

_OPERATIONS = {"sum": Tensor.add, "prod": Tensor.mul, "max": Tensor.maximum, "min": Tensor.minimum}


def all_reduce(tensors: Sequence[Tensor], op: Literal["sum", "prod", "max", "min"] = "sum") -> list[Tensor]:
    """The sum, product, largest or smallest elements of all tensors, on the device of each, in their type.

    tensors of one shape and type, one or more. Narrow floats are combined in float32 and rounded once, integers are
    exact. The order is that of the list, so that all results have the same bits. ShapeError, DTypeError, UsageError.
    """
    if op not in _OPERATIONS:
        raise UsageError(f"[all_reduce] op {shown(op)}: it is one of {', '.join(_OPERATIONS)}")
    parts = list(tensors) if isinstance(tensors, (list, tuple)) else []
    if not parts or not all(isinstance(t, Tensor) for t in parts):
        raise UsageError(f"[all_reduce] tensors is {shown(tensors)}: a list of one or more")
    first = parts[0]
    for t in parts:
        if t.shape != first.shape:
            raise ShapeError(f"[all_reduce] shapes {first.shape} and {t.shape} differ")
        if t.dtype != first.dtype:
            raise DTypeError(f"[all_reduce] types {first.dtype.name} and {t.dtype.name} differ")
    total = functools.reduce(_OPERATIONS[op], [widened(t.to(first.device)) if t.dtype.is_float else t.to(first.device)
                                               for t in parts])  # fmt: skip
    total = total.cast(first.dtype)
    return [total.to(t.device) for t in parts]


check_all(globals(), __name__, is_total=True)
