"""Operations as plans: selected by a descriptor, checked, and run over memory that the caller gives.

    p = strata.plan.select("swiglu", x=strata.Spec((2, 4, 8), "float32"), axis=1)
    y = p.run(x=t)

bindings/c/strata/strata.h is the same for C. Errors have .status, a name of the C interface such as "INVALID", and
.operand, "" where they are about none. .needed and .got are the numbers that do not fit.
"""

from __future__ import annotations

from ._plan import Operand, Plan, Precision, View, view
from ._select import Operation, operations, select

__all__ = ["Operand", "Operation", "Plan", "Precision", "View", "operations", "select", "view"]
