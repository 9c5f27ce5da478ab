"""Discrete Fourier transforms: the fft extension of the Python array API 2024.12, with numpy.fft's names and
conventions.

    spectrum = strata.fft.rfft(signal)              # (..., n) real -> (..., n // 2 + 1) complex
    signal = strata.fft.irfft(spectrum, n=signal.shape[-1])

forward:  X[k] = sum_j x[j] exp(-2 pi i j k / n);  backward: x[j] = sum_k X[k] exp(2 pi i j k / n) / n.

Every transform is a graph, of one kernel a factor of n, with gradients. float64 and complex128 are computed as
complex128, all other types as complex64. Lengths are split into factors of at most 64 (Cooley and Tukey, Math. Comp.
19, 1965), each a sum over a table of roots. A larger prime factor becomes a convolution by transforms of a power of two
(Bluestein, 1970).

n: the length along `axis`; the input is cut or padded with zeros at its end to it. s: the same for several axes. norm:
which direction is divided by n: "backward" (the default), "forward", or "ortho": both, by sqrt(n).

Errors are UsageError for a length below 1 or an unknown norm, and ShapeError for an axis that is not there. Complex
input where real input is meant is a DTypeError.
"""

from __future__ import annotations

import functools
import math

import numpy as _np

from ._checks import check_all
from ._strata import DType, DTypeError, ShapeError, Tensor, UsageError, _capturing, cat, dtypes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Axes, DTypeLike, Sizes


__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft",
    "rfftfreq", "rfftn",
]  # fmt: skip

_LARGEST_STEP = 16  # factors are joined up to this: a kernel more costs less than longer sums
_LARGEST_SUM = 64  # a prime up to this is one sum; above it a convolution


def _factors(n):
    """n as factors of at most _LARGEST_STEP where its primes allow it, large ones first."""
    primes, p = [], 2
    while n > 1:
        while n % p == 0:
            primes.append(p)
            n //= p
        p = p + 1 if p * p <= n else max(n, p + 1)
    joined = []
    for p in sorted(primes, reverse=True):
        at = next((i for i, f in enumerate(joined) if f * p <= _LARGEST_STEP), None)
        if at is None:
            joined.append(p)
        else:
            joined[at] *= p
    return sorted(joined)


def _kept(count):
    """As functools.lru_cache. A captured function reaches no table that is kept: it makes one of its own."""

    def of(f):
        kept = functools.lru_cache(count)(f)
        return functools.wraps(f)(lambda *given: f(*given) if _capturing() else kept(*given))

    return of


@_kept(128)
def _roots(exponents, n, sign, dtype, device):
    """exp(sign 2 pi i e / n) for the exponents (rows, columns): an outer product of 0 .. rows - 1 and 0 .. columns -
    1.
    """
    rows, columns = exponents
    turns = _np.outer(_np.arange(rows), _np.arange(columns)) % n
    quarters = _np.rint(4 * turns / n)
    exact = 4 * turns == quarters * n  # 1, i, -1 and -i
    return _table(
        _np.where(
            exact,
            _np.array([1, sign * 1j, -1, sign * -1j])[quarters.astype(int) % 4],
            _np.exp(sign * 2j * _np.pi * turns / n),
        ),
        dtype,
        device,
    )


@_kept(32)
def _chirp(n, sign, dtype, device):
    """exp(sign pi i j^2 / n) for j of 0 .. n - 1."""
    return _table(_np.exp(sign * 1j * _np.pi * (_np.arange(n) ** 2 % (2 * n)) / n), dtype, device)


def _table(values, dtype, device):
    made = Tensor(values.astype(dtype.numpy_name), device=device)
    return made if _capturing() else made.realize()


def _sums(x, sign, dtype):
    """The transform of a whole axis, the last but one, as sums over a table."""
    n = x.shape[-2]
    return (_roots((n, n), n, sign, dtype, x.device).unsqueeze(-1) * x.unsqueeze(-3)).sum(-2)


def _along_last(x, sign, dtype):
    """The transform of the last axis, not divided by anything."""
    n = x.shape[-1]
    if n == 1:
        return x.cast(dtype)
    factor = _factors(n)[0]
    if factor > _LARGEST_SUM:
        return _by_convolution(x, sign, dtype)
    rest = n // factor
    x = _sums(x.unflatten(-1, (factor, rest)), sign, dtype)
    if rest > 1:
        x = _along_last(x * _roots((factor, rest), n, sign, dtype, x.device), sign, dtype)
    return x.mT.flatten(-2)


def _by_convolution(x, sign, dtype):
    n = x.shape[-1]
    size = 1 << (2 * n - 2).bit_length()
    chirp = _chirp(n, sign, dtype, x.device)
    kernel = chirp.conj()
    kernel = cat([kernel, Tensor.zeros(size - 2 * n + 1, dtype=dtype), kernel[1:].flip(0)])
    product = _along_last(_resized(x * chirp, size, -1), -1, dtype) * _along_last(kernel, -1, dtype)
    return (_along_last(product, 1, dtype) / size)[..., :n] * chirp


def _resized(x, n, axis):
    """Cut or padded with zeros at the end of an axis."""
    have = x.shape[axis]
    if n < have:
        return x.shrink([(0, n if i == axis % x.ndim else size) for i, size in enumerate(x.shape)])
    return x.pad([(0, n - have if i == axis % x.ndim else 0) for i in range(x.ndim)])


def _scale(n, norm, forward):
    """The factor of a transform over n elements."""
    if norm not in ("backward", "ortho", "forward"):
        raise UsageError(f"[fft] norm {norm!r}: use 'backward', 'ortho' or 'forward'")
    if norm == "ortho":
        return 1 / math.sqrt(n)
    return 1 / n if (norm == "forward") == forward else 1.0


def _length(n, x, axis):
    _check_axis(x, axis)
    n = x.shape[axis] if n is None else n
    if n < 1:
        raise UsageError(f"[fft] a length of {n}: at least 1 is needed")
    return n


def _check_axis(x, axis):
    if not -x.ndim <= axis < x.ndim:
        raise ShapeError(f"[fft] axis {axis} does not exist: the tensor has {x.ndim} axes")


def _tensor(x, real=False, name=""):
    x = x if isinstance(x, Tensor) else Tensor(x)
    if real and x.dtype.is_complex:
        raise DTypeError(
            f"[{name}] takes real numbers, not {x.dtype.name}: use x.real, "
            f"or {name.replace('rfft', 'fft').replace('ihfft', 'ifft')}"
        )
    wide = dtypes.float64 if x.dtype.part == dtypes.float64 else dtypes.float32
    return x if x.dtype.is_complex else x.cast(wide)


def _complex_type(x):
    return dtypes.complex128 if x.dtype.part == dtypes.float64 else dtypes.complex64


def _transformed(x, n, axis, norm, forward):
    n = _length(n, x, axis)
    scale = _scale(n, norm, forward)
    last = _resized(x, n, axis).movedim(axis, -1)
    out = _along_last(last, -1 if forward else 1, _complex_type(x)).movedim(-1, axis)
    return out if scale == 1.0 else out * scale


def fft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The transform of x along an axis: complex, of n elements there."""
    return _transformed(_tensor(x), n, axis, norm, True)


def ifft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The inverse of fft."""
    return _transformed(_tensor(x), n, axis, norm, False)


def _axes(x, s, axes, name):
    """Pairs (length, axis), the last axes by default."""
    if axes is None:
        axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
    axes = list(axes)
    if s is not None and len(s) != len(axes):
        raise UsageError(f"[{name}] {len(s)} lengths for {len(axes)} axes")
    for axis in axes:
        _check_axis(x, axis)
    return list(zip([None] * len(axes) if s is None else s, axes))


def fftn(x: Tensor, /, *, s: Sizes | None = None, axes: Axes | None = None, norm: str = "backward") -> Tensor:
    """fft along several axes, all by default, or as many last ones as s has lengths."""
    x = _tensor(x)
    for n, axis in reversed(_axes(x, s, axes, "fftn")):
        x = _transformed(x, n, axis, norm, True)
    return x.cast(_complex_type(x))


def ifftn(x: Tensor, /, *, s: Sizes | None = None, axes: Axes | None = None, norm: str = "backward") -> Tensor:
    """The inverse of fftn."""
    x = _tensor(x)
    for n, axis in reversed(_axes(x, s, axes, "ifftn")):
        x = _transformed(x, n, axis, norm, False)
    return x.cast(_complex_type(x))


def _first_half(x, n, axis):
    return _resized(x, n // 2 + 1, axis)


def rfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """fft of real x, without the half that the other one tells: n // 2 + 1 elements."""
    x = _tensor(x, real=True, name="rfft")
    return _first_half(_transformed(x, n, axis, norm, True), _length(n, x, axis), axis)


def _whole(x, n, axis):
    """The n elements of a spectrum of real values, from its first n // 2 + 1. The imaginary parts of those that have
    none count as 0."""
    half = _resized(x, n // 2 + 1, axis).movedim(axis, -1)
    rest = half[..., 1 : (n + 1) // 2].flip(-1).conj()
    return (cat([half, rest], -1) if n > 2 else half).movedim(-1, axis)


def irfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The inverse of rfft: n real elements, 2 (m - 1) of m by default, so give an odd n."""
    x = _tensor(x)
    _check_axis(x, axis)
    n = _length(2 * (x.shape[axis] - 1) if n is None else n, x, axis)
    x = x.cast(_complex_type(x))
    return _transformed(_whole(x, n, axis), n, axis, norm, False).real


def rfftn(x: Tensor, /, *, s: Sizes | None = None, axes: Axes | None = None, norm: str = "backward") -> Tensor:
    """rfft along the last of the axes, fft along the others."""
    x = _tensor(x, real=True, name="rfftn")
    *others, (n, last) = _axes(x, s, axes, "rfftn")
    x = rfft(x, n=n, axis=last, norm=norm)
    for n, axis in reversed(others):
        x = _transformed(x, n, axis, norm, True)
    return x


def irfftn(x: Tensor, /, *, s: Sizes | None = None, axes: Axes | None = None, norm: str = "backward") -> Tensor:
    """The inverse of rfftn: ifft along all axes but the last of them, irfft there."""
    x = _tensor(x)
    *others, (n, last) = _axes(x, s, axes, "irfftn")
    for m, axis in reversed(others):
        x = _transformed(x, m, axis, norm, False)
    return irfft(x, n=n, axis=last, norm=norm)


_OTHER = {"backward": "forward", "forward": "backward"}


def hfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The transform of a signal whose spectrum is real, from its first half: n real elements, 2 (m - 1) of m by
    default.
    """
    return irfft(_tensor(x).conj(), n=n, axis=axis, norm=_OTHER.get(norm, norm))


def ihfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The inverse of hfft: the first n // 2 + 1 elements."""
    x = _tensor(x, real=True, name="ihfft")
    return rfft(x, n=n, axis=axis, norm=_OTHER.get(norm, norm)).conj()


def _frequencies(count, first, n, d, dtype, device):
    if n < 1:
        raise UsageError(f"[fftfreq] {n} elements: at least 1 is needed")
    if not DType(dtype or "float32").is_float:
        raise DTypeError(f"[fftfreq] frequencies as {dtype}: they are fractions, use a float")
    i = Tensor.arange(count, device=device or "")
    i = i if first is None else (i < first).where(i, i - n)
    return (i.cast("float64") / (n * d)).cast(dtype or "float32")


def fftfreq(n: int, /, *, d: float = 1.0, dtype: DTypeLike | None = None, device: str | None = None) -> Tensor:
    """The frequencies of fft's n elements, in cycles per unit of the spacing d: 0, 1, ..., -2, -1 over n d. float32 by
    default.
    """
    return _frequencies(n, (n + 1) // 2, n, d, dtype, device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: DTypeLike | None = None, device: str | None = None) -> Tensor:
    """The frequencies of rfft's n // 2 + 1 elements, in cycles per unit of the spacing d. float32 by default."""
    return _frequencies(n // 2 + 1, None, n, d, dtype, device)


def _rolled(x, axes, shift):
    x = x if isinstance(x, Tensor) else Tensor(x)
    for axis in range(x.ndim) if axes is None else [axes] if isinstance(axes, int) else axes:
        _check_axis(x, axis)
        x = x.roll(shift(x.shape[axis]), axis)
    return x


def fftshift(x: Tensor, /, *, axes: Axes | None = None) -> Tensor:
    """The element of frequency 0 moved to the middle of the axes, all by default."""
    return _rolled(x, axes, lambda n: n // 2)


def ifftshift(x: Tensor, /, *, axes: Axes | None = None) -> Tensor:
    """The inverse of fftshift, for odd sizes too."""
    return _rolled(x, axes, lambda n: -(n // 2))


check_all(globals(), __name__)
