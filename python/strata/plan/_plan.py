"""A plan, and memory of tensors as its operands."""

from __future__ import annotations

import json
import os
from typing import NamedTuple

from .._checks import shown
from .._strata import DType, Tensor, UsageError
from ..artifacts.spec import order_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._strata import CompiledPlan
    from .._types import FileName


class Operand(NamedTuple):
    """An input or output of a plan. alignment: bytes that its address is a multiple of."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    alignment: int
    output: bool


class Precision(NamedTuple):
    """How exact results are, and the types of the arithmetic and of sums.

    deterministic: two runs give the same bits. bit_stable: no order of additions decides the bits. max_ulp: measured
    against float64, None where it was not.
    """

    math: DType
    accumulate: DType
    deterministic: bool
    bit_stable: bool
    max_ulp: int | None


class View(NamedTuple):
    """A part of a tensor's memory as an operand: what strata.plan.view gives."""

    tensor: Tensor
    offset: int
    bytes: int | None
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None


def _sizes(what, value):
    sizes = tuple(value) if hasattr(value, "__iter__") else (value,)
    if not all(type(n) is int and -(1 << 63) <= n < 1 << 63 for n in sizes):
        raise UsageError(f"[view] {what} is {value!r}: whole numbers")
    return sizes


def view(
    tensor: Tensor,
    shape: int | Sequence[int] | None = None,
    strides: int | Sequence[int] | None = None,
    bytes: int | None = None,
    offset: int = 0,
) -> View:
    """Memory of a tensor, row by row, as an operand of another shape.

    strides: in elements, row-major where they are not given. offset: bytes from the tensor's first element to the
    operand's. bytes: how many the operand may use, all from there on by default. Raises UsageError.
    """
    if not isinstance(tensor, Tensor):
        raise UsageError(f"[view] takes a tensor, not {shown(tensor)}")
    for name, number in (("offset", offset), ("bytes", 0 if bytes is None else bytes)):
        if type(number) is not int or not 0 <= number < 1 << 62:
            raise UsageError(f"[view] {name} is {number!r}: a number of bytes")
    sizes = tuple(tensor.shape) if shape is None else _sizes("shape", shape)
    steps = None if strides is None else _sizes("strides", strides)
    if steps is not None and len(steps) != len(sizes):
        raise UsageError(f"[view] {len(steps)} strides of {len(sizes)} sizes: one an axis")
    return View(tensor, offset, bytes, sizes, steps)


class Plan:
    """A compiled operation: what strata.plan.select gives. Threads may run one at once.

    .operands are in the order of the C interface, .workspace_size in bytes. .launches are those of a run. .sku decides
    its code, and .sku_hash is equal in all processes.
    """

    def __init__(self, core: CompiledPlan) -> None:
        self._core = core
        self.operands = tuple(Operand(n, d, tuple(sh), tuple(st), a, out) for n, d, sh, st, a, out in core.operands)
        self.workspace_size, self.launches = core.workspace, core.launches
        orders = [(operand, order_of(operand.shape, operand.strides)) for operand in self.operands]
        # Inputs in another order of axes, into which a tensor's own memory is brought.
        self._turned = {
            operand.name: (operand, order)
            for operand, order in orders
            if not operand.output and order and list(order) != sorted(order)
        }
        self.sku: dict[str, Any] = json.loads(core.sku)
        self.sku_hash, self.precision, self.device = core.sku_hash, Precision(*core.precision), core.device

    def _views(self, operands):
        views = {}
        for name, value in operands.items():
            if isinstance(value, View):
                views[name] = tuple(value)
            elif isinstance(value, Tensor):
                shape = value.shape
                if (turned := self._turned.get(name)) and shape == turned[0].shape:
                    operand, order = turned
                    views[name] = (value.permute(*order).contiguous(), 0, None, shape, operand.strides)
                else:
                    views[name] = (value, 0, None, shape, None)
            else:
                raise UsageError(f"[plan] '{name}' is {shown(value)}: a tensor, or strata.plan.view of one")
        return views

    def can_implement(self, **operands: Tensor | View) -> bool:
        """True if a run over these tensors or views will not fail; raises what is wrong first. Outputs may be left
        out.
        """
        self._core.check(self._views(operands))
        return True

    def run(self, **operands: Tensor | View) -> Any:
        """Runs over these tensors or views. Outputs that are given are filled; the others are new tensors, which are
        returned: one, or a tuple. None where all were given.
        """
        made = self._core.run(self._views(operands))
        return None if not made else made[0] if len(made) == 1 else tuple(made)

    def save(self, path: FileName) -> None:
        """Writes an artifact, which strata.Artifact.load and strata_artifact_open read. Raises UsageError for a plan
        that launches nothing.
        """
        from ..artifacts.container import FORMAT, MANIFEST
        from ..artifacts.folder import check_place

        check_place(path, MANIFEST, FORMAT)
        self._core.save(os.fsencode(path))

    def __repr__(self) -> str:
        shapes = ", ".join(f"{operand.name} {operand.shape}" for operand in self.operands)
        bits = f"{self.sku_hash:016x}"
        return f"<Plan {self.sku['op']} of {shapes} on {self.device}, {bits}>"
