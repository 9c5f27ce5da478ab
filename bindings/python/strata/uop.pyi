"""Kernels as UOp graphs: ranges, buffers, loads and stores.

A kernel function gets one UOp a buffer and returns sink(...). Numbers take the type of the node they meet. Errors: UsageError
and DTypeError when a node is built, UsageError when the kernel is lowered.
"""

from typing import Any

from ._strata import DType
from ._types import AxisKind, DTypeLike, Scalar, Space

class UOp:
    """A node of a graph: immutable; equal nodes are one."""
    @property
    def op(self) -> str:
        """'add', 'load', ...: a row of the op table."""
    @property
    def dtype(self) -> DType:
        """Element type."""
    @property
    def shape(self) -> tuple[int, ...]:
        """Shape at tensor level; () in a kernel."""
    @property
    def src(self) -> tuple[UOp, ...]:
        """Sources."""
    @property
    def size(self) -> int:
        """Elements of a buffer, or of a range."""
    def tree(self) -> str:
        """The graph as numbered lines."""
    def simplify(self) -> UOp:
        """After the algebraic rules."""
    def same(self, arg0: UOp, /) -> bool:
        """Whether both are the same node (== builds a comparison)."""
    def __getitem__(self, at: UOp | int, /) -> UOp:
        """buffer[i]: a place to load from or store to."""
    def index(self, offset: UOp | int, gate: UOp | None = None) -> UOp:
        """A place in a buffer; where gate is false a load gives its alternative and a store does nothing."""
    def load(self, alt: UOp | Scalar | None = None) -> UOp:
        """The value at a place; alt is given where the gate is false, 0 by default."""
    def store(self, value: UOp | Scalar) -> UOp:
        """The effect of writing a value at a place."""
    def after(self, *deps: UOp) -> UOp:
        """This value or buffer, used only after the effects and inside the ranges given."""
    def end(self, *ranges: UOp) -> UOp:
        """Closes ranges after this effect."""
    def cast(self, dtype: DTypeLike) -> UOp:
        """To another type; float to integer truncates and saturates."""
    def bitcast(self, dtype: DTypeLike) -> UOp:
        """The same bits as another type of the same width."""
    def where(self, x: UOp | Scalar, y: UOp | Scalar) -> UOp:
        """x where this is true, else y."""
    def maximum(self, other: UOp | Scalar, /) -> UOp:
        """The larger; NaN where either is NaN."""
    def minimum(self, other: UOp | Scalar, /) -> UOp:
        """The smaller; NaN where either is NaN."""
    def neg(self) -> UOp:
        """-x."""
    def abs(self) -> UOp:
        """|x|."""
    def recip(self) -> UOp:
        """1 / x."""
    def sqrt(self) -> UOp:
        """Square root."""
    def rsqrt(self) -> UOp:
        """1 / sqrt(x)."""
    def exp(self) -> UOp:
        """e to the x."""
    def exp2(self) -> UOp:
        """2 to the x."""
    def log(self) -> UOp:
        """Natural logarithm."""
    def log2(self) -> UOp:
        """Logarithm to base 2."""
    def sin(self) -> UOp:
        """Sine of radians."""
    def cos(self) -> UOp:
        """Cosine of radians."""
    def tanh(self) -> UOp:
        """Hyperbolic tangent."""
    def erf(self) -> UOp:
        """Error function."""
    def floor(self) -> UOp:
        """The next integer below."""
    def ceil(self) -> UOp:
        """The next integer above."""
    def trunc(self) -> UOp:
        """The next integer toward 0."""
    def rint(self) -> UOp:
        """The nearest integer; halves go to the even neighbour."""
    def logical_not(self) -> UOp:
        """Not, of bool."""
    def bit_not(self) -> UOp:
        """~x of integers."""
    def __add__(self, other: UOp | Scalar, /) -> UOp: ...
    def __radd__(self, other: Scalar, /) -> UOp: ...
    def __sub__(self, other: UOp | Scalar, /) -> UOp: ...
    def __rsub__(self, other: Scalar, /) -> UOp: ...
    def __mul__(self, other: UOp | Scalar, /) -> UOp: ...
    def __rmul__(self, other: Scalar, /) -> UOp: ...
    def __truediv__(self, other: UOp | Scalar, /) -> UOp: ...
    def __rtruediv__(self, other: Scalar, /) -> UOp: ...
    def __floordiv__(self, other: UOp | Scalar, /) -> UOp: ...
    def __rfloordiv__(self, other: Scalar, /) -> UOp: ...
    def __mod__(self, other: UOp | Scalar, /) -> UOp: ...
    def __rmod__(self, other: Scalar, /) -> UOp: ...
    def __and__(self, other: UOp | Scalar, /) -> UOp: ...
    def __rand__(self, other: Scalar, /) -> UOp: ...
    def __or__(self, other: UOp | Scalar, /) -> UOp: ...
    def __ror__(self, other: Scalar, /) -> UOp: ...
    def __xor__(self, other: UOp | Scalar, /) -> UOp: ...
    def __rxor__(self, other: Scalar, /) -> UOp: ...
    def __lshift__(self, other: UOp | Scalar, /) -> UOp: ...
    def __rlshift__(self, other: Scalar, /) -> UOp: ...
    def __rshift__(self, other: UOp | Scalar, /) -> UOp: ...
    def __rrshift__(self, other: Scalar, /) -> UOp: ...
    def __lt__(self, other: UOp | Scalar, /) -> UOp: ...
    def __gt__(self, other: UOp | Scalar, /) -> UOp: ...
    def __eq__(self, other: UOp | Scalar, /) -> UOp: ...  # type: ignore[override]
    def __ne__(self, other: UOp | Scalar, /) -> UOp: ...  # type: ignore[override]
    def __neg__(self) -> UOp: ...
    def __hash__(self) -> int: ...
    def __repr__(self) -> str: ...

def range(size: int, id: int, axis: AxisKind = "loop") -> UOp:
    """0 to size-1. axis: 'global' (grid), 'local' (threads of a block), 'loop' and 'reduce' (serial), 'upcast', 'unroll',
    'group'. id: distinct within a kernel; the order of ids is the nesting order."""

def special(name: str, size: int) -> UOp:
    """A hardware index: 'gidx0' to 'gidx2' (block), 'lidx0' to 'lidx2' (thread); below size."""

def placeholder(size: int, dtype: DTypeLike = "float32", space: Space = "reg", slot: int = 0) -> UOp:
    """Memory of a kernel, in elements: 'reg' (registers), 'local' (LDS, shared by the block) or 'global' (a parameter).
    slot tells several of a space apart."""

def const(value: Scalar, dtype: DTypeLike = "float32") -> UOp:
    """A number of a type."""

def index(buffer: UOp, offset: UOp | int, gate: UOp | None = None) -> UOp:
    """A place in a buffer; where gate is false a load gives its alternative and a store does nothing."""

def load(place: UOp, alt: UOp | Scalar | None = None) -> UOp:
    """The value at a place."""

def store(place: UOp, value: UOp | Scalar) -> UOp:
    """The effect of writing a value at a place."""

def atomic_add(place: UOp, value: UOp | Scalar) -> UOp:
    """The effect of adding to a place, whatever other threads add to it."""

def barrier(*effects: UOp) -> UOp:
    """All threads of the block have finished these effects."""

def group(*effects: UOp) -> UOp:
    """Several effects as one."""

def end(*args: UOp) -> UOp:
    """end(effect, *ranges): closes the ranges after the effect."""

def sink(*effects: UOp, name: str = "") -> UOp:
    """The whole kernel: its last effects. name: a C identifier; the function's name when empty."""

def where(condition: UOp, x: UOp | Scalar, y: UOp | Scalar) -> UOp:
    """x where the condition is true, else y."""

def reduce(value: UOp, op: str, *ranges: UOp) -> UOp:
    """reduce(value, 'add', *ranges): folds the value over the ranges; op: 'add', 'mul', 'max', 'min', ..."""
