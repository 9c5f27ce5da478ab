"""Weights in blocks: microscaling formats of OCP, integers of 4 bits, and AITER's order of tiles."""

from __future__ import annotations

from .. import _strata
from .._checks import check_all
from .._strata import DTypeError, Tensor, UsageError, dtypes
from ._shared import floats, shaped, two_integers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from .._types import DTypeLike

BLOCK = 32  # elements that share a scale
_BIAS, _NAN = 127, 255  # of E8M0
# Of each format: the type of its elements, none for nibbles; the exponent and the mantissa, in 2^-23, of the largest.
_FORMATS = {
    "fp4": (None, 2, 1 << 22),  # 6 = 1.5 * 2^2
    "fp8e4m3": ("fp8e4m3", 8, 3 << 21),  # 448 = 1.75 * 2^8
    "fp8e5m2": ("fp8e5m2", 15, 3 << 21),  # 57344 = 1.75 * 2^15
}


def _format(name, format):
    if format not in _FORMATS:
        raise UsageError(f"[{name}] format {format!r}: it is one of {', '.join(_FORMATS)}")
    return _FORMATS[format]


def _power(n: Tensor) -> Tensor:
    """2^n in float32 of int32 in [-126, 127]."""
    return ((n + _BIAS) << 23).bitcast("float32")


def scaled(x: Tensor, n: Tensor) -> Tensor:
    """x * 2^n of int32 in [-127, 127], in two steps: 2^-127 alone is no normal number."""
    half = n >> 1
    return x * _power(half) * _power(n - half)


def _nibbles(v: Tensor) -> Tensor:
    """Codes of E2M1, uint8: 0 0.5 1 1.5 2 3 4 6, to nearest, ties to even; the fourth bit is the sign."""
    a = v.abs().minimum(6.0)
    code = (a < 2).where((a * 2).round(), (a < 4).where(a.round() + 2, (a * 0.5).round() + 4))
    return code.cast("uint8") | (v.signbit().cast("uint8") << 3)


def packed(codes: Tensor) -> Tensor:
    """Bytes of two neighbours each, the first in the low half."""
    pairs = codes.pad([*[(0, 0)] * (codes.ndim - 1), (0, codes.shape[-1] % 2)])
    pairs = pairs.reshape(*codes.shape[:-1], -(-codes.shape[-1] // 2), 2)
    return pairs[..., 0] | (pairs[..., 1] << 4)


def unpacked(q: Tensor) -> Tensor:
    """The halves of bytes (..., k / 2), the low ones first: uint8 (..., k)."""
    return _strata.stack([q & 15, q >> 4], -1).reshape(*q.shape[:-1], 2 * q.shape[-1])


def mx_quantize(
    x: Tensor,
    format: Literal["fp4", "fp8e4m3", "fp8e5m2"] = "fp4",
    rounding: Literal["ceil", "floor"] = "ceil",
) -> tuple[Tensor, Tensor]:
    """q, scale: blocks of 32 neighbours of a row share a power of two, by which their elements are divided and rounded.

    x (..., k), q uint8: (..., k / 2), the low half of a byte first, for fp4, (..., k) for fp8. scale (..., k / 32)
    uint8, E8M0: 2^(scale - 127). Both are rounded up, with zeros beyond k. rounding: ceil, ceil(log2(max / largest)),
    where nothing is cut off; floor, floor(log2(max)) less the exponent of the largest, OCP MX 1.0's. A block with NaN
    or inf has scale 255. No gradient: Unsupported when one arrives. DTypeError, ShapeError, UsageError.
    """
    dtype, exponent, mantissa = _format("mx_quantize", format)
    if rounding not in ("ceil", "floor"):
        raise UsageError(f"[mx_quantize] rounding {rounding!r}: it is ceil or floor")
    floats("mx_quantize", x=x)
    shaped("mx_quantize", "it takes (..., k)", x.ndim > 0, x=x)
    k = x.shape[-1]
    rows = x.cast("float32").pad([*[(0, 0)] * (x.ndim - 1), (0, -k % BLOCK)])
    blocks = rows.reshape(*x.shape[:-1], -(-k // BLOCK), BLOCK)
    if not x.size:
        nothing = x.zeros_like("uint8")
        return nothing if dtype else packed(nothing), blocks.sum(-1).cast("uint8")
    bits = blocks.abs().max(-1, keepdims=True).bitcast("int32")
    n = (bits >> 23) - _BIAS - exponent
    if rounding == "ceil":
        n = n + ((bits & 0x7FFFFF) > mantissa).cast("int32")
    n = n.maximum(-_BIAS).minimum(_BIAS)
    values = scaled(blocks, -n).reshape(rows.shape).shrink([(0, m) for m in x.shape])
    q = packed(_nibbles(values)) if dtype is None else _byte(values, dtype)
    scale = ((bits >> 23) == 255).where(_NAN, n + _BIAS).cast("uint8").squeeze(-1)
    return q, scale


def _byte(values, dtype):
    from .quantisation import rounded

    return rounded(values, dtype).bitcast("uint8")


def e8m0(values: Tensor, scale: Tensor) -> Tensor:
    """values * 2^(scale - 127), NaN where scale is 255; the shapes broadcast."""
    n = scale.cast("int32")
    return (n == _NAN).where(float("nan"), scaled(values, n.minimum(_NAN - 1) - _BIAS))


def fp4_values(codes: Tensor) -> Tensor:
    """float32 of E2M1 in the low four bits of uint8."""
    c = (codes & 7).cast("float32")
    size = (c < 4).where(c * 0.5, (c < 6).where(c - 2, c * 2 - 8))
    return (codes >= 8).where(-size, size)


def mx_dequantize(
    q: Tensor,
    scale: Tensor,
    format: Literal["fp4", "fp8e4m3", "fp8e5m2"] = "fp4",
    dtype: DTypeLike = "float32",
) -> Tensor:
    """The values that mx_quantize packed: (..., k) of dtype, rounded once. A block whose scale is 255 is NaN.

    q uint8 (..., k / 2) for fp4, (..., k) for fp8; scale uint8 (..., k / 32), rounded up. DTypeError, ShapeError,
    UsageError.
    """
    of, _, _ = _format("mx_dequantize", format)
    for what, t in (("q", q), ("scale", scale)):
        if t.dtype != dtypes.uint8:
            raise DTypeError(f"[mx_dequantize] {what} is of {t.dtype.name}: it takes uint8")
    k = q.shape[-1] * (1 if of else 2) if q.ndim else 0
    fits = q.ndim > 0 and scale.shape == (*q.shape[:-1], -(-k // BLOCK))
    shaped("mx_dequantize", f"a scale for each {BLOCK} elements of a row", fits, q=q, scale=scale)
    values = fp4_values(unpacked(q)) if of is None else q.bitcast(of).cast("float32")
    every = scale.unsqueeze(-1).expand(*scale.shape, BLOCK).reshape(*q.shape[:-1], scale.shape[-1] * BLOCK)
    return e8m0(values, every.shrink([*[(0, m) for m in q.shape[:-1]], (0, k)])).cast(dtype)


def unpack_int4(q: Tensor, signed: bool = True) -> Tensor:
    """Integers of 4 bits, two a byte, the low half first: q uint8 (..., k / 2) -> int8 (..., k), uint8 if not signed.

    Signed ones are two's complement, -8 to 7. DTypeError, ShapeError.
    """
    if q.dtype not in (dtypes.uint8, dtypes.int8):
        raise DTypeError(f"[unpack_int4] q is of {q.dtype.name}: it takes uint8")
    shaped("unpack_int4", "it takes (..., k / 2)", q.ndim > 0, q=q)
    codes = unpacked(q.bitcast("uint8"))
    return ((codes ^ 8).cast("int8") - 8) if signed else codes


def _tiles(name, w, layout):
    """(n / 16, 16, k / 32, 32 / v, v) of w's last axes, v elements in 16 bytes."""
    words = "the rows and half of the columns of a tile, such as (16, 16)"
    rows, half = two_integers(name, "layout", layout, 1, words)
    columns = 2 * half
    vector = max(16 // w.dtype.itemsize, 1)
    fits = w.ndim > 1 and w.shape[-2] % rows == 0 and w.shape[-1] % columns == 0 and columns % vector == 0
    shaped(name, f"it takes (..., n, k), n a multiple of {rows}, k of {columns}", fits, w=w)
    n, k = w.shape[-2:]
    return w.shape[:-2], (n // rows, rows, k // columns, columns // vector, vector)


def shuffle_weight(w: Tensor, layout: tuple[int, int] = (16, 16)) -> Tensor:
    """The elements of w (..., n, k) in AITER's order: n/16, k/32, 32/v, 16, v with v elements in 16 bytes.

    The shape stays. layout: the rows of a tile and half of its columns. ShapeError where tiles do not fill w.
    """
    before, (n, rows, k, parts, vector) = _tiles("shuffle_weight", w, layout)
    tiles = w.reshape(*before, n, rows, k, parts, vector).movedim(-4, -2)
    return tiles.reshape(w.shape)


def unshuffle_weight(w: Tensor, layout: tuple[int, int] = (16, 16)) -> Tensor:
    """The weight that shuffle_weight of that layout gave: its inverse."""
    before, (n, rows, k, parts, vector) = _tiles("unshuffle_weight", w, layout)
    return w.reshape(*before, n, k, parts, rows, vector).movedim(-2, -4).reshape(w.shape)


check_all(globals(), __name__, is_total=True)
