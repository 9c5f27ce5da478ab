"""Names for what Strata's functions take; for annotations only, there is no such module at run time."""

from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Any, Literal, Protocol, TypeAlias, overload

import numpy as np

from ._lang import Value, View
from ._layout import Basis, ComposedLayout, CoordSwizzle, Layout, Swizzle, Tile
from ._strata import CustomKernel, DType, Tensor
from .uop import UOp

class HasArray(Protocol):
    """Anything that NumPy can read."""
    def __array__(self) -> np.ndarray[Any, Any]: ...

class HasDLPack(Protocol):
    """Anything that gives its memory by DLPack."""
    def __dlpack__(self) -> object: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

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
FileName: TypeAlias = str | bytes | PathLike[str] | PathLike[bytes]
Parameters: TypeAlias = Tensor | Iterable[Tensor]
LearningRate: TypeAlias = float | Callable[[int], float]
LaunchProfile: TypeAlias = dict[str, Any]  # what strata.profile says of one, by the names that docs/profile.md lists

# Of strata.layout.
IntTuple: TypeAlias = int | UOp | Value | Basis | None | tuple[IntTuple, ...] | list[IntTuple]
TileLike: TypeAlias = int | UOp | Value | Layout | Tile | None | tuple[TileLike, ...] | list[TileLike]
AnyLayout: TypeAlias = Layout | ComposedLayout | Swizzle | CoordSwizzle | View

# Functions of nn.functional that are made for one, two and three axes.

class MaxPool(Protocol):
    @overload
    def __call__(
        self,
        input: Tensor,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        ceil_mode: bool = False,
        return_indices: Literal[False] = False,
    ) -> Tensor: ...
    @overload
    def __call__(
        self,
        input: Tensor,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        ceil_mode: bool = False,
        *,
        return_indices: Literal[True],
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def __call__(
        self,
        input: Tensor,
        kernel_size: Sizes,
        stride: Sizes | None,
        padding: Sizes,
        dilation: Sizes,
        ceil_mode: bool,
        return_indices: Literal[True],
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def __call__(
        self,
        input: Tensor,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        ceil_mode: bool = False,
        *,
        return_indices: bool,
    ) -> Tensor | tuple[Tensor, Tensor]: ...

class MaxPoolWithIndices(Protocol):
    def __call__(
        self,
        input: Tensor,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> tuple[Tensor, Tensor]: ...

class AdaptiveMaxPool(Protocol):
    @overload
    def __call__(
        self, input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: Literal[False] = False
    ) -> Tensor: ...
    @overload
    def __call__(
        self, input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: Literal[True]
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def __call__(
        self, input: Tensor, output_size: int | Sequence[int | None] | None, *, return_indices: bool
    ) -> Tensor | tuple[Tensor, Tensor]: ...

class AdaptiveMaxPoolWithIndices(Protocol):
    def __call__(
        self, input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False
    ) -> tuple[Tensor, Tensor]: ...

class FractionalMaxPool(Protocol):
    @overload
    def __call__(
        self,
        input: Tensor,
        kernel_size: Sizes,
        output_size: Sizes | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: Literal[False] = False,
        _random_samples: Tensor | None = None,
    ) -> Tensor: ...
    @overload
    def __call__(
        self,
        input: Tensor,
        kernel_size: Sizes,
        output_size: Sizes | None = None,
        output_ratio: float | Sequence[float] | None = None,
        *,
        return_indices: Literal[True],
        _random_samples: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def __call__(
        self,
        input: Tensor,
        kernel_size: Sizes,
        output_size: Sizes | None,
        output_ratio: float | Sequence[float] | None,
        return_indices: Literal[True],
        _random_samples: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]: ...
    @overload
    def __call__(
        self,
        input: Tensor,
        kernel_size: Sizes,
        output_size: Sizes | None = None,
        output_ratio: float | Sequence[float] | None = None,
        *,
        return_indices: bool,
        _random_samples: Tensor | None = None,
    ) -> Tensor | tuple[Tensor, Tensor]: ...

class FractionalMaxPoolWithIndices(Protocol):
    def __call__(
        self,
        input: Tensor,
        kernel_size: Sizes,
        output_size: Sizes | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]: ...

class AvgPool(Protocol):
    def __call__(
        self,
        input: Tensor,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor: ...

class AdaptiveAvgPool(Protocol):
    def __call__(self, input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor: ...

class LpPool(Protocol):
    def __call__(
        self, input: Tensor, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False
    ) -> Tensor: ...

class MaxUnpool(Protocol):
    def __call__(
        self,
        input: Tensor,
        indices: Tensor,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        output_size: Sequence[int] | None = None,
    ) -> Tensor: ...

class Conv(Protocol):
    def __call__(
        self,
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
    ) -> Tensor: ...

class ConvTranspose(Protocol):
    def __call__(
        self,
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        dilation: Sizes = 1,
    ) -> Tensor: ...

class ChannelDropout(Protocol):
    def __call__(self, input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor: ...
