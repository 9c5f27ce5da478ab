"""Names for what Strata's functions take; for annotations only, there is no such module at run time."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from ._strata import CustomKernel, DType, Tensor
from .uop import UOp

class HasArray(Protocol):
    """Anything that NumPy can read."""
    def __array__(self) -> np.ndarray[Any, Any]: ...

Scalar: TypeAlias = bool | int | float | complex
Operand: TypeAlias = Tensor | Scalar | HasArray | list[Any]
ArrayLike: TypeAlias = Tensor | Scalar | HasArray | Sequence[Any]
DTypeLike: TypeAlias = DType | str | np.dtype[Any] | type
Axes: TypeAlias = int | Sequence[int] | None
Shape: TypeAlias = int | Sequence[int]
IndexPart: TypeAlias = int | slice | None | Tensor | HasArray | list[Any]
Sizes: TypeAlias = int | Sequence[int]
KernelArgument: TypeAlias = ArrayLike | np.generic | bytes | bytearray | Any | None
Kernel: TypeAlias = CustomKernel | Callable[..., UOp]
Space: TypeAlias = Literal["reg", "local", "global"]
AxisKind: TypeAlias = Literal["global", "local", "loop", "reduce", "upcast", "unroll", "group"]
Reduction: TypeAlias = Literal["mean", "sum", "none"]
