"""Strata's core: tensors, UOps, kernels, the assembler and the emulator.

Shapes are in elements, row-major. Times are in milliseconds; on an emulated device `time_ms` is modelled: what the kernel
would take on the GPU that is modelled, not what it took here. Every error is a strata.Error.
"""

from collections.abc import Iterable, Iterator, Sequence
from types import EllipsisType, TracebackType
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from typing_extensions import CapsuleType, Self

from . import dtypes as dtypes
from . import emulator as emulator
from . import nn as nn
from . import uop as uop
from ._types import ArrayLike, Axes, DTypeLike, IndexPart, Kernel, Operand, Scalar, Shape, Sizes

# Errors ------------------------------------------------------------------------------------------------------------------

class Error(Exception):
    """Base of every error Strata raises."""
    log: str
    """A compiler's whole output, or ''."""
    source: str
    """The text that the error is about, or ''."""
    file: str
    """Where: the file's name, or ''."""
    line: int
    """Where: 1 is the first line, 0 is unknown."""
    column: int
    """Where: 1 is the first column, 0 is unknown."""

class UsageError(Error, ValueError):
    """A call that makes no sense: a bad argument, an unknown name."""

class ShapeError(Error, ValueError):
    """Shapes that do not fit; the message names both."""

class DTypeError(Error, TypeError):
    """Element types that do not fit; the message names both."""

class CompileError(Error, RuntimeError):
    """HIP source that does not compile; log and source are attached, file, line and column are in the user's text."""

class AssemblyError(Error, ValueError):
    """Assembly text or typed assembly that is wrong, with its file, line and column."""

class LaunchError(Error, ValueError):
    """Grid, block, LDS, registers or arguments that the device cannot run."""

class MemoryFault(Error, RuntimeError):
    """A kernel touched memory it does not own, or trapped; names kernel, offset, instruction, lane and address."""

class DeviceError(Error, RuntimeError):
    """No such device, or driver or toolchain trouble."""

class Unsupported(Error, RuntimeError):
    """A thing Strata knows but cannot do on this target."""

class InternalError(Error, RuntimeError):
    """A mistake of Strata's own."""

# Element types -----------------------------------------------------------------------------------------------------------

class DType:
    """An element type. Equal to its name, and to the NumPy type it stands for."""
    @property
    def name(self) -> str:
        """'float32', 'boolean', ..."""
    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
    @property
    def bits(self) -> int:
        """Bits of one element."""
    @property
    def is_float(self) -> bool:
        """Whether it is a floating type."""
    @property
    def is_integer(self) -> bool:
        """Whether it is an integer type; bool is none."""
    @property
    def is_unsigned(self) -> bool:
        """Whether it is an unsigned integer type."""
    @property
    def is_bool(self) -> bool:
        """Whether it is bool."""
    @property
    def numpy_name(self) -> str:
        """NumPy's name, or '' where NumPy has no such type."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __repr__(self) -> str: ...

def promote(arg0: DType, arg1: DType, /) -> DType:
    """The type of an operation between two types, by the array API's rules; integer with float gives the float."""

def result_type(arg0: Operand, arg1: Operand, /) -> DType:
    """The type of an operation between two tensors or numbers; a Python number takes the type of the tensor it meets."""

# Tensors -----------------------------------------------------------------------------------------------------------------

class Tensor:
    """A lazy n-dimensional array on a device. Operations build a graph; realize, item, numpy and tolist compute it.

    Shapes of elementwise operands broadcast; types are promoted by the array API's rules. Errors: ShapeError names both
    shapes, DTypeError both types, UsageError what was wrong with an argument.
    """
    __array_priority__: ClassVar[int]
    def __init__(self, data: ArrayLike, dtype: DTypeLike | None = None, device: str = "") -> None:
        """From nested lists, a number, a NumPy array or anything with __array__. Python floats become float32."""

    # Creation. device: "emu:gfx1100", ...; the default device when empty.
    @staticmethod
    def empty(*shape: Shape, dtype: DTypeLike = "float32", device: str = "") -> Tensor:
        """Uninitialised memory of a shape: empty(2, 3) or empty((2, 3))."""
    @staticmethod
    def full(shape: Shape, fill_value: Scalar, dtype: DTypeLike | None = None, device: str = "") -> Tensor:
        """One value everywhere; takes no memory until realized. The type follows the value when not given."""
    @staticmethod
    def zeros(*shape: Shape, dtype: DTypeLike = "float32", device: str = "") -> Tensor:
        """0 everywhere: zeros(2, 3) or zeros((2, 3))."""
    @staticmethod
    def ones(*shape: Shape, dtype: DTypeLike = "float32", device: str = "") -> Tensor:
        """1 everywhere: ones(2, 3) or ones((2, 3))."""
    @staticmethod
    def arange(start: Scalar, stop: Scalar | None = None, step: Scalar = 1, dtype: DTypeLike | None = None, device: str = "") -> Tensor:
        """start, start + step, ... below stop; arange(n) counts from 0. int64, or float32 when an argument is a float."""
    @staticmethod
    def linspace(start: float, stop: float, num: int = 50, dtype: DTypeLike = "float32", endpoint: bool = True, device: str = "") -> Tensor:
        """`num` evenly spaced values from start to stop, stop included when `endpoint`. Shape (num,)."""
    @staticmethod
    def eye(n: int, m: int | None = None, k: int = 0, dtype: DTypeLike = "float32", device: str = "") -> Tensor:
        """Shape (n, m): 1 on the diagonal k, 0 elsewhere; m is n when not given."""
    @staticmethod
    def rand(*shape: Shape, dtype: DTypeLike = "float32", device: str = "") -> Tensor:
        """Uniform in [0, 1); see manual_seed."""
    @staticmethod
    def randn(*shape: Shape, dtype: DTypeLike = "float32", device: str = "") -> Tensor:
        """Normal, mean 0, deviation 1; see manual_seed."""
    @staticmethod
    def randint(low: int, high: int, shape: Shape, dtype: DTypeLike = "int64", device: str = "") -> Tensor:
        """Integers in [low, high); see manual_seed."""
    @staticmethod
    def manual_seed(seed: int = 0) -> None:
        """Starts the sequence of random numbers anew: the same calls give the same numbers on every device."""
    def full_like(self, fill_value: Scalar, dtype: DTypeLike | None = None) -> Tensor:
        """One value, in this shape; this type when not given."""
    def zeros_like(self, dtype: DTypeLike | None = None) -> Tensor:
        """0, in this shape; this type when not given."""
    def ones_like(self, dtype: DTypeLike | None = None) -> Tensor:
        """1, in this shape; this type when not given."""
    def tril(self, diagonal: int = 0) -> Tensor:
        """Keeps the elements on and below a diagonal of the last two axes; the others become 0."""
    def triu(self, diagonal: int = 0) -> Tensor:
        """Keeps the elements on and above a diagonal of the last two axes; the others become 0."""

    # Data
    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
    @property
    def dtype(self) -> DType:
        """Element type."""
    @property
    def ndim(self) -> int:
        """Number of axes."""
    @property
    def device(self) -> str:
        """Where it is computed: 'emu:gfx1100', ..."""
    @property
    def size(self) -> int:
        """Number of elements."""
    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
    @property
    def is_realized(self) -> bool:
        """Whether the value is in memory."""
    @property
    def uop(self) -> uop.UOp:
        """The node of the lazy graph."""
    def numel(self) -> int:
        """Number of elements."""
    def realize(self) -> Self:
        """Computes the value now; returns the tensor itself. Raises CompileError, LaunchError, MemoryFault, DeviceError."""
    def item(self) -> Any:
        """The value of a tensor of one element as a Python number; computes it."""
    def numpy(self) -> np.ndarray[Any, Any]:
        """A NumPy array with a copy of the values; computes them. DTypeError for types NumPy has not: cast first."""
    def tolist(self) -> Any:
        """Nested lists of Python numbers; computes them."""
    def to(self, device: str) -> Tensor:
        """The same values on a device; they are copied through the host when they live elsewhere."""
    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]: ...
    def __dlpack__(self, **kwargs: Any) -> CapsuleType: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __bool__(self) -> bool: ...
    def __float__(self) -> float: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...
    def __repr__(self) -> str: ...
    def __hash__(self) -> int: ...

    # Movement: no element is computed or copied.
    def reshape(self, *shape: Shape) -> Tensor:
        """The same elements in another shape; one axis may be -1. ShapeError when the numbers of elements differ."""
    def permute(self, *axes: Shape) -> Tensor:
        """Axes in another order: permute(2, 0, 1)."""
    def transpose(self, axis0: int = -2, axis1: int = -1) -> Tensor:
        """Exchanges two axes, the last two by default."""
    @property
    def T(self) -> Tensor:
        """All axes reversed."""
    @property
    def mT(self) -> Tensor:
        """The last two axes exchanged."""
    def movedim(self, source: int, destination: int) -> Tensor:
        """One axis moved to another place."""
    def expand(self, *shape: Shape) -> Tensor:
        """Axes of size 1 repeated; -1 keeps the size of an axis."""
    def broadcast_to(self, *shape: Shape) -> Tensor:
        """As expand."""
    def pad(self, padding: Sequence[tuple[int, int]], value: Scalar = 0) -> Tensor:
        """One (before, after) an axis, filled with value."""
    def shrink(self, bounds: Sequence[tuple[int, int]]) -> Tensor:
        """One (begin, end) an axis."""
    def flip(self, axis: Axes = None) -> Tensor:
        """Reversed along axes, all by default."""
    def roll(self, shift: int, axis: int) -> Tensor:
        """Shifted along an axis; what leaves at one end comes in at the other."""
    def squeeze(self, axis: Axes = None) -> Tensor:
        """Without axes of size 1, all of them by default."""
    def unsqueeze(self, axis: int) -> Tensor:
        """With a new axis of size 1."""
    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Tensor:
        """Axes start_dim to end_dim as one."""
    def unflatten(self, axis: int, sizes: Shape) -> Tensor:
        """One axis as several; one size may be -1."""
    def split(self, sizes: int | Sequence[int], axis: int = 0) -> list[Tensor]:
        """Pieces of a size, the last may be smaller, or of the sizes given."""
    def chunk(self, chunks: int, axis: int = 0) -> list[Tensor]:
        """At most so many pieces of equal size, the last may be smaller."""
    def repeat(self, repeats: int, axis: int | None = None) -> Tensor:
        """Each element so many times; without axis, of the flat array."""
    def tile(self, *counts: Shape) -> Tensor:
        """The array repeated along each axis."""
    def contiguous(self) -> Tensor:
        """In memory of its own when realized."""

    # Indexing. Integer tensors hold indices in [-n, n); they are not checked.
    def __getitem__(self, key: IndexPart | EllipsisType | tuple[IndexPart | EllipsisType, ...], /) -> Tensor: ...
    def take(self, indices: Tensor, axis: int | None = None) -> Tensor:
        """numpy.take; without axis, from the flat array."""
    def gather(self, axis: int, indices: Tensor) -> Tensor:
        """numpy.take_along_axis."""
    def one_hot(self, classes: int, dtype: DTypeLike = "int64") -> Tensor:
        """shape + (classes,): 1 at the index, 0 elsewhere."""

    # Reductions. axis: one, several, or None for all; keepdims keeps them with size 1.
    def sum(self, axis: Axes = None, keepdims: bool = False, dtype: DTypeLike | None = None) -> Tensor:
        """Integers and bool give int64 (uint64 for unsigned); narrow floats are accumulated as float32."""
    def prod(self, axis: Axes = None, keepdims: bool = False, dtype: DTypeLike | None = None) -> Tensor:
        """The product; types as sum."""
    def max(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        """NaN if there is one. ShapeError for nothing."""
    def min(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        """NaN if there is one. ShapeError for nothing."""
    def mean(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        """Integers give float32."""
    def var(self, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
        """Variance, divided by n - correction."""
    def std(self, axis: Axes = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
        """Standard deviation, divided by n - correction."""
    def any(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        """Whether some element is not 0."""
    def all(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        """Whether no element is 0."""
    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Tensor:
        """int64 position of the first maximum; without axis, in the flat array."""
    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Tensor:
        """int64 position of the first minimum; without axis, in the flat array."""
    def cumsum(self, axis: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
        """Running sum; axis may be left out for 1-D tensors only."""
    def cumprod(self, axis: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
        """Running product; axis may be left out for 1-D tensors only."""
    def softmax(self, axis: int = -1) -> Tensor:
        """exp(x) / sum(exp(x)) along an axis."""
    def log_softmax(self, axis: int = -1) -> Tensor:
        """log(softmax(x)) along an axis."""
    def logsumexp(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        """log(sum(exp(x))) without overflow."""
    def matmul(self, other: ArrayLike) -> Tensor:
        """(..., n, k) x (..., k, m) -> (..., n, m); leading axes broadcast. Narrow floats accumulate as float32."""
    def dot(self, other: ArrayLike) -> Tensor:
        """matmul that also takes 0-D tensors."""

    # Elementwise
    def neg(self) -> Tensor:
        """-x."""
    def abs(self) -> Tensor:
        """|x|."""
    def sign(self) -> Tensor:
        """-1, 0 or 1; NaN stays NaN."""
    def square(self) -> Tensor:
        """x * x."""
    def reciprocal(self) -> Tensor:
        """1 / x."""
    def sqrt(self) -> Tensor:
        """Square root."""
    def rsqrt(self) -> Tensor:
        """1 / sqrt(x)."""
    def exp(self) -> Tensor:
        """e to the x."""
    def exp2(self) -> Tensor:
        """2 to the x."""
    def log(self) -> Tensor:
        """Natural logarithm."""
    def log2(self) -> Tensor:
        """Logarithm to base 2."""
    def log10(self) -> Tensor:
        """Logarithm to base 10."""
    def sin(self) -> Tensor:
        """Sine of x in radians."""
    def cos(self) -> Tensor:
        """Cosine of x in radians."""
    def tan(self) -> Tensor:
        """Tangent of x in radians."""
    def tanh(self) -> Tensor:
        """Hyperbolic tangent."""
    def erf(self) -> Tensor:
        """Error function."""
    def sigmoid(self) -> Tensor:
        """1 / (1 + exp(-x))."""
    def silu(self) -> Tensor:
        """x * sigmoid(x)."""
    def gelu(self) -> Tensor:
        """x * Phi(x), exact (by erf)."""
    def gelu_tanh(self) -> Tensor:
        """The tanh approximation of gelu."""
    def relu(self) -> Tensor:
        """max(x, 0)."""
    def floor(self) -> Tensor:
        """The next integer below."""
    def ceil(self) -> Tensor:
        """The next integer above."""
    def trunc(self) -> Tensor:
        """The next integer toward 0."""
    def round(self) -> Tensor:
        """The nearest integer; halves go to the even neighbour."""
    def isnan(self) -> Tensor:
        """bool: NaN."""
    def isinf(self) -> Tensor:
        """bool: plus or minus infinity."""
    def isfinite(self) -> Tensor:
        """bool: neither NaN nor infinite."""
    def logical_not(self) -> Tensor:
        """bool: x == 0."""
    def bitwise_invert(self) -> Tensor:
        """~x of integers and bool."""
    def add(self, other: Operand) -> Tensor:
        """x + other; of bool: or."""
    def sub(self, other: Operand) -> Tensor:
        """x - other."""
    def mul(self, other: Operand) -> Tensor:
        """x * other; of bool: and."""
    def div(self, other: Operand) -> Tensor:
        """x / other; integers give float32."""
    def floor_divide(self, other: Operand) -> Tensor:
        """Quotient rounded down; by integer 0 undefined."""
    def remainder(self, other: Operand) -> Tensor:
        """x - floor(x / other) * other; has the sign of the divisor."""
    def pow(self, other: Operand) -> Tensor:
        """x to the other; of integers exact, modulo 2^bits."""
    def maximum(self, other: Operand) -> Tensor:
        """The larger; NaN where either is NaN."""
    def minimum(self, other: Operand) -> Tensor:
        """The smaller; NaN where either is NaN."""
    def eq(self, other: Operand) -> Tensor:
        """bool: x == other."""
    def ne(self, other: Operand) -> Tensor:
        """bool: x != other."""
    def lt(self, other: Operand) -> Tensor:
        """bool: x < other."""
    def le(self, other: Operand) -> Tensor:
        """bool: x <= other."""
    def gt(self, other: Operand) -> Tensor:
        """bool: x > other."""
    def ge(self, other: Operand) -> Tensor:
        """bool: x >= other."""
    def logical_and(self, other: Operand) -> Tensor:
        """bool: both are not 0."""
    def logical_or(self, other: Operand) -> Tensor:
        """bool: one is not 0."""
    def logical_xor(self, other: Operand) -> Tensor:
        """bool: exactly one is not 0."""
    def bitwise_and(self, other: Operand) -> Tensor:
        """x & other of integers and bool."""
    def bitwise_or(self, other: Operand) -> Tensor:
        """x | other of integers and bool."""
    def bitwise_xor(self, other: Operand) -> Tensor:
        """x ^ other of integers and bool."""
    def bitwise_left_shift(self, other: Operand) -> Tensor:
        """x << other of integers; by the width or more: 0."""
    def bitwise_right_shift(self, other: Operand) -> Tensor:
        """x >> other of integers, arithmetic; by the width or more: 0 or -1."""
    def clamp(self, min: Scalar | None = None, max: Scalar | None = None) -> Tensor:
        """Not below min, not above max."""
    def clip(self, min: Scalar | None = None, max: Scalar | None = None) -> Tensor:
        """As clamp."""
    def cast(self, dtype: DTypeLike) -> Tensor:
        """To another type; float to integer truncates and saturates, NaN gives 0; to bool: x != 0."""
    def astype(self, dtype: DTypeLike) -> Tensor:
        """As cast."""
    def bitcast(self, dtype: DTypeLike) -> Tensor:
        """The same bits as another type of the same width."""
    def where(self, x: Operand, y: Operand) -> Tensor:
        """x where this is true, else y."""

    # Operators
    def __add__(self, other: Operand, /) -> Tensor: ...
    def __radd__(self, other: Operand, /) -> Tensor: ...
    def __sub__(self, other: Operand, /) -> Tensor: ...
    def __rsub__(self, other: Operand, /) -> Tensor: ...
    def __mul__(self, other: Operand, /) -> Tensor: ...
    def __rmul__(self, other: Operand, /) -> Tensor: ...
    def __truediv__(self, other: Operand, /) -> Tensor: ...
    def __rtruediv__(self, other: Operand, /) -> Tensor: ...
    def __floordiv__(self, other: Operand, /) -> Tensor: ...
    def __rfloordiv__(self, other: Operand, /) -> Tensor: ...
    def __mod__(self, other: Operand, /) -> Tensor: ...
    def __rmod__(self, other: Operand, /) -> Tensor: ...
    def __pow__(self, other: Operand, /) -> Tensor: ...
    def __rpow__(self, other: Operand, /) -> Tensor: ...
    def __and__(self, other: Operand, /) -> Tensor: ...
    def __rand__(self, other: Operand, /) -> Tensor: ...
    def __or__(self, other: Operand, /) -> Tensor: ...
    def __ror__(self, other: Operand, /) -> Tensor: ...
    def __xor__(self, other: Operand, /) -> Tensor: ...
    def __rxor__(self, other: Operand, /) -> Tensor: ...
    def __lshift__(self, other: Operand, /) -> Tensor: ...
    def __rlshift__(self, other: Operand, /) -> Tensor: ...
    def __rshift__(self, other: Operand, /) -> Tensor: ...
    def __rrshift__(self, other: Operand, /) -> Tensor: ...
    def __matmul__(self, other: ArrayLike, /) -> Tensor: ...
    def __rmatmul__(self, other: ArrayLike, /) -> Tensor: ...
    def __eq__(self, other: Operand, /) -> Tensor: ...  # type: ignore[override]
    def __ne__(self, other: Operand, /) -> Tensor: ...  # type: ignore[override]
    def __lt__(self, other: Operand, /) -> Tensor: ...
    def __le__(self, other: Operand, /) -> Tensor: ...
    def __gt__(self, other: Operand, /) -> Tensor: ...
    def __ge__(self, other: Operand, /) -> Tensor: ...
    def __neg__(self) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...

    # Kernels of the user's
    def custom_kernel(self, *inputs: ArrayLike, kernel: Kernel, grad: None = None) -> tuple[Tensor, ...]:
        """Runs a kernel of the user's over this tensor (its output) and the inputs.

        kernel: hip_kernel(...), asm_kernel(...), or a function that gets one uop.UOp a buffer and returns uop.sink(...).
        Returns one tensor a buffer, the output first. Raises LaunchError when the number of buffers differs from the
        kernel's parameters, Unsupported for grad.
        """

def where(condition: Operand, x: Operand, y: Operand) -> Tensor:
    """x where the condition is not 0, else y; the three broadcast."""

def cat(tensors: Sequence[ArrayLike], axis: int = 0) -> Tensor:
    """Joins tensors along an axis they have; types are promoted."""

def stack(tensors: Sequence[ArrayLike], axis: int = 0) -> Tensor:
    """Joins tensors of one shape along a new axis."""

def broadcast_shapes(arg0: Shape, arg1: Shape, /) -> tuple[int, ...]:
    """The common shape; ShapeError when they do not fit."""

def manual_seed(seed: int = 0) -> None:
    """Starts the sequence of random numbers anew: the same calls give the same numbers on every device."""

def realize(tensors: Tensor | Iterable[Tensor]) -> None:
    """Computes a tensor or several, together: work they share is done once."""

# Kernels -----------------------------------------------------------------------------------------------------------------

class CustomKernel:
    """A kernel of the user's, for custom_kernel(kernel=...)."""
    @property
    def name(self) -> str:
        """The entry in its code object."""
    @property
    def grid(self) -> list[int]:
        """Workgroups: x, y, z."""
    @property
    def block(self) -> list[int]:
        """Threads of a workgroup: x, y, z."""
    @property
    def lds(self) -> int:
        """Dynamic LDS bytes of a workgroup."""
    def __repr__(self) -> str: ...

def hip_kernel(source: str, *, name: str, grid: Sizes, block: Sizes, lds: int = 0, options: Sequence[str] = ()) -> CustomKernel:
    """A kernel from HIP source, which may include hip/hip_runtime.h; it compiles on first use.

    name: the kernel, a symbol or the plain name of a C++ function. grid: workgroups, block: threads of a workgroup, each an
    int or up to three. lds: dynamic LDS bytes. options: compiler options such as -O1 or -DN=4. Raises LaunchError; using it
    raises CompileError with file:line:column in the source.
    """

class ArtifactKernel:
    """One compiled kernel: launch dimensions and resources."""
    @property
    def name(self) -> str:
        """The entry in its code object."""
    @property
    def grid(self) -> list[int]:
        """Workgroups: x, y, z."""
    @property
    def block(self) -> list[int]:
        """Threads of a workgroup: x, y, z."""
    @property
    def vgprs(self) -> int:
        """Vector registers a wave."""
    @property
    def sgprs(self) -> int:
        """Scalar registers a wave."""
    @property
    def lds(self) -> int:
        """Bytes a workgroup."""
    @property
    def scratch(self) -> int:
        """Bytes a lane."""
    @property
    def source(self) -> str:
        """HIP text; '' for a finished code object."""
    @property
    def schedule(self) -> str:
        """The schedule actions, as text."""
    @property
    def compile_ms(self) -> float:
        """Milliseconds from text to code object; near 0 from a cache."""
    @property
    def code_object(self) -> bytes:
        """ELF that any HIP program can load."""
    @property
    def assembly(self) -> str:
        """Listing of the code object."""
    def __repr__(self) -> str: ...

class Artifact:
    """What strata.compile gives: sources, assembly and code objects of every kernel, in order."""
    @property
    def kernels(self) -> list[ArtifactKernel]:
        """In order of execution."""
    @property
    def source(self) -> str:
        """HIP text of all kernels."""
    @property
    def assembly(self) -> str:
        """Listings of all kernels."""
    @property
    def code_object(self) -> bytes:
        """The last kernel's; each kernel has its own in .kernels[i].code_object."""

# Running -----------------------------------------------------------------------------------------------------------------

class config:
    """with strata.config(beam=2, device='emu:gfx1100', debug=1): settings for a block; wins over the environment."""
    def __init__(
        self,
        *,
        device: str = ...,
        target: Literal["hip"] = ...,
        beam: int = ...,
        debug: int = ...,
        cache_dir: str = ...,
        no_cache: bool = ...,
        emu_threads: int = ...,
        emu_seed: int = ...,
        emu_check: bool = ...,
        emu_ordered: bool = ...,
        emu_fidelity: bool = ...,
        emu_budget: int = ...,
        emu_model: str = ...,
        emu_simd: Literal["widest", "portable", "avx2", "avx512"] = ...,
    ) -> None:
        """Settings not named stay as they are. Raises UsageError for an unknown one or a value out of range."""
    def __enter__(self) -> Self: ...
    def __exit__(self, *args: type[BaseException] | BaseException | TracebackType | None) -> None: ...

class Launch:
    """One kernel launch."""
    @property
    def name(self) -> str:
        """The kernel."""
    @property
    def grid(self) -> list[int]:
        """Workgroups: x, y, z."""
    @property
    def block(self) -> list[int]:
        """Threads of a workgroup: x, y, z."""
    @property
    def time_ms(self) -> float:
        """Milliseconds on the device; modelled where Stats.modelled is true."""
    @property
    def wall_ms(self) -> float:
        """Milliseconds that the launch took on this machine."""
    @property
    def compile_ms(self) -> float:
        """Milliseconds from text to code object when the kernel was made."""
    @property
    def bytes(self) -> int:
        """Size of all buffers that the kernel was given."""
    @property
    def flops(self) -> int:
        """Floating-point operations, from the kernel's loops; 0 for a user's HIP or assembly."""
    @property
    def wave_instructions(self) -> int:
        """Instructions that waves ran, on an emulated device."""
    @property
    def instructions(self) -> list[emulator.InstructionUse]:
        """With config(emu_fidelity=True): each instruction of the kernel, how often it ran, how near it is to silicon."""

class Stats:
    """Counters since reset_stats()."""
    @property
    def kernels(self) -> int:
        """Launches."""
    @property
    def time_ms(self) -> float:
        """Milliseconds on the device; modelled where `modelled` is true."""
    @property
    def modelled(self) -> bool:
        """Whether time_ms comes from a timing model."""
    @property
    def bytes(self) -> int:
        """Size of all buffers that kernels were given."""
    @property
    def flops(self) -> int:
        """Floating-point operations of the kernels that Strata wrote."""
    @property
    def compile_ms(self) -> float:
        """Milliseconds spent on making programs from kernels."""
    @property
    def schedule_ms(self) -> float:
        """Milliseconds spent on scheduling, search included."""
    @property
    def wall_ms(self) -> float:
        """Milliseconds that launches took on this machine."""
    @property
    def launches(self) -> list[Launch]:
        """The last 4096 launches."""
    def __repr__(self) -> str: ...

def stats() -> Stats:
    """Kernels, time, bytes and operations since reset_stats()."""

def reset_stats() -> None:
    """Sets all counters of stats() to 0."""

def devices() -> list[str]:
    """Names that a device can be opened by."""

def default_device() -> str:
    """The device of tensors that name none. Raises DeviceError when STRATA_DEVICE names none that is known."""

def device_properties(device: str = "") -> dict[str, Any]:
    """name, arch, warp_size (lanes), max_block (threads), lds_per_block (bytes), max_grid, time_is_modelled."""

def settings() -> dict[str, Any]:
    """The settings in force."""

def _describe_settings() -> list[tuple[str, bool | int | str, str, str]]: ...

def llvm_available() -> bool:
    """Whether LLVM 19's library is there, which assembles text."""

def archs() -> list[str]:
    """Architectures that Strata knows by name."""

# Behind the package's Python part ----------------------------------------------------------------------------------------

class _Assembler:
    def __init__(self, arg0: str, arg1: int, /) -> None: ...
    def emit_line(self, arg0: str, arg1: str, arg2: int, /) -> None: ...
    def add_argument(self, arg0: str, arg1: str, arg2: int, /) -> int: ...
    def declare_lds(self, arg0: int, arg1: int, /) -> int: ...
    def add_constants(self, arg0: bytes, arg1: int, arg2: str, arg3: int, /) -> int: ...
    def emit_address(self, arg0: int, arg1: str, arg2: str, arg3: int, /) -> None: ...
    def code(self) -> bytes: ...
    def finish(self, arg0: str, arg1: Sequence[int], arg2: int, arg3: bool, arg4: int, arg5: int, /) -> bytes: ...
    @property
    def arch(self) -> str: ...
    @property
    def size(self) -> int: ...

def _assemble(arg0: str, arg1: str, arg2: str, /) -> bytes: ...
def _assemble_instructions(arg0: str, arg1: str, arg2: int, /) -> bytes: ...
def _disassemble(arg0: bytes, /) -> str: ...
def _disassemble_instructions(arg0: bytes, arg1: str, arg2: int, /) -> list[tuple[int, int, str]]: ...
def _mnemonics(arg0: str, /) -> list[str]: ...
def _describe(arg0: str, arg1: str, /) -> list[dict[str, Any]]: ...
def _object_kernel(arg0: bytes, arg1: str, arg2: Sizes, arg3: Sizes, arg4: int, /) -> CustomKernel: ...
def _compile(arg0: Sequence[Tensor], arg1: str, /) -> Artifact: ...
def _compile_kernel(arg0: CustomKernel, arg1: str, /) -> Artifact: ...
def _render_only(tensors: Sequence[Tensor]) -> list[tuple[str, str]]: ...
def _compile_on(text: str, name: str, arch: str, freestanding: bool, in_process: bool) -> tuple[float, str, bool]: ...
def _decode_rate(image: bytes, repeat: int = 10, turns: int = 100) -> tuple[float, int]: ...
def _host_limits(data: NDArray[np.float32], repeat: int) -> dict[str, float]: ...
def _launches(
    image: bytes, arch: str, kernel: str, grid: tuple[int, int, int], block: tuple[int, int, int], buffers: Sequence[NDArray[np.uint8]],
    threads: int = 1, repeat: int = 1
) -> tuple[float, list[float], int]: ...
