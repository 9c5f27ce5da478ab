"""Queries of the array API about types, and about the namespace."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import _strata
from .._strata import DType, DTypeError, Tensor, UsageError, dtypes

if TYPE_CHECKING:
    from .._types import DTypeLike, Scalar

__all__ = ["astype", "can_cast", "e", "finfo", "iinfo", "inf", "isdtype", "nan", "newaxis", "pi", "result_type"]

e, inf, nan, pi, newaxis = math.e, math.inf, math.nan, math.pi, None

_INTEGERS = ("int8", "int16", "int32", "int64")
_UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
_FLOATS, _COMPLEX = ("float32", "float64"), ("complex64", "complex128")
STANDARD = [name for name in ("bool", *_INTEGERS, *_UNSIGNED, *_FLOATS, *_COMPLEX) if name in dir(dtypes)]


def _dtype(value: Tensor | DTypeLike) -> DType:
    return value.dtype if isinstance(value, Tensor) else DType(value)


@dataclass(frozen=True)
class FInfo:
    """Limits of a floating type: finfo() makes one."""

    bits: int
    eps: float  #: the next number above 1, less 1
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True)
class IInfo:
    """Limits of an integer type: iinfo() makes one."""

    bits: int
    max: int
    min: int
    dtype: DType


# (bits of the fraction, largest exponent, largest value) of formats whose bits do not follow IEEE 754, and of
# those.
_FORMATS = {
    "float64": (52, -1022, (2 - 2.0**-52) * 2.0**1023), "float32": (23, -126, (2 - 2.0**-23) * 2.0**127),
    "float16": (10, -14, 65504.0), "bfloat16": (7, -126, (2 - 2.0**-7) * 2.0**127),
    "fp8e4m3": (3, -6, 448.0), "fp8e5m2": (2, -14, 57344.0), "fp8e4m3fnuz": (3, -7, 240.0),
    "fp8e5m2fnuz": (2, -15, 57344.0),
}  # fmt: skip


def finfo(type: Tensor | DTypeLike, /) -> FInfo:
    """Limits of a floating type, or of a tensor's; of a complex one those of its parts."""
    dtype = _dtype(type).part
    if not dtype.is_float:
        raise DTypeError(f"[finfo] {dtype.name} is no floating type: strata.iinfo")
    fraction, lowest, largest = _FORMATS[dtype.name]
    return FInfo(dtype.bits, 2.0**-fraction, largest, -largest, 2.0**lowest, dtype)


def iinfo(type: Tensor | DTypeLike, /) -> IInfo:
    """Limits of an integer type, or of a tensor's."""
    dtype = _dtype(type)
    if not dtype.is_integer:
        raise DTypeError(f"[iinfo] {dtype.name} is no integer type: strata.finfo")
    magnitude = dtype.bits - (not dtype.is_unsigned)
    return IInfo(dtype.bits, 2**magnitude - 1, 0 if dtype.is_unsigned else -(2**magnitude), dtype)


_KINDS = {
    "bool": lambda d: d.is_bool, "signed integer": lambda d: d.is_integer and not d.is_unsigned,
    "unsigned integer": lambda d: d.is_integer and d.is_unsigned,
    "integral": lambda d: d.is_integer, "real floating": lambda d: d.is_float,
    "complex floating": lambda d: d.is_complex,
    "numeric": lambda d: not d.is_bool,
}  # fmt: skip


def isdtype(dtype: DTypeLike, kind: DTypeLike | tuple[DTypeLike, ...]) -> bool:
    """Is it of a kind? A kind is a type, one of 'bool', 'signed integer', 'unsigned integer', 'integral', 'real
    floating', 'complex floating' and 'numeric', or a tuple of several.
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str) and kind in _KINDS:
        return _KINDS[kind](DType(dtype))
    return DType(dtype) == DType(kind)


def astype(x: Tensor, dtype: DTypeLike, /, *, copy: bool = True, device: str | None = None) -> Tensor:
    """x in another type. Float to integer truncates and saturates, NaN gives 0."""
    out = x if x.dtype == dtype and not copy else x.cast(dtype).__copy__()
    return out.to(device) if device else out


def result_type(*arrays_and_dtypes: Tensor | Scalar | DTypeLike) -> DType:
    """The type of an operation of tensors, types and numbers; numbers take the type of what they meet."""
    numbers = [x for x in arrays_and_dtypes if isinstance(x, (int, float, complex))]
    typed = [_dtype(x) for x in arrays_and_dtypes if not isinstance(x, (int, float, complex))]
    if not arrays_and_dtypes:
        raise UsageError("[result_type] of nothing: give tensors, types or numbers")
    if not typed:
        typed, numbers = [DType(type(numbers[0]))], numbers[1:]
    out = typed[0]
    for other in typed[1:]:
        out = _strata.promote(out, other)
    for number in numbers:
        out = _strata.result_type(Tensor.zeros((), dtype=out), number)
    return out


def can_cast(from_: Tensor | DTypeLike, to: DTypeLike, /) -> bool:
    """Does promotion lead from one type to the other?"""
    source, target = _dtype(from_), DType(to)
    if source == target:
        return True
    try:
        return _strata.promote(source, target) == target
    except DTypeError:
        return False


class _Info:
    """The result of __array_namespace_info__()."""

    def capabilities(self) -> dict[str, Any]:
        """The parts of the standard that are there."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self) -> str:
        """The device of tensors that are not placed."""
        return _strata.default_device()

    def default_dtypes(self, *, device: str | None = None) -> dict[str, DType]:
        """The types of what is made without one."""
        found = {"real floating": "float32", "complex floating": "complex64", "integral": "int64", "indexing": "int64"}
        return {kind: DType(name) for kind, name in found.items() if name in STANDARD}

    def devices(self) -> list[str]:
        """Names of all devices."""
        return [*_strata.devices()]

    def dtypes(self, *, device: str | None = None, kind: str | tuple[str, ...] | None = None) -> dict[str, DType]:
        """The standard's types by name, all or those of a kind."""
        return {name: DType(name) for name in STANDARD if kind is None or isdtype(DType(name), kind)}


def __array_namespace_info__() -> _Info:
    """Answers to the array API's inspection: capabilities, default_device, default_dtypes, devices and dtypes."""
    return _Info()
