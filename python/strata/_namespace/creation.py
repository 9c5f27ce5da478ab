"""Arrays of the array API: their types are None or what strata.DType takes, their devices None or a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from .. import _strata
from .._strata import DType, Tensor, complex as _complex

if TYPE_CHECKING:
    from .._types import ArrayLike, DTypeLike, HasDLPack, Scalar, Shape

__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]

_FLOAT = "float32"


def _placed(x: Tensor, device: str | None) -> Tensor:
    return x.to(device) if device else x


def asarray(
    obj: ArrayLike, /, *, dtype: DTypeLike | None = None, device: str | None = None, copy: bool | None = None
) -> Tensor:
    """A tensor of obj: of nested lists, numbers, NumPy arrays, anything with __array__ or __dlpack__.

    A Tensor of that type and device is given back itself, unless `copy`. copy=False: ValueError where a copy is needed.
    """
    if isinstance(obj, Tensor):
        same = (dtype is None or obj.dtype == dtype) and (not device or obj.device == device)
        if same and not copy:
            return obj
        if copy is False:
            raise ValueError("[asarray] another type or device is a copy, which copy=False forbids")
        return _placed(obj if dtype is None else obj.cast(dtype), device).__copy__()
    if copy is False:
        raise ValueError("[asarray] memory that is not a Tensor's is copied, which copy=False forbids")
    return Tensor(obj, dtype, device or "")


def from_dlpack(x: HasDLPack, /, *, device: str | None = None, copy: bool | None = None) -> Tensor:
    """A tensor of what has __dlpack__; a Tensor gives itself.

    On a card dense memory of that card and of 16-byte alignment (of torch, CuPy, JAX) is used in place. Accesses are in
    the order of the current stream. Its owner must not change it while the tensor lives.

    On an emulated device dense memory of 16-byte alignment is used in place, and never written. Later writes of its
    owner show in the tensor, but not in results computed from it before. Other memory is copied, as is all when `copy`.
    copy=False: BufferError where a copy is needed.
    """
    if isinstance(x, Tensor):
        return asarray(x, device=device, copy=copy)
    if not hasattr(type(x), "__dlpack__"):
        raise _strata.UsageError(
            f"[from_dlpack] takes what has __dlpack__ (an array of NumPy, torch, CuPy, JAX), not a {type(x).__name__}"
        )
    return _strata._from_dlpack(x, device or "", copy)


def arange(
    start: Scalar,
    /,
    stop: Scalar | None = None,
    step: Scalar = 1,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
) -> Tensor:
    """start, start + step, ... below stop; arange(n) counts from 0. int64, or float32 when an argument is a float."""
    return Tensor.arange(start, stop, step, dtype, device or "")


def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    endpoint: bool = True,
) -> Tensor:
    """`num` evenly spaced values from start to stop, stop included when `endpoint`. Shape (num,)."""
    given = None if dtype is None else DType(dtype)
    if isinstance(start, complex) or isinstance(stop, complex) or (given and given.is_complex):
        part = (given or DType(complex)).part
        ends = [(end.real, end.imag) for end in (complex(start), complex(stop))]
        real, imag = (Tensor.linspace(a, b, num, part, endpoint, device or "") for a, b in zip(*ends))
        return _complex(real, imag).cast(given or DType(complex))
    return Tensor.linspace(start, stop, num, given or _FLOAT, endpoint, device or "")


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: DTypeLike | None = None, device: str | None = None
) -> Tensor:
    """Shape (n_rows, n_cols): 1 on the diagonal k, 0 elsewhere; n_cols is n_rows when not given."""
    return Tensor.eye(n_rows, n_cols, k, dtype or _FLOAT, device or "")


def empty(shape: Shape, *, dtype: DTypeLike | None = None, device: str | None = None) -> Tensor:
    """Uninitialised memory of a shape."""
    return Tensor.empty(shape, dtype=dtype or _FLOAT, device=device or "")


def zeros(shape: Shape, *, dtype: DTypeLike | None = None, device: str | None = None) -> Tensor:
    """0 everywhere; takes no memory until realized."""
    return Tensor.zeros(shape, dtype=dtype or _FLOAT, device=device or "")


def ones(shape: Shape, *, dtype: DTypeLike | None = None, device: str | None = None) -> Tensor:
    """1 everywhere; takes no memory until realized."""
    return Tensor.ones(shape, dtype=dtype or _FLOAT, device=device or "")


def full(shape: Shape, fill_value: Scalar, *, dtype: DTypeLike | None = None, device: str | None = None) -> Tensor:
    """One value everywhere; takes no memory until realized. The type follows the value when not given."""
    return Tensor.full(shape, fill_value, dtype, device or "")


def empty_like(x: Tensor, /, *, dtype: DTypeLike | None = None, device: str | None = None) -> Tensor:
    """Uninitialised memory of x's shape, and of its type and device when not given."""
    return Tensor.empty(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def zeros_like(x: Tensor, /, *, dtype: DTypeLike | None = None, device: str | None = None) -> Tensor:
    """0 in x's shape, and in its type when not given."""
    return _placed(x.zeros_like(dtype), device)


def ones_like(x: Tensor, /, *, dtype: DTypeLike | None = None, device: str | None = None) -> Tensor:
    """1 in x's shape, and in its type when not given."""
    return _placed(x.ones_like(dtype), device)


def full_like(x: Tensor, /, fill_value: Scalar, *, dtype: DTypeLike | None = None, device: str | None = None) -> Tensor:
    """One value in x's shape, and in its type when not given."""
    return _placed(x.full_like(fill_value, dtype), device)


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Keeps the elements on and below diagonal k of the last two axes; the others become 0."""
    return x.tril(k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Keeps the elements on and above diagonal k of the last two axes; the others become 0."""
    return x.triu(k)


def meshgrid(*arrays: Tensor, indexing: Literal["xy", "ij"] = "xy") -> list[Tensor]:
    """Coordinates of a grid: each of the 1-D arrays along an axis of its own. 'xy' exchanges the first two axes."""
    from .._strata import UsageError

    if indexing not in ("xy", "ij"):
        raise UsageError(f"[meshgrid] indexing {indexing!r}: use 'xy' or 'ij'")
    place = [*range(len(arrays))]
    if indexing == "xy" and len(arrays) > 1:
        place[:2] = 1, 0
    shape = [0] * len(arrays)
    for at, x in zip(place, arrays):
        shape[at] = x.size
    return [
        x.reshape([x.size if at == axis else 1 for axis in range(len(arrays))]).expand(shape)
        for at, x in zip(place, arrays)
    ]
