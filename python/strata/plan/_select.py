"""The rows of operations, and plans of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .. import _strata
from .._checks import shown
from .._strata import Tensor, UsageError
from ..artifacts.spec import Spec
from ._plan import Plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Operation(NamedTuple):
    """A row: names of operands in their order ("?" after one that may be absent), attributes with their defaults (None:
    it must be given), types of the main operands. backward: NAME_backward is an operation too, of dy and the inputs.
    served: False where plans know its name alone.
    """

    category: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]
    dtypes: tuple[str, ...]
    backward: bool
    served: bool


def operations() -> tuple[Operation, ...]:
    """All operations, by category."""
    return tuple(
        Operation(category, name, tuple(inputs), tuple(outputs), attributes, tuple(dtypes), backward, served)
        for category, name, inputs, outputs, attributes, dtypes, backward, served in _strata._plan_operations()
    )


_PREFERENCES = ("target", "deterministic", "max_workspace", "beam")


def _preference(prefer):
    if prefer is None:
        prefer = {}
    if not hasattr(prefer, "keys"):
        raise UsageError(f"[plan] prefer is {shown(prefer)}: a dict of {', '.join(_PREFERENCES)}")
    for name in prefer:
        if name not in _PREFERENCES:
            raise UsageError(f"[plan] there is no preference {name!r}: there are {', '.join(_PREFERENCES)}")
    most, beam = prefer.get("max_workspace"), prefer.get("beam", 0)
    if not isinstance(prefer.get("target", ""), str):
        raise UsageError(f"[plan] the preferred target is {shown(prefer['target'])}: 'asm' or 'hip'")
    if not (most is None or type(most) is int and 0 <= most < 1 << 64):
        raise UsageError(f"[plan] max_workspace is {shown(most)}: a number of bytes, or None")
    if type(beam) is not int or not 0 <= beam <= 1000:
        raise UsageError(f"[plan] beam is {shown(beam)}: a width from 0 to 1000")
    return (prefer.get("target", ""), bool(prefer.get("deterministic", False)), most, beam)


def _attribute(name, value):
    if isinstance(value, (bool, np.bool_, np.integer)):
        return [int(value)]
    if isinstance(value, int):
        return [value]
    if isinstance(value, (float, np.floating)):
        return float(value)
    if isinstance(value, str):
        return value
    if isinstance(value, _strata.DType):
        return value.name
    if isinstance(value, (list, tuple)) and all(isinstance(n, (int, np.integer)) for n in value):
        return [int(n) for n in value]
    raise UsageError(f"[plan] the attribute '{name}' is {shown(value)}: whole numbers, a number or a text")


def select(operation: str, /, *, prefer: Mapping[str, Any] | None = None, device: str = "", **given: Any) -> Plan:
    """The plan of an operation for operands of these shapes and types, compiled for a device ("" is the default one).

    given: a strata.Spec or a tensor for each operand, and attributes; outputs may be left out. prefer: a dict of target
    ("asm" or "hip"), deterministic, max_workspace in bytes, and beam. What cannot be met is an error. Raises the first
    that is wrong, with .status "UNSUPPORTED", "ARGUMENT", "INVALID" or "COMPILE".
    """
    if not isinstance(operation, str):
        raise UsageError(f"[plan] the operation is {shown(operation)}: a name of strata.plan.operations()")
    tensors: dict[str, tuple[Any, list[int], list[int] | None]] = {}
    attributes = {}
    for name, value in given.items():
        if isinstance(value, Spec):
            tensors[name] = (value.dtype, list(value.shape), list(value.strides))
        elif isinstance(value, Tensor):
            tensors[name] = (value.dtype, list(value.shape), None)
        else:
            attributes[name] = _attribute(name, value)
    return Plan(_strata._select_plan(operation, tensors, attributes, _preference(prefer), device))
