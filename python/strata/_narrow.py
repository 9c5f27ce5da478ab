"""Narrow floats in functions that are made of several operations: computed as float32, rounded once at the end."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from . import _strata
from ._strata import Tensor

_F = TypeVar("_F", bound=Callable[..., Any])
_WIDE = 4  # bytes of the floats that are computed as they are


def _floats(value: Any) -> list[Tensor]:
    """The tensors of floats among arguments, which may be sequences of them."""
    if isinstance(value, Tensor):
        return [value] if value.dtype.is_float else []
    return [x for part in value for x in _floats(part)] if isinstance(value, (tuple, list)) else []


def _each(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """The same with other tensors of floats."""
    if isinstance(value, Tensor):
        return change(value) if value.dtype.is_float else value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_each(part, change) for part in value))
    return type(value)(_each(part, change) for part in value) if isinstance(value, (tuple, list)) else value


def rounded_once(f: _F) -> _F:
    """The function, of float32 where tensors among its arguments are narrower floats; what it gives is rounded to their
    type.

    Beside a wide tensor narrow ones take its type, and so does the result.
    """

    @functools.wraps(f)
    def wide(*arguments: Any, **named: Any) -> Any:
        given = (arguments, tuple(named.values()))
        floats = _floats(given)
        if all(x.dtype.itemsize >= _WIDE for x in floats):
            return f(*arguments, **named)
        to = functools.reduce(_strata.promote, (x.dtype for x in floats))
        computed = to if to.itemsize >= _WIDE else _strata.dtypes.float32
        positions, values = _each(given, lambda x: x.cast(computed))
        value = f(*positions, **dict(zip(named, values)))
        return value if computed == to else _each(value, lambda x: x.cast(to))

    return wide  # type: ignore[return-value]
